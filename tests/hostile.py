"""Servers on 127.0.0.1 that echo what they are sent, lead elsewhere and break off."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import quote, urlsplit

import httpx
import pyarrow.parquet as pq
import zstandard

from tests.local_server import LocalServer, QuietHandler

ESCAPES = "\x1b]0;owned\x07\x1b[2J\x9b1m\u202eslautca\u202c\u200b"


@dataclass(frozen=True)
class Got:
    """A request as it came."""

    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def bytes(self) -> bytes:
        """Everything that was sent."""
        headers = (f"{name}: {value}" for name, value in self.headers)
        return "\n".join((f"{self.method} {self.path}", *headers, "")).encode() + self.body

    def header(self, name: str) -> str:
        return next((value for key, value in self.headers if key.lower() == name), "")


@dataclass(frozen=True)
class Answer:
    """What is said; with `cut` the connection ends in the middle of the body."""

    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False

    def headers_with(self, old: str, new: str) -> dict[str, str]:
        """Return the headers, an address in them replaced."""
        return {name: text.replace(old, new) for name, text in self.headers.items()}


Behavior = Callable[[Got], Answer]


class Server(LocalServer):
    """Answers everything by one behavior while its block runs, and keeps what it got."""

    def __init__(self, behavior: Behavior = lambda got: Answer()) -> None:
        super().__init__(_Handler)
        self.behavior = behavior
        self.got: list[Got] = []
        self.url = self.address


class _Handler(QuietHandler, BaseHTTPRequestHandler):
    owner: Server
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        got = Got(self.command, self.path, tuple(self.headers.items()), body)
        self.owner.got.append(got)
        answer = self.owner.behavior(got)
        self.send_response_only(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body) + 1_000 * answer.cut))
        self.end_headers()
        if self.command != "HEAD":
            with suppress(ConnectionError):  # who has heard enough hangs up
                self.wfile.write(answer.body)
        self.close_connection = answer.cut

    do_HEAD = do_POST = do_PUT = do_DELETE = do_PATCH = do_GET  # noqa: N815


def spoken(got: Got) -> str:
    """Return what was sent in every spelling that a server may choose."""
    sent = "\n".join(f"{name}: {value}" for name, value in got.headers)
    credential = got.header("authorization").partition(" ")[2]
    spellings = [
        sent,
        quote(sent),
        quote(credential, safe=""),
        "".join(f"%{byte:02X}" for byte in credential.encode()),
        "".join(f"\\u{ord(character):04x}" for character in credential),
        json.dumps(sent),
        html.escape(sent),
        *(base64.b64encode(b"x" * shift + sent.encode()).decode() for shift in range(3)),
        base64.urlsafe_b64encode(sent.encode()).decode(),
        got.body.decode("utf-8", "replace")[:4_000],
        ESCAPES,
    ]
    return "\n".join(spellings)


def _headers(got: Got) -> dict[str, str]:
    credential = quote(got.header("authorization"))
    return {
        "X-Request-Id": credential,
        "X-Error-Message": credential,
        "ETag": f'"{credential}"',
        "WWW-Authenticate": f'Basic realm="{credential}"',
        "Last-Modified": credential,
    }


def echo_json(status: int) -> Behavior:
    """Refuse as an API does, and say what was sent."""

    def answer(got: Got) -> Answer:
        echo = spoken(got)
        content = {
            "message": echo,
            "error": {"message": echo, "type": echo, "code": "no"},
            "errors": [{"message": echo, "type": echo}],
            "detail": echo,
        }
        headers = {**_headers(got), "Content-Type": "application/json"}
        return Answer(status, json.dumps(content, ensure_ascii=False).encode(), headers)

    return answer


def echo_page(status: int) -> Behavior:
    """Answer with a page of HTML that says what was sent."""

    def answer(got: Got) -> Answer:
        page = f"<html><body>ERR {spoken(got)}</body></html>"
        return Answer(status, page.encode(), {**_headers(got), "Content-Type": "text/html"})

    return answer


def break_off(got: Got) -> Answer:
    """Begin to echo, and end the connection."""
    return Answer(200, b'{"data": "' + spoken(got).encode(), _headers(got), cut=True)


def redirect(to: str, status: int = 307) -> Behavior:
    """Lead to another place, which is told what was sent here by its address too."""

    def answer(got: Got) -> Answer:
        page = f"see {spoken(got)}".encode()
        return Answer(status, page, {"Location": f"{to}{got.path}", **_headers(got)})

    return answer


def in_front_of(url: str, *marks: bytes) -> Behavior:
    """Ask a good server, and write the credential into its answers behind each mark."""

    def answer(got: Got) -> Answer:
        skipped = ("host", "content-length", "transfer-encoding", "accept-encoding")
        headers = {name: value for name, value in got.headers if name.lower() not in skipped}
        path = urlsplit(url).path + got.path
        with httpx.Client(trust_env=False, timeout=300) as client:
            reply = client.request(
                got.method,
                f"{url.removesuffix(urlsplit(url).path)}{path}",
                headers=headers,
                content=got.body,
            )
        body = reply.content
        credential = got.header("authorization").partition(" ")[2]
        coded = base64.b64encode(f"x:{credential}".encode()).decode()
        for mark in marks:
            body = body.replace(mark, mark + f"{credential} {quote(credential)} {coded} ".encode())
        dropped = ("content-length", "content-encoding", "transfer-encoding", "connection")
        passed = {name: value for name, value in reply.headers.items() if name not in dropped}
        return Answer(reply.status_code, body, passed)

    return answer


def traces(secret: str) -> list[bytes]:
    """Return pieces of a secret as it may stand in bytes, each long enough to tell it."""
    data = secret.encode()
    plain = [data[at : at + 10] for at in range(len(data) - 9)]
    percent = "".join(f"%{byte:02x}" for byte in data).encode()
    escaped = "".join(f"\\u{byte:04x}" for byte in data).encode()
    spellings = [*plain, percent, percent.upper().replace(b"%", b"%"), escaped, data.hex().encode()]
    for shift in range(3):
        coded = base64.b64encode(b"x" * shift + data)[4:-4]
        spellings += [coded[at : at + 16] for at in range(len(coded) - 15)]
    return spellings


def finds(content: bytes, secrets: tuple[str, ...]) -> list[str]:
    """Return the secrets of which something stands in bytes."""
    return [secret for secret in secrets if any(trace in content for trace in traces(secret))]


def contents(root: Path) -> Iterator[tuple[Path, bytes]]:
    """Yield every file's name and bytes, and what is packed into it."""
    for path in sorted(root.rglob("*")):
        if not path.is_file():
            continue
        data = path.read_bytes()
        yield path, str(path).encode() + b"\n" + data
        if path.suffix == ".zst":
            with zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True) as whole:
                yield path, whole.read()
        if path.suffix == ".parquet":
            yield path, str(pq.read_table(path).to_pylist()).encode("utf-8", "surrogatepass")

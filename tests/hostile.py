"""Behaviors of servers that echo what they are sent, lead elsewhere and break off."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlsplit

import httpx
import pyarrow.parquet as pq
import zstandard

from tests.local_server import Answer, Asked, Behavior

ESCAPES = "\x1b]0;owned\x07\x1b[2J\x9b1m\u202eslautca\u202c\u200b"


def headers_with(answer: Answer, old: str, new: str) -> dict[str, str]:
    """Return the headers of an answer, an address in them replaced."""
    return {name: text.replace(old, new) for name, text in answer.headers.items()}


def spoken(got: Asked) -> str:
    """Return what was sent in every spelling that a server may choose."""
    sent = "\n".join(f"{name}: {value}" for name, value in got.headers.items())
    credential = got.headers.get("authorization", "").partition(" ")[2]
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


def _headers(got: Asked) -> dict[str, str]:
    credential = quote(got.headers.get("authorization", ""))
    return {
        "X-Request-Id": credential,
        "X-Error-Message": credential,
        "ETag": f'"{credential}"',
        "WWW-Authenticate": f'Basic realm="{credential}"',
        "Last-Modified": credential,
    }


def echo_json(status: int) -> Behavior:
    """Refuse as an API does, and say what was sent."""

    def answer(got: Asked) -> Answer:
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

    def answer(got: Asked) -> Answer:
        page = f"<html><body>ERR {spoken(got)}</body></html>"
        return Answer(status, page.encode(), {**_headers(got), "Content-Type": "text/html"})

    return answer


def break_off(got: Asked) -> Answer:
    """Begin to echo, and end the connection."""
    begun = b'{"data": "' + spoken(got).encode()
    return Answer(200, begun, {**_headers(got), "Content-Length": str(len(begun) + 1_000)})


def redirect(to: str, status: int = 307) -> Behavior:
    """Lead to another place, which is told what was sent here by its address too."""

    def answer(got: Asked) -> Answer:
        page = f"see {spoken(got)}".encode()
        return Answer(status, page, {"Location": f"{to}{got.target}", **_headers(got)})

    return answer


def in_front_of(url: str, *marks: bytes) -> Behavior:
    """Ask a good server, and write the credential into its answers behind each mark."""

    def answer(got: Asked) -> Answer:
        skipped = ("host", "content-length", "transfer-encoding", "accept-encoding")
        headers = {
            name: value for name, value in got.headers.items() if name.lower() not in skipped
        }
        path = urlsplit(url).path + got.target
        with httpx.Client(trust_env=False, timeout=300) as client:
            reply = client.request(
                got.method,
                f"{url.removesuffix(urlsplit(url).path)}{path}",
                headers=headers,
                content=got.body,
            )
        body = reply.content
        credential = got.headers.get("authorization", "").partition(" ")[2]
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

"""Servers of HTTP on 127.0.0.1 for tests: what is asked comes in, an answer goes out or breaks."""

from __future__ import annotations

import gzip
import json
import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from email.message import Message
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any, Literal, Self
from urllib.parse import parse_qsl

import orjson

Delivery = Literal["whole", "reset", "truncate", "truncate_chunked", "unannounced"]
"""How an answer reaches the client.

`reset` ends the connection instead; `truncate` and `truncate_chunked` end it after half of the
body; `unannounced` sends the body without its length and ends the connection.
"""
_PACKED_FROM = 1024


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it came; `target` is its path with the query."""

    method: str
    target: str
    headers: Message
    body: bytes

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    @property
    def query(self) -> dict[str, str]:
        """The parameters of the query, the last one of each name."""
        return dict(parse_qsl(self.target.partition("?")[2], keep_blank_values=True))

    @property
    def token(self) -> str:
        """The token of the header Authorization, empty without one."""
        kind, _, token = self.headers.get("Authorization", "").partition(" ")
        return token.strip() if kind.lower() in ("bearer", "token") else ""

    @property
    def bytes(self) -> bytes:
        """Everything that was sent."""
        headers = (f"{name}: {value}" for name, value in self.headers.items())
        return "\n".join((f"{self.method} {self.target}", *headers, "")).encode() + self.body


@dataclass(frozen=True, slots=True)
class Answer:
    """What is sent, as JSON where `body` is no bytes, after so many `seconds`.

    A header Content-Length takes the place of the true one, and the connection then ends.
    """

    status: int = 200
    body: Any = b""
    headers: dict[str, str] = field(default_factory=dict)
    delivery: Delivery = "whole"
    seconds: float = 0.0


Behavior = Callable[[Asked], Answer]


def encode(value: Any) -> bytes:
    """Return JSON; lone surrogates, which UTF-8 cannot hold, come out as escapes."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value, separators=(",", ":")).encode("ascii")


class LocalServer:
    """Answers by `answer` while its `with` block runs, a thread for each connection.

    All connections are closed at the end. An error inside `answer` is sent as a 500 and raised when
    the block ends.
    """

    packs = False
    """True to compress long bodies for clients that accept it."""

    def __init__(self, port: int = 0) -> None:
        handler = type("Handler", (_Handler,), {"owner": self})
        self._server = _Server(("127.0.0.1", port), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._crashes: list[Exception] = []
        self.port = self._server.server_port
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        self._server.closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.cut()
        self._server.server_close()
        if self._crashes and error is None:
            raise RuntimeError(f"{type(self).__name__} failed inside") from self._crashes[0]

    def answer(self, asked: Asked) -> Answer:
        """Return the answer to a request."""
        raise NotImplementedError

    def wait(self) -> None:
        """Serve until the process is interrupted."""
        self._thread.join()

    def respond(self, asked: Asked) -> Answer:
        """Return the answer to a request, or what is sent where that fails."""
        try:
            answer = self.answer(asked)
        except Exception as error:  # noqa: BLE001 - any defect must reach the test
            self._crashes.append(error)
            told = {"error": repr(error), "message": f"{type(self).__name__} failed inside"}
            return Answer(500, told, {"x-should-retry": "false"})
        if answer.seconds:
            self._server.closing.wait(answer.seconds)
        return answer


class Server(LocalServer):
    """Answers everything by one behavior, and keeps what it got."""

    def __init__(self, behavior: Behavior = lambda asked: Answer(body={})) -> None:
        super().__init__()
        self.behavior = behavior
        self.got: list[Asked] = []

    def answer(self, asked: Asked) -> Answer:
        """Answer by the behavior."""
        self.got.append(asked)
        return self.behavior(asked)


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self.closing = threading.Event()
        self._open: set[socket.socket] = set()
        super().__init__(address, handler)

    def server_bind(self) -> None:
        TCPServer.server_bind(self)
        self.server_port = self.server_address[1]

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        self._open.add(connection)
        return connection, address

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Keep quiet: clients may go away at any time."""

    def cut(self) -> None:
        for connection in list(self._open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    owner: LocalServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        body = self._body()
        if body is None:  # the client was killed in the middle of it
            self.close_connection = True
            return
        answer = self.owner.respond(Asked(self.command, self.path, self.headers, body))
        if answer.delivery == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
        else:
            self._send(answer)

    do_HEAD = do_POST = do_PUT = do_DELETE = do_PATCH = do_GET  # noqa: N815

    def _body(self) -> bytes | None:
        if self.headers.get("Transfer-Encoding") != "chunked":
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(length)
            return body if len(body) == length else None
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _send(self, answer: Answer) -> None:
        body = answer.body if isinstance(answer.body, bytes) else encode(answer.body)
        headers = {} if isinstance(answer.body, bytes) else {"Content-Type": "application/json"}
        headers |= answer.headers
        if self._may_pack(body):
            body = gzip.compress(body, compresslevel=1, mtime=0)
            headers["Content-Encoding"] = "gzip"
        half, breaks = body[: len(body) // 2], "Content-Length" in headers
        match answer.delivery:
            case "truncate_chunked":
                headers["Transfer-Encoding"] = "chunked"
                body, breaks = b"%x\r\n" % len(body) + half, True
            case "unannounced":
                headers["Connection"], breaks = "close", True
            case delivery if answer.status != HTTPStatus.NOT_MODIFIED:
                headers.setdefault("Content-Length", str(len(body)))
                if delivery == "truncate":
                    body, breaks = half, True
        lines = [f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        head = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")
        self.wfile.write(head + (b"" if self.command == "HEAD" else body))
        self.close_connection |= breaks or headers.get("Connection") == "close"

    def _may_pack(self, body: bytes) -> bool:
        accepted = "gzip" in self.headers.get("Accept-Encoding", "")
        return self.owner.packs and accepted and len(body) >= _PACKED_FROM

"""The HTTP below the twin: keep-alive connections, gzip, and replies that break on purpose."""

from __future__ import annotations

import gzip
import json
import socket
import socketserver
import struct
import threading
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from email.message import Message
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import orjson

_GZIP_FROM = 1024


@dataclass(frozen=True, slots=True)
class Received:
    """A request as it came in; `target` is its path with the query."""

    method: str
    target: str
    headers: Message
    body: bytes

    @property
    def path(self) -> str:
        """Return the target without its query."""
        return self.target.partition("?")[0]

    @property
    def token(self) -> str:
        """Return the token of the Authorization header, empty without one."""
        kind, _, token = self.headers.get("Authorization", "").partition(" ")
        return token.strip() if kind.lower() in ("bearer", "token") else ""

    def etag(self, body: bytes) -> str:
        """Return the weak tag of a reply to this request; no two tokens get the same."""
        body = self.token.encode() + body
        return f'W/"{zlib.crc32(body):08x}{zlib.adler32(body):08x}"'


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply, and the way in which it is (not) delivered."""

    status: int
    body: bytes
    headers: dict[str, str]
    delivery: str | None = None
    fault: str | None = None
    seconds: float = 0.0


def encode(value: Any) -> bytes:
    """Return JSON; lone surrogates, which UTF-8 cannot hold, come out as escapes."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value, separators=(",", ":")).encode("ascii")


class Listener:
    """Accepts connections in a thread of its own and closes every one of them at the end."""

    def __init__(self, serve: Callable[[Received], Reply], port: int) -> None:
        self._server = _Server(serve, port)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def start(self) -> None:
        """Begin to accept."""
        self._thread.start()

    def join(self) -> None:
        """Wait for the listener to end."""
        self._thread.join()

    def close(self) -> list[Exception]:
        """Stop, cut what is open, and return the errors that handlers ran into."""
        self._server.closing.set()
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.cut()
        self._server.server_close()
        return self._server.crashes


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    request_queue_size = 128

    def __init__(self, serve: Callable[[Received], Reply], port: int) -> None:
        self.serve = serve
        self.crashes: list[Exception] = []
        self.closing = threading.Event()
        self._open: set[socket.socket] = set()
        super().__init__(("127.0.0.1", port), _Handler)

    def server_bind(self) -> None:
        socketserver.TCPServer.server_bind(self)

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
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        """Keep quiet."""

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            reply = self.server.serve(Received(self.command, self.path, self.headers, body))
        except Exception as error:  # noqa: BLE001 - any defect must reach the test
            self.server.crashes.append(error)
            message = {"message": f"the twin failed: {error!r}"}
            reply = Reply(500, encode(message), {"Content-Type": "application/json"})
        if reply.delivery == "slow":
            self.server.closing.wait(reply.seconds)
        self._deliver(reply)

    def _deliver(self, reply: Reply) -> None:
        if reply.delivery == "reset":
            self._reset()
            return
        body, headers = reply.body, dict(reply.headers)
        if len(body) >= _GZIP_FROM and "gzip" in self.headers.get("Accept-Encoding", ""):
            body = gzip.compress(body, compresslevel=1, mtime=0)
            headers["Content-Encoding"] = "gzip"
        chunked = reply.delivery == "truncate_chunked"
        if chunked:
            headers["Transfer-Encoding"] = "chunked"
        elif reply.status != HTTPStatus.NOT_MODIFIED:
            headers["Content-Length"] = str(len(body))
        lines = [f"HTTP/1.1 {reply.status} {HTTPStatus(reply.status).phrase}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        head = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")
        if chunked:
            half = body[: len(body) // 2]
            self.wfile.write(head + b"%x\r\n" % len(body) + half)
            self.close_connection = True
        elif reply.delivery == "truncate":
            self.wfile.write(head + body[: len(body) // 2])
            self.close_connection = True
        else:
            self.wfile.write(head + body)

    def _reset(self) -> None:
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.close_connection = True

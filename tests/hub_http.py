"""The HTTP side of the local Hub: requests in, answers out, connections cut on request."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.local_server import LocalServer, QuietHandler


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    query: dict[str, str]
    data: bytes
    token: str
    span: str | None
    """The header Range."""


@dataclass
class Answer:
    body: bytes | dict[str, Any] | list[Any] = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


class RefusedError(Exception):
    def __init__(self, status: int, code: str = "", message: str = "") -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


class Listener(LocalServer):
    """Answers on 127.0.0.1 what `handle` says, one request after another.

    `cut` gives the number of body bytes after which a PUT is cut off, or None.
    """

    def __init__(
        self, handle: Callable[[Asked], Answer], cut: Callable[[Asked, int], int | None]
    ) -> None:
        super().__init__(_Handler)
        self.handle, self.cut = handle, cut
        self.lock = threading.Lock()
        self.crashes: list[BaseException] = []


class _Handler(QuietHandler, BaseHTTPRequestHandler):
    owner: Listener
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        call = Asked(
            "GET" if self.command == "HEAD" else self.command,
            url.path,
            {name: values[-1] for name, values in parse_qs(url.query).items()},
            b"",
            (self.headers.get("Authorization") or "").removeprefix("Bearer "),
            self.headers.get("Range"),
        )
        length = int(self.headers.get("Content-Length") or 0)
        with self.owner.lock:
            cut = self.owner.cut(call, length)
        if cut is not None:
            self.rfile.read(cut)
            self.close_connection = True
            self.connection.close()
            return
        self._send(self._answer(Asked(**{**call.__dict__, "data": self._body(length)})))

    do_HEAD = do_POST = do_PUT = do_GET  # noqa: N815

    def _body(self, length: int) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(length)
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _answer(self, call: Asked) -> Answer:
        try:
            with self.owner.lock:
                return self.owner.handle(call)
        except RefusedError as refused:
            headers = {"X-Error-Message": refused.message}
            if refused.code:
                headers["X-Error-Code"] = refused.code
            return Answer({"error": refused.message}, refused.status, headers)
        except Exception as error:  # noqa: BLE001  # told when the Hub's block ends
            self.owner.crashes.append(error)
            return Answer({"error": repr(error)}, 400)

    def _send(self, answer: Answer) -> None:
        body = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

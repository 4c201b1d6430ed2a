"""Servers of HTTP on 127.0.0.1 for tests, each in a thread while a block runs."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


class QuietHandler(BaseHTTPRequestHandler):
    """Answers requests for its `owner`, and tells the terminal nothing of them."""

    owner: Any

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


class LocalServer:
    """A server that answers by a handler while its `with` block runs."""

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        owned = type("Handler", (handler,), {"owner": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), owned)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self.port = self._server.server_port
        self.address = f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

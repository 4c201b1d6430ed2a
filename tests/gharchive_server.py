"""Serves a folder of hours over HTTP, with the faults that servers have."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Literal

from tests.local_server import LocalServer, QuietHandler


@dataclass(frozen=True)
class Fault:
    """What to do instead of serving a file, the first `times` times."""

    kind: Literal["status", "cut", "short", "long", "reset", "moved"]
    times: int = 1
    status: int = 503
    retry_after: str | None = None


class HourServer(LocalServer):
    """A server on 127.0.0.1; `asked` counts requests by file, `together` the most at once."""

    def __init__(self, folder: Path, faults: Mapping[str, Sequence[Fault]] | None = None) -> None:
        super().__init__(_Handler)
        self.url = self.address
        self.folder = folder
        self.faults = faults or {}
        self.asked: Counter[str] = Counter()
        self.headers: list[dict[str, str]] = []
        self.under_way = self.together = 0
        self.hold: threading.Event | None = None
        """If there is one, no file is served before it is set."""
        self.pause = 0.0
        """Seconds before each answer."""
        self.lock = threading.Lock()

    def __exit__(self, *_: object) -> None:
        if self.hold:
            self.hold.set()
        super().__exit__()

    def fault(self, name: str) -> Fault | None:
        """Return what goes wrong with this request for a file."""
        count = self.asked[name]
        for fault in self.faults.get(name, self.faults.get("*", ())):
            count -= fault.times
            if count <= 0:
                return fault
        return None


class _Handler(QuietHandler, BaseHTTPRequestHandler):
    owner: HourServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        hours, name = self.owner, self.path.rpartition("/")[2]
        with hours.lock:
            hours.asked[name] += 1
            hours.headers.append(dict(self.headers))
            hours.under_way += 1
            hours.together = max(hours.together, hours.under_way)
            fault = hours.fault(name)
        try:
            time.sleep(hours.pause)
            if hours.hold:
                hours.hold.wait(30)
            self._answer(name, fault)
        finally:
            with hours.lock:
                hours.under_way -= 1

    def _answer(self, name: str, fault: Fault | None) -> None:
        path = self.owner.folder / name
        if fault and fault.kind == "reset":
            self.close_connection = True
            return
        if fault and fault.kind == "status":
            after = {"Retry-After": fault.retry_after} if fault.retry_after else {}
            self._send(fault.status, b"come back later", after)
            return
        if fault and fault.kind == "moved":
            self._send(302, b"", {"Location": f"/elsewhere/{name}"})
            return
        if not path.is_file():
            self._send(404, b"<html>no such hour</html>", {})
            return
        body = path.read_bytes()
        match fault.kind if fault else "":
            case "cut":  # the connection ends before all that was announced
                self._send(200, body[: len(body) // 2], {}, announced=len(body))
                self.close_connection = True
            case "short":  # nothing is announced, and the connection ends early
                self._send(200, body[: len(body) // 2], {"Connection": "close"}, announced=None)
                self.close_connection = True
            case "long":
                self._send(200, body + b"more", {}, announced=len(body))
                self.close_connection = True
            case _:
                self._send(200, body, {})

    def _send(
        self, status: int, body: bytes, headers: dict[str, str], announced: int | None = -1
    ) -> None:
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, value)
        if announced is not None:
            self.send_header("Content-Length", str(len(body) if announced < 0 else announced))
        self.end_headers()
        self.wfile.write(body)

    def handle(self) -> None:
        """Serve a connection; clients that are killed reset theirs."""
        with contextlib.suppress(ConnectionError):
            super().handle()

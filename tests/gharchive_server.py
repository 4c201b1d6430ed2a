"""Serves a folder of hours over HTTP, with the faults that servers have."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tests.local_server import Answer, Asked, LocalServer


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
        super().__init__()
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

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self.hold:
            self.hold.set()
        super().__exit__(kind, error, trace)

    def fault(self, name: str) -> Fault | None:
        """Return what goes wrong with this request for a file."""
        count = self.asked[name]
        for fault in self.faults.get(name, self.faults.get("*", ())):
            count -= fault.times
            if count <= 0:
                return fault
        return None

    def answer(self, asked: Asked) -> Answer:
        """Answer a request for a file."""
        name = asked.path.rpartition("/")[2]
        with self.lock:
            self.asked[name] += 1
            self.headers.append(dict(asked.headers))
            self.under_way += 1
            self.together = max(self.together, self.under_way)
            fault = self.fault(name)
        try:
            time.sleep(self.pause)
            if self.hold:
                self.hold.wait(30)
            return self._answer(name, fault)
        finally:
            with self.lock:
                self.under_way -= 1

    def _answer(self, name: str, fault: Fault | None) -> Answer:
        path = self.folder / name
        match fault:
            case Fault("reset"):
                return Answer(delivery="reset")
            case Fault("status"):
                after = {"Retry-After": fault.retry_after} if fault.retry_after else {}
                return Answer(fault.status, b"come back later", after)
            case Fault("moved"):
                return Answer(302, headers={"Location": f"/elsewhere/{name}"})
        if not path.is_file():
            return Answer(404, b"<html>no such hour</html>")
        body = path.read_bytes()
        match fault:
            case Fault("cut"):  # the connection ends before all that was announced
                return Answer(body=body, delivery="truncate")
            case Fault("short"):  # nothing is announced, and the connection ends early
                return Answer(body=body[: len(body) // 2], delivery="unannounced")
            case Fault("long"):
                return Answer(body=body + b"more", headers={"Content-Length": str(len(body))})
        return Answer(body=body)

"""Locks that hold on all machines: an object that says who holds it, renewed while that works.

Its time is that of the store's own clock. Who stops renewing (a machine that was switched off)
loses the lock after `SECONDS`; who comes back later sees that, and pushes nothing.
"""

from __future__ import annotations

import getpass
import os
import socket
import threading
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import orjson

from goldpan.core.errors import WorkspaceError
from goldpan.core.log import LOG
from goldpan.core.remote.store import ObjectStore, RemoteObject

SECONDS = 120.0
"""How long a lock outlives the last sign of its holder."""


class Lease:
    """A lock in a store."""

    def __init__(self, store: ObjectStore, name: str, seconds: float | None = None) -> None:
        self.name = name
        self.lost = False
        self.ends: datetime | None = None
        self._store = store
        self._key = f"locks/{name}.json"
        self._seconds = SECONDS if seconds is None else seconds
        self._etag: str | None = None
        self._released = threading.Event()
        self._thread: threading.Thread | None = None

    def acquire(self) -> str | None:
        """Take the lock; return who has it where it is not free.

        Where that is a process of this machine that has ended, `ends` says until when it is kept.
        """
        self._store.prove_conditions()
        lock = self._store.read(self._key)
        if lock is None:
            self._etag = self._store.create(self._key, self._content())
        else:
            held = _read(lock)
            ends = lock.modified + timedelta(seconds=held.seconds)
            if held.owner and self._store.now() <= ends:
                self.ends = ends if held.is_gone() else None
                return held.owner
            self._etag = self._store.replace(self._key, self._content(), lock.etag)
        return None if self._etag else "another machine"

    def keep(self) -> None:
        """Renew the lock until `release`."""
        self._thread = threading.Thread(target=self._renew, daemon=True)
        self._thread.start()

    def release(self) -> None:
        """Give the lock back."""
        self._released.set()
        if self._thread is not None:
            self._thread.join()
        if self._etag and not self.lost:
            self._store.replace(self._key, _FREE, self._etag)

    def _renew(self) -> None:
        last = time.monotonic()
        while not self._released.wait(self._seconds / 4):
            try:
                etag = self._store.replace(self._key, self._content(), self._etag or "")
                self.lost = etag is None
                self._etag, last = etag, time.monotonic()
            except WorkspaceError as error:  # the network may come back
                LOG.warning(str(error))
                self.lost = time.monotonic() - last > self._seconds
            if self.lost:
                return

    def _content(self) -> bytes:
        return orjson.dumps(
            {
                "owner": f"{_user()} on {socket.gethostname()} (process {os.getpid()})",
                "machine": _machine(),
                "process": os.getpid(),
                "seconds": self._seconds,
                "renewal": uuid.uuid4().hex,  # so that no two have the same ETag
            }
        )


_FREE = orjson.dumps({"owner": None})


@dataclass(frozen=True, slots=True)
class _Held:
    """What a lock says of its holder."""

    owner: str | None = "somebody"
    seconds: float = SECONDS
    machine: str = ""
    process: int = 0

    def is_gone(self) -> bool:
        """Whether the holder was a process of this machine that has ended."""
        if not self.process or self.machine != _machine():
            return False
        try:
            os.kill(self.process, 0)
        except ProcessLookupError:
            return True
        except (PermissionError, OverflowError):
            return False
        return False


def _read(lock: RemoteObject) -> _Held:
    try:
        said = orjson.loads(lock.body)
        owner = None if said["owner"] is None else str(said["owner"])
        seconds = min(float(said.get("seconds", SECONDS)), 3_600.0)
        process = int(said.get("process", 0))
        return _Held(owner, seconds, str(said.get("machine", "")), max(process, 0))
    except (orjson.JSONDecodeError, AttributeError, KeyError, TypeError, ValueError):
        return _Held()


def _machine() -> str:
    """Return what tells this machine, since it was started, and its process numbers from others."""
    parts = [socket.gethostname()]
    for name in ("/proc/sys/kernel/random/boot_id", "/proc/self/ns/pid"):
        with suppress(OSError):  # only Linux has them
            path = Path(name)
            parts.append(path.readlink().name if path.is_symlink() else path.read_text().strip())
    return " ".join(parts)


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container without a name for its user
        return "somebody"

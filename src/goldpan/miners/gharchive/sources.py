"""Where hours come from: a folder with the files, or a server that is asked ahead of reading."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from datetime import datetime
from pathlib import Path
from queue import SimpleQueue
from typing import Self, overload
from urllib.parse import urlsplit

from goldpan.core.config import Settings
from goldpan.core.errors import UsageError
from goldpan.core.workspace import make_directory
from goldpan.miners.gharchive.fetch import Fetched, fetch, open_client
from goldpan.miners.gharchive.reading import HourUnit
from goldpan.miners.gharchive.store import ArchiveStore, file_name
from goldpan.miners.github.limits import Pace

_FAILURES_IN_A_ROW = 3


def is_address(source: str) -> bool:
    """Say whether a source is a web address; raises `UsageError` for a bad one or no folder."""
    if "://" not in source:
        if not Path(source).is_dir():
            raise UsageError(
                f"--source {source} is not a folder",
                "Name a folder with YYYY-MM-DD-H.json.gz files",
            )
        return False
    try:
        url = urlsplit(source)
        good = url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
    except ValueError:
        good = False
    if not good or url.username or url.password or url.query:
        raise UsageError(
            "--source is not a plain web address",
            "Write it as https://HOST/PATH, without a password",
        )
    return True


def units_of_folder(
    folder: Path, hours: Sequence[datetime], workspace: Path, types: tuple[str, ...]
) -> list[HourUnit]:
    """Return the hours to read out of a folder; files stay where they are."""
    return [
        HourUnit(hour, workspace, types, path)
        if (path := folder / file_name(hour)).is_file()
        else HourUnit(hour, workspace, types, reason="no such file in the source")
        for hour in hours
    ]


class Downloads(Sequence[HourUnit]):
    """The hours of a server: asking for one gives it once it is fetched, and fetches some ahead.

    So reading and fetching go on at once, and on disk lie only files that are soon to be read.
    Use it as a context manager; leaving it gives up what is under way.
    """

    def __init__(
        self,
        address: str,
        hours: Sequence[datetime],
        store: ArchiveStore,
        types: tuple[str, ...],
        settings: Settings,
        pace: Pace,
        note: Callable[[str], None],
        *,
        keep: bool,
    ) -> None:
        self._address = address.rstrip("/")
        self._hours = hours
        self._store = store
        self._types = types
        self._settings = settings
        self._pace = pace
        self._note = note
        self._notes: SimpleQueue[str] = SimpleQueue()
        self._keep = keep
        self._ahead = 2 * settings.concurrency
        self._found: dict[int, Future[Fetched]] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._gate = asyncio.Semaphore(settings.concurrency)
        self._http = open_client(settings.concurrency, settings.timeout)
        self._failed = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def __len__(self) -> int:
        return len(self._hours)

    @overload
    def __getitem__(self, index: int) -> HourUnit: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[HourUnit]: ...

    def __getitem__(self, index: int | slice) -> HourUnit | Sequence[HourUnit]:
        if isinstance(index, slice):
            return [self[position] for position in range(*index.indices(len(self)))]
        if not 0 <= index < len(self):
            raise IndexError(index)
        for position in range(index, min(index + self._ahead + 1, len(self))):
            if position not in self._found:
                self._found[position] = asyncio.run_coroutine_threadsafe(
                    self._fetch(self._hours[position]), self._loop
                )
        hour, fetched = self._hours[index], self._wait(self._found[index])
        if fetched.outcome == "there":
            stored = self._store.stored(hour)
            path = stored if stored.exists() else self._store.download(hour)
            return HourUnit(hour, self._store.root.parent, self._types, path)
        return HourUnit(
            hour,
            self._store.root.parent,
            self._types,
            state=fetched.outcome,
            reason=fetched.reason,
        )

    def _wait(self, future: Future[Fetched]) -> Fetched:
        """Wait for a file, and pass on what the other thread has to say meanwhile."""
        while not wait((future,), timeout=1.0).done:
            while not self._notes.empty():
                self._note(self._notes.get())
        return future.result()

    async def _fetch(self, hour: datetime) -> Fetched:
        stored = self._store.stored(hour)
        target = stored if self._keep else self._store.download(hour)
        async with self._gate:
            if stored.exists() or target.exists():
                return Fetched("there")
            if self._failed >= _FAILURES_IN_A_ROW:
                return Fetched("failed", "not asked for: the server failed too often")
            make_directory(target.parent)
            url = f"{self._address}/{file_name(hour)}"
            fetched = await fetch(
                self._http,
                url,
                target,
                retries=self._settings.retries,
                pace=self._pace,
                note=self._notes.put,
            )
            self._failed = self._failed + 1 if fetched.outcome == "failed" else 0
            return fetched

    async def _end(self) -> None:
        own = asyncio.current_task()
        tasks = [task for task in asyncio.all_tasks() if task is not own]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._http.aclose()

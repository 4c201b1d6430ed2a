"""Sources of hours: a folder with the files, or a server that is asked ahead of reading.

A file is complete when as many bytes came as the server announced. It bears its name only then,
so the remains of a stopped run are never taken for an hour. Requests carry no credentials.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from queue import SimpleQueue
from typing import Self, overload
from urllib.parse import urlsplit

import httpx

from goldpan._version import __version__
from goldpan.core.errors import UsageError, WorkspaceError
from goldpan.core.http import jittered, retry_after, shared_context
from goldpan.core.settings.config import Settings
from goldpan.core.storage.workspace import make_directory
from goldpan.core.values import ONE_PROCESS, Execution
from goldpan.miners.gharchive.reading import HourUnit
from goldpan.miners.gharchive.store import ArchiveStore, State, file_name
from goldpan.miners.github.limits import Pace

GH_ARCHIVE = "https://data.gharchive.org"

_CHUNK = 256 << 10
_LARGEST = 8 << 30
_MOST_REDIRECTS = 5
_LONGEST_WAIT = 900.0
_SILENT = 5.0  # seconds; longer pauses are announced


@dataclass(frozen=True, slots=True)
class ArchiveRequest:
    """The hours and event types to fetch, from where and how."""

    hours: tuple[datetime, ...]
    types: tuple[str, ...]
    source: str = GH_ARCHIVE
    """A folder with the files, or the address below which they lie."""
    execution: Execution = ONE_PROCESS
    """Address of the Ray cluster; empty for one on this machine."""
    keep_downloads: bool = False


class _NotFetchedError(Exception):
    """A file that cannot be fetched, and the state of its hour."""

    def __init__(self, state: State, reason: str) -> None:
        super().__init__(state, reason)
        self.state, self.reason = state, reason


class _TryAgainError(Exception):
    """A failure that may pass; `after` is how long the server asks to wait."""

    def __init__(self, problem: str, after: float = 0.0) -> None:
        super().__init__(problem)
        self.after = after


async def _fetch(
    http: httpx.AsyncClient,
    url: str,
    target: Path,
    *,
    retries: int,
    pace: Pace,
    note: Callable[[str], None],
) -> None:
    """Fetch a file to `target`, trying again with growing pauses where that may help.

    Raises `_NotFetchedError`, and `WorkspaceError` where the file cannot be written.
    """
    part = target.with_name(target.name + ".part")
    problem = ""
    for failures in range(1, retries + 1):
        try:
            await _fetch_once(http, url, part)
            part.replace(target)
            return
        except _TryAgainError as error:
            problem, after = str(error), error.after
        except httpx.HTTPError as error:
            problem, after = f"{type(error).__name__}: {error}".rstrip(": "), 0.0
        except httpx.InvalidURL as error:
            raise _NotFetchedError("failed", str(error)) from None
        except OSError as error:
            raise WorkspaceError(
                f"{part} cannot be written: {error.strerror or error}",
                "Free some space and run the same command again: it resumes where it stopped",
            ) from None
        if failures < retries:
            pause = max(jittered(pace.pause(failures)), min(after, _LONGEST_WAIT))
            if pause > _SILENT:
                note(f"{target.name} cannot be fetched now ({problem}): waiting {pause:.0f} s")
            await asyncio.sleep(pause)
    part.unlink(missing_ok=True)
    raise _NotFetchedError("failed", f"{problem}, {retries} times")


async def _fetch_once(http: httpx.AsyncClient, url: str, part: Path) -> None:
    async with http.stream("GET", url) as response:
        status = response.status_code
        if status in (404, 410):
            raise _NotFetchedError("missing", f"HTTP {status}")
        if status in (408, 429) or status >= 500:
            raise _TryAgainError(f"HTTP {status}", retry_after(response.headers) or 0.0)
        if status != 200:
            raise _NotFetchedError("failed", f"HTTP {status}")
        announced, received = response.headers.get("content-length"), 0
        with part.open("wb") as file:
            async for chunk in response.aiter_raw(_CHUNK):
                received += len(chunk)
                if received > _LARGEST:
                    too_large = f"the file is larger than {_LARGEST:,} bytes"
                    raise _NotFetchedError("failed", too_large)
                file.write(chunk)
    if announced is not None and announced != str(received):
        raise _TryAgainError(f"{received:,} bytes came where {announced} were announced")


_FAILURES_IN_A_ROW = 3


def is_address(source: str) -> bool:
    """Tell whether a source is a web address; raises `UsageError` for a bad one or no folder."""
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
    """The hours of a server: an item waits until it is fetched, and has the next ones fetched.

    So reading and fetching go on at once, and on disk lie only files that are soon to be read.
    Use it as a context manager; leaving it cancels downloads under way.
    """

    def __init__(
        self,
        request: ArchiveRequest,
        hours: Sequence[datetime],
        store: ArchiveStore,
        settings: Settings,
        pace: Pace,
        note: Callable[[str], None],
    ) -> None:
        self._request = request
        self._hours = hours
        self._store = store
        self._settings = settings
        self._pace = pace
        self._note = note
        self._notes: SimpleQueue[str] = SimpleQueue()
        self._units: dict[int, Future[HourUnit]] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._gate = asyncio.Semaphore(settings.concurrency)
        self._http = httpx.AsyncClient(
            verify=shared_context(),
            timeout=settings.timeout,
            follow_redirects=True,
            max_redirects=_MOST_REDIRECTS,
            headers={"User-Agent": f"goldpan/{__version__}", "Accept-Encoding": "identity"},
            limits=httpx.Limits(max_connections=settings.concurrency, keepalive_expiry=30),
        )
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
        ahead = 2 * self._settings.concurrency
        for position in range(index, min(index + ahead + 1, len(self))):
            if position not in self._units:
                self._units[position] = asyncio.run_coroutine_threadsafe(
                    self._fetch(self._hours[position]), self._loop
                )
        unit = self._units[index]
        while not wait((unit,), timeout=1.0).done:
            while not self._notes.empty():  # of the other thread
                self._note(self._notes.get())
        return unit.result()

    async def _fetch(self, hour: datetime) -> HourUnit:
        root, types, stored = self._store.root.parent, self._request.types, self._store.stored(hour)
        target = stored if self._request.keep_downloads else self._store.download(hour)
        async with self._gate:
            if not (stored.exists() or target.exists()):
                try:
                    await self._fetch_file(file_name(hour), target)
                except _NotFetchedError as error:
                    return HourUnit(hour, root, types, state=error.state, reason=error.reason)
        return HourUnit(hour, root, types, stored if stored.exists() else target)

    async def _fetch_file(self, name: str, target: Path) -> None:
        if self._failed >= _FAILURES_IN_A_ROW:
            raise _NotFetchedError("failed", "not asked for: the server failed too often")
        make_directory(target.parent)
        url = f"{self._request.source.rstrip('/')}/{name}"
        retries, pace = self._settings.retries, self._pace
        try:
            await _fetch(self._http, url, target, retries=retries, pace=pace, note=self._notes.put)
            self._failed = 0
        except _NotFetchedError as error:
            self._failed = self._failed + 1 if error.state == "failed" else 0
            raise

    async def _end(self) -> None:
        own = asyncio.current_task()
        tasks = [task for task in asyncio.all_tasks() if task is not own]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._http.aclose()

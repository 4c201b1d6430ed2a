"""Sources of hours: a folder with the files, or a server that is asked ahead of reading.

A file is complete when as many bytes came as the server announced. It bears its name only then,
so the remains of a stopped run are never taken for an hour. Requests carry no credentials.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from threading import Event
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


def hours_of_folder(
    folder: Path, hours: Sequence[datetime], workspace: Path, types: tuple[str, ...]
) -> Generator[HourUnit, None, None]:
    """Yield the hours to read out of a folder; files stay where they are."""
    for hour in hours:
        path = folder / file_name(hour)
        if path.is_file():
            yield HourUnit(hour, workspace, types, path)
        else:
            yield HourUnit(hour, workspace, types, reason="no such file in the source")


_FAILURES_IN_A_ROW = 3


class _FetchError(Exception):
    """A file that was not fetched, the state of its hour, and how long to wait before more tries.

    Without a time, trying again cannot help.
    """

    def __init__(self, state: State, reason: str, after: float | None = None) -> None:
        super().__init__(state, reason, after)
        self.state, self.reason, self.after = state, reason, after

    def __str__(self) -> str:
        return self.reason


def fetched_hours(
    request: ArchiveRequest,
    hours: Sequence[datetime],
    store: ArchiveStore,
    settings: Settings,
    pace: Pace,
    note: Callable[[str], None],
) -> Generator[HourUnit, None, None]:
    """Yield the hours of a server in order, while the next ones are fetched.

    So reading and fetching go on at once, and on disk lie only files that are soon to be read.
    Closing the iterator ends the downloads under way.
    """
    pool = ThreadPoolExecutor(settings.concurrency)
    waiting: deque[Future[HourUnit]] = deque()
    remaining = iter(hours)
    with httpx.Client(
        verify=shared_context(),
        timeout=settings.timeout,
        follow_redirects=True,
        max_redirects=_MOST_REDIRECTS,
        headers={"User-Agent": f"goldpan/{__version__}", "Accept-Encoding": "identity"},
    ) as http:
        downloads = _Downloads(http, request, store, settings.retries, pace)
        try:
            while True:
                for hour in islice(remaining, 2 * settings.concurrency + 1 - len(waiting)):
                    waiting.append(pool.submit(downloads.fetch, hour))
                if not waiting:
                    return
                unit = waiting.popleft()
                while not wait((unit,), timeout=1.0).done:
                    while not downloads.notes.empty():  # of the other threads
                        note(downloads.notes.get())
                yield unit.result()
        finally:
            downloads.is_over.set()
            pool.shutdown(cancel_futures=True)


@dataclass(slots=True)
class _Downloads:
    """Fetches hours, in several threads."""

    http: httpx.Client
    request: ArchiveRequest
    store: ArchiveStore
    retries: int
    pace: Pace
    notes: SimpleQueue[str] = field(default_factory=SimpleQueue)
    is_over: Event = field(default_factory=Event)
    failed: int = 0
    """How many hours in a row could not be fetched."""

    def fetch(self, hour: datetime) -> HourUnit:
        """Return an hour to read, fetched unless it is here."""
        root, types, stored = self.store.root.parent, self.request.types, self.store.stored(hour)
        target = stored if self.request.keep_downloads else self.store.download(hour)
        path = stored if stored.exists() else target
        try:
            if not path.exists():
                self._fetch(file_name(hour), target)
        except _FetchError as error:
            self.failed = self.failed + 1 if error.state == "failed" else 0
            return HourUnit(hour, root, types, state=error.state, reason=error.reason)
        return HourUnit(hour, root, types, path)

    def _fetch(self, name: str, target: Path) -> None:
        """Fetch a file, trying again with growing pauses where that may help."""
        if self.failed >= _FAILURES_IN_A_ROW:
            raise _FetchError("failed", "not asked for: the server failed too often")
        make_directory(target.parent)
        part = target.with_name(f"{target.name}.part")
        for failures in range(1, self.retries + 1):
            try:
                self._fetch_once(f"{self.request.source.rstrip('/')}/{name}", part)
                part.replace(target)
                self.failed = 0
                return
            except _FetchError as error:
                failure = error
            except httpx.HTTPError as error:
                problem = f"{type(error).__name__}: {error}".rstrip(": ")
                failure = _FetchError("failed", problem, 0.0)
            except OSError as error:
                raise WorkspaceError(
                    f"{part} cannot be written: {error.strerror or error}",
                    "Free some space and run the same command again: it resumes where it stopped",
                ) from None
            if failure.after is None:
                raise failure
            if failures < self.retries:
                pause = jittered(self.pace.pause(failures))
                pause = max(pause, min(failure.after, _LONGEST_WAIT))
                if pause > _SILENT:
                    reason = f"({failure.reason}): waiting {pause:.0f} s"
                    self.notes.put(f"{name} cannot be fetched now {reason}")
                self.is_over.wait(pause)
        part.unlink(missing_ok=True)
        raise _FetchError("failed", f"{failure.reason}, {self.retries} times")

    def _fetch_once(self, url: str, part: Path) -> None:
        with self.http.stream("GET", url) as response:
            status = response.status_code
            if status in (404, 410):
                raise _FetchError("missing", f"HTTP {status}")
            if status in (408, 429) or status >= 500:
                after = retry_after(response.headers) or 0.0
                raise _FetchError("failed", f"HTTP {status}", after)
            if status != 200:
                raise _FetchError("failed", f"HTTP {status}")
            announced, received = response.headers.get("content-length"), 0
            with part.open("wb") as file:
                for chunk in response.iter_raw(_CHUNK):
                    received += len(chunk)
                    if received > _LARGEST or self.is_over.is_set():
                        too_large = f"the file is larger than {_LARGEST:,} bytes"
                        raise _FetchError("failed", too_large)
                    file.write(chunk)
        if announced is not None and announced != str(received):
            problem = f"{received:,} bytes came where {announced} were announced"
            raise _FetchError("failed", problem, 0.0)

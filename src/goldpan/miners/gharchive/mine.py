"""Reads hours of GH Archive into tables: `goldpan mine gharchive`.

Each hour is one unit of work whose file of events appears by a rename, with its report in the
footer. So a run that was killed goes on with the hours that lack one, and hours may be read on
any machine in any order.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from pathlib import Path
from threading import Event

import httpx

from goldpan._version import __version__
from goldpan.core.errors import UsageError, WorkspaceError
from goldpan.core.http import jittered, retry_after, shared_context
from goldpan.core.parallel.engine import open_engine
from goldpan.core.result import NOT_IN_JSON, Result, count
from goldpan.core.settings.config import Settings
from goldpan.core.settings.file import check_address
from goldpan.core.storage.workspace import WorkspaceLayout, make_directory, publish
from goldpan.core.terminal import Reporter
from goldpan.core.values import ONE_PROCESS, Execution
from goldpan.miners.gharchive.reading import HourUnit, read_hour
from goldpan.miners.gharchive.store import (
    READER,
    ArchiveStore,
    HourReport,
    State,
    file_name,
    read_footer,
    read_hours,
    write_hours,
)
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
    if "://" in source:
        check_address(source, "--source", "Write it as https://HOST/PATH, without a password")
    elif not Path(source).is_dir():
        raise UsageError(
            f"--source {source} is not a folder", "Name a folder with YYYY-MM-DD-H.json.gz files"
        )
    return "://" in source


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
        downloads = _Downloads(http, request, store, settings.retries, pace, note)
        try:
            while True:
                for hour in islice(remaining, 2 * settings.concurrency + 1 - len(waiting)):
                    waiting.append(pool.submit(downloads.fetch, hour))
                if not waiting:
                    return
                yield waiting.popleft().result()
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
    note: Callable[[str], None]
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
                publish({part: target})
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
                    self.note(f"{name} cannot be fetched now {reason}")
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


@dataclass(frozen=True, slots=True)
class ArchiveResult(Result):
    """The result of mining hours of GH Archive."""

    schema = 2
    shown_in_json = ("states", "totals", "not_whole")

    source: str
    types: tuple[str, ...]
    reports: tuple[HourReport, ...] = field(metadata=NOT_IN_JSON)
    """One for each hour asked for, in order."""
    reused: int
    """How many hours were there already."""
    seconds: float

    @property
    def states(self) -> dict[State, int]:
        """How many hours are in which state, by its name."""
        return dict(sorted(Counter(report.state for report in self.reports).items()))

    @property
    def totals(self) -> dict[str, int]:
        """How many hours, bytes, lines, events that are kept and corrupt lines there are."""
        names = ("bytes", "lines", "events", "corrupt")
        sums = {name: sum(getattr(each, name) or 0 for each in self.reports) for name in names}
        return {"hours": len(self.reports), **sums}

    @property
    def not_whole(self) -> list[HourReport]:
        """The hours that are not whole."""
        return [report for report in self.reports if report.state != "whole"]

    @property
    def complete(self) -> bool:
        """True where every hour is whole."""
        return not self.not_whole

    @property
    def exit_code(self) -> int:
        """3 where an hour is missing or damaged."""
        return 0 if self.complete else 3


def mine_archive(
    settings: Settings, request: ArchiveRequest, reporter: Reporter, pace: Pace | None = None
) -> ArchiveResult:
    """Read all hours that are not stored yet, and return the state of every one.

    Raises `UsageError` for a source that is none, `WorkspaceError` where another run writes here
    or the disk is full, `EngineError` where the processes cannot work.
    """
    started = time.monotonic()
    workspace = WorkspaceLayout(settings.workspace.absolute())
    archive_store = ArchiveStore.of(workspace)
    folder = None if is_address(request.source) else Path(request.source).absolute()
    with archive_store.lock():
        stored_hours = read_hours(archive_store.hours)
        reports = _reusable_reports(archive_store, request, folder)
        reused = len(reports)
        hours = [hour for hour in request.hours if hour not in reports]
        for report in reports.values():
            _drop_download(archive_store, report)  # of a run that was killed at this very hour
        if reused:
            reporter.note(f"{count(reused, 'hour')} already downloaded; {len(hours):,} to read")
        units = (
            fetched_hours(request, hours, archive_store, settings, pace or Pace(), reporter.note)
            if folder is None
            else hours_of_folder(folder, hours, workspace.root, request.types)
        )
        try:
            with contextlib.closing(units):
                for report in _read(request, units, len(hours), reporter):
                    reports[report.hour] = report
                    _drop_download(archive_store, report)
        except BaseException:  # Ctrl-C too: hours read so far are kept, whatever ends the run
            with contextlib.suppress(OSError, WorkspaceError):
                _write(archive_store, stored_hours | reports)
            raise
        _write(archive_store, stored_hours | reports)
    return ArchiveResult(
        request.source,
        request.types,
        tuple(reports[hour] for hour in request.hours),
        reused,
        time.monotonic() - started,
    )


def _reusable_reports(
    archive_store: ArchiveStore, request: ArchiveRequest, folder: Path | None
) -> dict[datetime, HourReport]:
    """Return the reports of whole hours that were read for the same events out of the same file."""
    reusable = {}
    expected = ("whole", request.types, READER)
    for hour in request.hours:
        report = read_footer(archive_store.events(hour))
        if report is None or (report.state, report.types, report.reader) != expected:
            continue
        file = folder / file_name(hour) if folder else None
        if file is None or not file.exists() or file.stat().st_size == report.bytes:
            reusable[hour] = report
    return reusable


def _read(
    request: ArchiveRequest, units: Iterable[HourUnit], number: int, reporter: Reporter
) -> Iterator[HourReport]:
    if not number:
        return
    processes = min(request.execution.workers, number)
    with (
        open_engine(request.execution, processes) as engine,
        reporter.task("Hours", number) as task,
    ):
        for report in engine.map(read_hour, units):
            task.advance()
            yield report


def _drop_download(archive_store: ArchiveStore, report: HourReport) -> None:
    """Delete a fetched file that was read, and one to keep only where it is not whole."""
    archive_store.download(report.hour).unlink(missing_ok=True)
    if report.state != "whole":
        archive_store.stored(report.hour).unlink(missing_ok=True)


def _write(archive_store: ArchiveStore, reports: dict[datetime, HourReport]) -> None:
    for hour, report in reports.items():
        if not report.has_rows:  # events of an earlier run are stored all the same
            reports[hour] = read_footer(archive_store.events(hour)) or report
    write_hours(archive_store.hours, reports.values())

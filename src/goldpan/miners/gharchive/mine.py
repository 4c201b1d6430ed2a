"""Reads hours of GH Archive into tables: `goldpan mine gharchive`.

Each hour is one unit of work whose file of events appears by a rename, with its report in the
footer. So a run that was killed goes on with the hours that lack one, and hours may be read on
any machine in any order.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from goldpan.core.errors import WorkspaceError
from goldpan.core.parallel.engine import open_engine
from goldpan.core.result import NOT_IN_JSON, Result, count
from goldpan.core.settings.config import Settings
from goldpan.core.storage.workspace import WorkspaceLayout, publish
from goldpan.core.terminal import Reporter
from goldpan.miners.gharchive.reading import HourUnit, read_hour
from goldpan.miners.gharchive.sources import (
    ArchiveRequest,
    fetched_hours,
    hours_of_folder,
    is_address,
)
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
                _write(workspace, archive_store, stored_hours | reports)
            raise
        _write(workspace, archive_store, stored_hours | reports)
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


def _write(
    workspace: WorkspaceLayout, archive_store: ArchiveStore, reports: dict[datetime, HourReport]
) -> None:
    for hour, report in reports.items():
        if not report.has_rows:  # events of an earlier run are stored all the same
            reports[hour] = read_footer(archive_store.events(hour)) or report
    with workspace.scratch() as scratch:
        write_hours(scratch / archive_store.hours.name, reports.values())
        publish({scratch / archive_store.hours.name: archive_store.hours})

"""Reads hours of GH Archive into tables: `goldpan mine gharchive`.

Each hour is one unit of work whose file of events appears by a rename, with its report in the
footer. So a run that was killed goes on with the hours that lack one, and hours may be read on
any machine in any order.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any

from goldpan.core.errors import WorkspaceError
from goldpan.core.parallel.engine import open_engine
from goldpan.core.result import Block, Line, Result, Table, Title
from goldpan.core.settings.config import Settings
from goldpan.core.storage.workspace import WorkspaceLayout, publish
from goldpan.core.terminal import Reporter
from goldpan.miners.gharchive.reading import HourUnit, read_hour
from goldpan.miners.gharchive.sources import ArchiveRequest, Downloads, is_address, units_of_folder
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

_MOST_RUNS = 20


@dataclass(frozen=True, slots=True)
class ArchiveResult(Result):
    """The result of mining hours of GH Archive."""

    source: str
    types: tuple[str, ...]
    reports: tuple[HourReport, ...]
    """One for each hour asked for, in order."""
    reused: int
    """How many hours were there already."""
    seconds: float

    @property
    def states(self) -> dict[State, int]:
        """How many hours are in which state."""
        return dict(Counter(report.state for report in self.reports))

    @property
    def complete(self) -> bool:
        """True where every hour is whole."""
        return all(report.state == "whole" for report in self.reports)

    @property
    def exit_code(self) -> int:
        """3 where an hour is missing or damaged."""
        return 0 if self.complete else 3

    def plain(self) -> dict[str, Any]:
        """Return the result as plain data; `not_whole` names every hour that is not."""
        return {
            "source": self.source,
            "types": list(self.types),
            "hours": len(self.reports),
            "states": dict(sorted(self.states.items())),
            "reused": self.reused,
            "bytes": sum(report.bytes or 0 for report in self.reports),
            "lines": sum(report.lines for report in self.reports),
            "events": sum(report.events for report in self.reports),
            "corrupt": sum(report.corrupt for report in self.reports),
            "seconds": round(self.seconds, 3),
            "not_whole": [
                {"hour": _name(report), "state": report.state, "reason": report.reason}
                for report in self.reports
                if report.state != "whole"
            ],
        }

    def blocks(self) -> Iterator[Block]:
        """Yield the figures, and the hours that are not whole."""
        data = self.plain()
        yield Title(
            "GH Archive",
            f": {len(self.reports):,} hours, {self.reused:,} of them there before, "
            f"in {self.seconds:.1f} s",
        )
        cells = [(f"hours {state}", count) for state, count in data["states"].items()]
        cells += [(name, data[name]) for name in ("bytes", "lines", "corrupt")]
        cells.append((f"events kept ({', '.join(self.types)})", data["events"]))
        yield Table(("", "count"), cells)
        if data["corrupt"]:
            yield Line("Corrupt lines are in gharchive/corrupt/, one file per hour.")
        runs = list(_runs(report for report in self.reports if report.state != "whole"))
        for first, *later in runs[:_MOST_RUNS]:
            hours = " to ".join(map(_name, (first, *later[-1:])))
            yield Line(f"  {hours} {first.state}: {first.reason or ''}")
        if len(runs) > _MOST_RUNS:
            yield Line(f"  and {len(runs) - _MOST_RUNS:,} more: see gharchive/hours.parquet")
        if self.complete:
            yield Line("Every hour is complete.")


def _runs(reports: Iterable[HourReport]) -> Iterator[Sequence[HourReport]]:
    """Yield the hours that follow each other with the same state."""

    def run_of(numbered: tuple[int, HourReport]) -> tuple[object, ...]:
        index, report = numbered
        return report.hour - timedelta(hours=index), report.state, report.reason

    for _, run in groupby(enumerate(reports), run_of):
        yield [report for _, report in run]


def _name(report: HourReport) -> str:
    return report.file.removesuffix(".json.gz")


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
            reporter.note(f"{reused:,} hours are there already; {len(hours):,} to read")
        source: AbstractContextManager[Sequence[HourUnit]] = (
            Downloads(request, hours, archive_store, settings, pace or Pace(), reporter.note)
            if folder is None
            else nullcontext(units_of_folder(folder, hours, workspace.root, request.types))
        )
        try:
            with source as units:
                for report in _read(request, units, reporter):
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
    request: ArchiveRequest, units: Sequence[HourUnit], reporter: Reporter
) -> Iterator[HourReport]:
    if not units:
        return
    processes = min(request.execution.workers, len(units))
    with (
        open_engine(request.execution, processes) as engine,
        reporter.task("Hours", len(units)) as task,
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

"""The events of GH Archive in a workspace, and the report on each hour.

An hour's report stands in the footer of its own file, and in one table over all hours.

WORKSPACE/gharchive/
├── 2022-01-31-5.parquet     an hour's events, with a report in the footer
├── hours.parquet            a row an hour
└── downloads/               files on their way; kept ones with --keep-downloads
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import orjson
import pyarrow as pa

from goldpan.core.errors import UsageError, WorkspaceError
from goldpan.core.locks import hold_lock
from goldpan.core.storage.parquet import read_metadata, read_table, replace_table
from goldpan.core.storage.workspace import WorkspaceLayout, make_directory
from goldpan.miners.gharchive.events import ARCHIVE_HOURS

FIRST = datetime(2011, 2, 12, tzinfo=UTC)
"""GH Archive begins here."""
_HOUR, _DAY = timedelta(hours=1), timedelta(days=1)
_BOUND = re.compile(r"(\d{4}-\d{2}-\d{2})(?:-(\d{1,2}))?", re.ASCII)


def hour_name(hour: datetime) -> str:
    """Return an hour's name in GH Archive, such as ``2022-01-31-5``."""
    return f"{hour:%Y-%m-%d}-{hour.hour}"


def file_name(hour: datetime) -> str:
    """Return the name of an hour's file."""
    return f"{hour_name(hour)}.json.gz"


def hours_between(first: str, last: str) -> list[datetime]:
    """Return all hours from one day to another, both included.

    A bound is a day, as 2022-01-31, or an hour of it, as 2022-01-31-5. Raises `UsageError` for
    other texts, for bounds in the wrong order, for times before GH Archive and for those to come.
    """
    begin, end = _bound("--from", first, 0), _bound("--to", last, 23)
    if begin < FIRST:
        raise UsageError(f"--from {first} is before GH Archive", f"It begins on {FIRST:%Y-%m-%d}")
    if end < begin:
        raise UsageError(f"--to {last} is before --from {first}", "Swap them")
    if end - datetime.now(UTC) > _DAY:  # a whole day more, as clocks and time zones differ
        raise UsageError(f"--to {last} is in the future", "End with a day that is over")
    return [begin + index * _HOUR for index in range((end - begin) // _HOUR + 1)]


def _bound(option: str, text: str, hour: int) -> datetime:
    match = _BOUND.fullmatch(text.strip())
    try:
        if match is None:
            raise ValueError
        day = date.fromisoformat(match[1])
        return datetime(day.year, day.month, day.day, int(match[2] or hour), tzinfo=UTC)
    except ValueError:
        raise UsageError(
            f"{option} {text} is not a day", "Write it as 2022-01-31, or 2022-01-31-5 for one hour"
        ) from None


@dataclass(frozen=True, slots=True)
class ArchiveStore:
    """The folder of a workspace that holds data of GH Archive."""

    root: Path

    @classmethod
    def of(cls, workspace: WorkspaceLayout) -> ArchiveStore:
        """Return the place within a workspace."""
        return cls(workspace.root / "gharchive")

    @property
    def hours(self) -> Path:
        """The table of hours."""
        return self.root / "hours.parquet"

    def events(self, hour: datetime) -> Path:
        """Return the file of an hour's events."""
        return self.root / f"{hour_name(hour)}.parquet"

    def download(self, hour: datetime) -> Path:
        """Return where an hour's file lies until it is read."""
        return self.root / "downloads" / file_name(hour)

    def stored(self, hour: datetime) -> Path:
        """Return where an hour's file lies for good."""
        return self.root / "files" / file_name(hour)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep other processes from writing here meanwhile; raises `WorkspaceError` if one does."""
        make_directory(self.root)
        busy = WorkspaceError(
            f"Another goldpan is mining GH Archive into {self.root}",
            "Wait for it, or use another --workspace",
        )
        with hold_lock(self.root / "lock", busy):
            yield


State = Literal["whole", "truncated", "damaged", "unreadable", "missing", "failed"]

READER = 1
"""Raised whenever the same file would give other rows, so that kept hours are read again."""

METADATA_KEY = "goldpan_hour"


@dataclass(frozen=True, slots=True)
class HourReport:
    """The outcome of one hour.

    An hour is `whole`; `truncated` where its file ends too early, or `damaged` where bytes in it
    are wrong (what could be read is kept); `unreadable` where nothing could; `missing` where the
    source has no such file; `failed` where the file could not be fetched.
    """

    hour: datetime
    file: str
    state: State
    reason: str | None = None
    bytes: int | None = None
    sha256: str | None = None
    lines: int = 0
    events: int = 0
    corrupt: int = 0
    types: tuple[str, ...] = ()
    reader: int = READER

    @property
    def has_rows(self) -> bool:
        """True where the hour has a file of events."""
        return self.state in ("whole", "truncated", "damaged")


def read_footer(path: Path) -> HourReport | None:
    """Return the report in an hour's file of events; None where there is none to trust."""
    try:
        metadata: Mapping[bytes, bytes] = read_metadata(path)
        return _report(orjson.loads(metadata[METADATA_KEY.encode()]))
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError):
        return None


def read_hours(path: Path) -> dict[datetime, HourReport]:
    """Read the table of hours; empty where there is none yet.

    Raises `WorkspaceError` for a file that is no such table.
    """
    if not path.exists():
        return {}
    try:
        rows = read_table(path).to_pylist()
        hour_reports = [_report(row) for row in rows]
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
        raise WorkspaceError(
            f"{path} cannot be read ({error})", "Delete it: the next run makes it again"
        ) from None
    return {report.hour: report for report in hour_reports}


def write_hours(path: Path, reports: Iterable[HourReport]) -> None:
    """Write the table of hours, sorted."""
    rows = [asdict(report) for report in sorted(reports, key=lambda report: report.hour)]
    replace_table(path, ARCHIVE_HOURS, pa.Table.from_pylist(rows, schema=ARCHIVE_HOURS.schema))


def _report(row: dict[str, Any]) -> HourReport:
    hour = row["hour"]
    if isinstance(hour, str):
        hour = datetime.fromisoformat(hour)
    return replace(HourReport(**row), hour=hour.astimezone(UTC), types=tuple(row["types"]))

"""What became of an hour: told in its own file's footer, and in one table over all hours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import orjson
import pyarrow as pa

from goldpan.core.errors import WorkspaceError
from goldpan.core.parquet import read_metadata, read_table, writer
from goldpan.miners.gharchive.events import ARCHIVE_HOURS

State = Literal["whole", "truncated", "damaged", "unreadable", "missing", "failed"]

READER = 1
"""Raised whenever the same file would give other rows, so that kept hours are read again."""

METADATA_KEY = "goldpan_hour"


@dataclass(frozen=True, slots=True)
class HourReport:
    """What became of one hour.

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
        """Whether the hour has a file of events."""
        return self.state in ("whole", "truncated", "damaged")


def as_json(report: HourReport) -> bytes:
    """Return a report as JSON: the same bytes for the same report."""
    return orjson.dumps(report)


def read_footer(path: Path) -> HourReport | None:
    """Return what an hour's file of events says of itself; None where there is none to trust."""
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
    ordered = sorted(reports, key=lambda report: report.hour)
    columns = {
        field.name: pa.array([_plain(getattr(r, field.name)) for r in ordered], field.type)
        for field in ARCHIVE_HOURS.schema
    }
    with writer(path, ARCHIVE_HOURS) as target:
        target.write_table(pa.table(columns, schema=ARCHIVE_HOURS.schema))


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _report(row: dict[str, Any]) -> HourReport:
    hour = row["hour"]
    if isinstance(hour, str):
        hour = datetime.fromisoformat(hour)
    return replace(HourReport(**row), hour=hour.astimezone(UTC), types=tuple(row["types"]))

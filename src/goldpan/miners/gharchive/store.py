"""Where the events of GH Archive lie in a workspace.

WORKSPACE/gharchive/
├── 2022-01-31-5.parquet     an hour's events, with a report in the footer
├── hours.parquet            a row an hour
├── corrupt/                 lines that are no events, as JSON lines a file an hour
└── downloads/               files on their way; kept ones with --keep-downloads
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from goldpan.core.errors import UsageError, WorkspaceError
from goldpan.core.workspace import Workspace, hold_lock, make_directory

# The hours of GH Archive: how they are named, and which lie between two days.

FIRST = datetime(2011, 2, 12, tzinfo=UTC)
"""GH Archive begins here."""
_HOUR = timedelta(hours=1)
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
    other texts, for bounds in the wrong order and for times before GH Archive.
    """
    begin, end = _bound("--from", first, 0), _bound("--to", last, 23)
    if begin < FIRST:
        raise UsageError(f"--from {first} is before GH Archive", f"It begins on {FIRST:%Y-%m-%d}")
    if end < begin:
        raise UsageError(f"--to {last} is before --from {first}", "Swap them")
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
    """The folder of a workspace that holds what came out of GH Archive."""

    root: Path

    @classmethod
    def of(cls, workspace: Workspace) -> ArchiveStore:
        """Return the place within a workspace."""
        return cls(workspace.root / "gharchive")

    @property
    def hours(self) -> Path:
        """The table of hours."""
        return self.root / "hours.parquet"

    def events(self, hour: datetime) -> Path:
        """Return the file of an hour's events."""
        return self.root / f"{hour_name(hour)}.parquet"

    def corrupt(self, hour: datetime) -> Path:
        """Return the file of an hour's corrupt lines."""
        return self.root / "corrupt" / f"{hour_name(hour)}.jsonl"

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

"""Where the events of GH Archive lie in a workspace.

WORKSPACE/gharchive/
├── 2022-01-31-5.parquet     an hour's events, with a report in the footer
├── hours.parquet            a row an hour
├── corrupt/                 lines that are no events, as JSON lines a file an hour
└── downloads/               files on their way; kept ones with --keep-downloads
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from goldpan.core.errors import WorkspaceError
from goldpan.core.locks import hold_lock
from goldpan.core.workspace import Workspace, make_directory
from goldpan.miners.gharchive.hours import file_name, hour_name


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

"""An archive that forgets: for runs that only find out what a real one would cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from goldpan.core.archive import Archive, Record


class Rehearsal(Archive):
    """A repository's archive whose new records stay in memory, and there without their bodies."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self._number = 0

    @property
    def holds_entries(self) -> bool:
        """Whether entries were fetched before."""
        return any(r.meta["part"] in ("entries", "timeline", "issues") for r in self.records)

    def begin(self, *, resume: bool) -> int:
        """Go on with the newest run, or count a new one, without touching the disk."""
        self._number = self.runs if resume else self.runs + 1
        return self._number

    def append(
        self,
        meta: dict[str, Any],
        body: bytes = b"",
        *,
        sync: bool = True,
        digest: str | None = None,
    ) -> Record:
        """Remember what a record would say."""
        del sync, digest
        path = self.directory / f"run-{self._number:04}.zst"
        record = Record(path, 0, 0, len(body), len(self.records), self._number, meta)
        self.records.append(record)
        return record

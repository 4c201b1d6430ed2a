"""Results of an export: the rows that were written, and those left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from goldpan.core.result import Block, Line, Result


@dataclass(frozen=True, slots=True)
class ExportResult(Result):
    """The files of an export, and what became of the rows."""

    to: str
    directory: Path
    counts: Mapping[str, int]
    """How many rows were written, by split."""
    left_out: Mapping[str, int]
    """How many rows were left out, by reason."""
    next: str
    """The command or the code that takes it."""

    def plain(self) -> dict[str, Any]:
        """Return what was written as plain data."""
        plain = asdict(self)
        return {"rows": plain.pop("counts"), **plain}

    def blocks(self) -> Iterator[Block]:
        """Yield what was written, and which rows were left out."""
        for split, rows in self.counts.items():
            yield Line(f"{split}: {rows:,} rows")
        for reason, rows in self.left_out.items():
            yield Line(f"left out, {reason}: {rows:,}")
        yield Line(f"Written to {self.directory}")
        yield Line(f"Next: {self.next}")

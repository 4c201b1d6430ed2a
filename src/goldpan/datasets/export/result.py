"""What an export wrote, and which rows it left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ExportResult:
    """The files of an export, and what became of the rows."""

    to: str
    """The form: swe-bench, inspect, lm-eval, harbor, alpaca or chat."""
    directory: Path
    rows: Mapping[str, int]
    """How many rows were written, by split."""
    left_out: Mapping[str, int]
    """How many rows were left out, by reason."""
    next: str
    """The command or the code that takes it."""

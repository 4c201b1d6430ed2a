"""Scores of short, medium and long inputs of finished runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from goldpan.core.result import NOT_IN_JSON, Result
from goldpan.evaluation.runs import Run
from goldpan.evaluation.slices import Third


@dataclass(frozen=True, slots=True)
class LengthScores(Result):
    """The scores of short, medium and long inputs of a run (FAUN-Eval, RQ3)."""

    shown_in_json = ("directory",)

    run: Run = field(metadata=NOT_IN_JSON)
    thirds: Sequence[Third]

    @property
    def directory(self) -> Path:
        """Where the run is stored."""
        return self.run.directory

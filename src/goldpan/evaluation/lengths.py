"""Scores of short, medium and long inputs of finished runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from goldpan.core.result import Result
from goldpan.evaluation.record import RunRecord
from goldpan.evaluation.slices import Third


@dataclass(frozen=True, slots=True)
class LengthScores(Result):
    """The scores of short, medium and long inputs of a run (FAUN-Eval, RQ3)."""

    schema = 2

    run: RunRecord = field(metadata={"json": "{}.directory"})
    thirds: Sequence[Third]

"""Scores of short, medium and long inputs of finished runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from goldpan.core.result import Block, Result, Table
from goldpan.evaluation.runs import Run
from goldpan.evaluation.slices import Third


@dataclass(frozen=True, slots=True)
class LengthScores(Result):
    """The scores of short, medium and long inputs of runs (FAUN-Eval, RQ3)."""

    measured: tuple[tuple[Run, Sequence[Third]], ...]

    def plain(self) -> list[dict[str, Any]]:
        """Return the thirds of each run."""
        return [
            {"directory": str(run.directory), "thirds": [asdict(third) for third in thirds]}
            for run, thirds in self.measured
        ]

    def blocks(self) -> Iterator[Block]:
        """Yield how scores change with the length of the input."""
        cells = []
        for run, thirds in self.measured:
            name = f"{run.task} by {run.model}, seed {run.seed}: {run.scores.main}"
            for index, third in enumerate(thirds):
                value = third.scores.value(third.scores.main)
                cells.append(
                    (
                        "" if index else name,
                        third.name,
                        f"{third.shortest:,} to {third.longest:,}",
                        third.scores.examples,
                        "not defined" if value is None else f"{value:.4f}",
                    )
                )
        yield Table(("run", "inputs", "characters", "examples", "score"), cells)

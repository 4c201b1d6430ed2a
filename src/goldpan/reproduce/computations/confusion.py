"""Metrics of confusion matrices that the paper prints.

Settings: `counts`, by the table's row: right positives, wrong positives, right negatives, wrong
negatives; `metrics`, by the table's column: precision, recall, specificity, accuracy, f1 or
f_BETA such as f_2; `undefined`, what the print shows where a metric divides by zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict

from goldpan.core.errors import UsageError
from goldpan.evaluation.metrics.confusion import BinaryConfusion
from goldpan.reproduce.cells import Outcome
from goldpan.reproduce.context import Context
from goldpan.reproduce.recipe import TableRecipe, Value
from goldpan.reproduce.scores import parsed

_METRICS = ("precision", "recall", "specificity", "accuracy", "f1")


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    counts: Mapping[str, tuple[int, int, int, int]]
    metrics: Mapping[str, str]
    undefined: str = "-"


def compute(context: Context, table: TableRecipe, settings: Mapping[str, Any]) -> Iterator[Outcome]:
    """Yield each metric of each row's counts."""
    chosen = parsed(_Settings, settings)
    for row, counts in chosen.counts.items():
        confusion = BinaryConfusion(*counts)
        for column, metric in chosen.metrics.items():
            value: Value = metric_of(confusion, metric)
            yield Outcome(row, column, chosen.undefined if value is None else value, "recomputed")


def metric_of(confusion: BinaryConfusion, name: str) -> float | None:
    """Return a metric by name, None where it divides by zero; raises `UsageError`."""
    kind, _, beta = name.partition("_")
    if kind == "f" and beta.isdigit():
        return confusion.f_beta(int(beta))
    if name not in _METRICS:
        raise UsageError(
            f"A recipe asks for the metric {name!r}, which counts do not give",
            f"Choose {', '.join(_METRICS)}, or f_2 and the like",
        )
    value: float | None = getattr(confusion, name)
    return value

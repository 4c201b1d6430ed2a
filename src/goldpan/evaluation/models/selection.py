"""Chooses the best of several candidates on the validation split, as SELU does (IV-C)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from goldpan.core.errors import EvaluationError
from goldpan.evaluation.model import Fitted, TrainingContext
from goldpan.evaluation.score import predictions_of, score

FittedT = TypeVar("FittedT", bound=Fitted)


def choose(
    context: TrainingContext,
    problem: str,
    grid: Sequence[tuple[Any, ...]],
    fit: Callable[..., FittedT],
    *,
    keep: Callable[[FittedT], FittedT] = lambda fitted: fitted,
    lowest: bool = False,
) -> FittedT:
    """Return the candidate of `grid` that is best by macro F1, or by 1 - SMAPE for numbers.

    `keep` is called with each candidate that is better than those before it; with `lowest` the
    worst one is taken. Raises `EvaluationError` where the protocol has no validation split;
    `problem` says whose.
    """
    task, validation = context.task, context.validation
    if validation is None:
        raise EvaluationError(
            f"{problem} chosen on a validation split, and this protocol has none",
            "Choose another --protocol",
        )
    metric = "smape_score" if task.type == "regression" else "macro_f1"
    best: tuple[float, FittedT] | None = None
    with context.reporter.task(f"{task.name}: settings", len(grid)) as progress:
        for settings in grid:
            fitted = fit(*settings)
            table = predictions_of(task, validation, fitted.answer(validation))
            value = score(task, table, resamples=0).value(metric)
            ranked = -math.inf if value is None else -value if lowest else value
            if best is None or ranked > best[0]:
                best = ranked, keep(fitted)
            progress.advance()
    assert best is not None
    context.learning.chosen_on, context.learning.candidates = context.validation_name, len(grid)
    return best[1]

"""S8: how much of the scores on train and validation is lost on test."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from goldpan.evaluation.comparison.facts import Part, Skipped, Study
from goldpan.evaluation.comparison.question import ComparisonResult
from goldpan.evaluation.score import ranking_score
from goldpan.evaluation.statistics.drift import degradation, overfitting
from goldpan.report.document import Cell, Content, Table, Text, folded


def drift(compared: ComparisonResult, study: Study) -> tuple[Content, ...]:
    """Show how test scores differ from those on train and validation (S8)."""
    by_task = _by_task(study)
    rows: list[tuple[Cell, ...]] = []
    for system in compared.ranked:
        values = [
            tuple(
                ranking_score(scores).value
                for scores in (run.train_scores, run.validation_scores, run.scores)
            )
            for run in system.every()
        ]
        train, validation, test = (_average(side) for side in zip(*values, strict=True))
        rows.append(
            (system.name, train, validation, test, _less(test, train), _less(test, validation))
        )
    columns = (
        "model",
        "on train",
        "on validation",
        "on test",
        "overfitting: test - train",
        "degradation: test - validation",
    )
    note = (
        "Means over runs. A model that scores far higher on what it learned from has learned it"
        " by heart to that degree; train is a sample of at most 5,000 rows. Validation is what"
        " settings were chosen on: of models that were chosen by folds, the rows left out."
    )
    title = "Overfitting and degradation by model"
    return (Table(title, columns, tuple(rows), note), *by_task)


def _by_task(study: Study) -> list[Content]:
    """Return overfitting and degradation of each task, or what is not known of them."""
    scores: dict[tuple[str, str], dict[Part, list[float]]] = defaultdict(lambda: defaultdict(list))
    for result in sorted(
        study.results, key=lambda result: (result.task, result.model, result.seed)
    ):
        if study.metric in result.metrics:
            scores[result.task, result.model][result.part].append(result.metrics[study.metric])
    over: list[tuple[Cell, ...]] = []
    down: list[tuple[Cell, ...]] = []
    for (task, model), parts in scores.items():
        if not parts["test"]:
            continue
        # Seeds are no further data sets: their mean is one score.
        test = [_mean(parts["test"])]
        if parts["train"]:
            fit = overfitting(_mean(parts["train"]), test)
            over.append((task, model, fit.mean, fit.sd, fit.test_sets))
        if parts["validation"]:
            loss = degradation([_mean(parts["validation"])], test)
            down.append(
                (
                    task,
                    model,
                    loss.difference,
                    loss.test,
                    loss.p,
                    loss.eta_squared,
                    loss.eta_magnitude,
                    loss.cohen_d,
                    loss.d_magnitude,
                )
            )
    if not over and not down:
        raise Skipped(f"No model has a {study.metric} on test and on training or validation data")
    content: list[Content] = []
    unknown: list[Content] = []
    if over:
        columns: tuple[str, ...] = ("task", "model", "mean", "sd", "test sets")
        content.append(folded(Table("Overfitting (test - training)", columns, tuple(over))))
    else:
        unknown.append(Text("Overfitting is unknown: no model was scored on its training data."))
    if down:
        columns = ("task", "model", "difference", "test", "p", "eta²", "is", "Cohen's d", "is")
        content.append(folded(Table("Degradation (test - validation)", columns, tuple(down))))
    else:
        unknown.append(Text("Degradation is unknown: no model was scored on validation data."))
    return [*content, *unknown]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _average(values: Sequence[float | None]) -> float | None:
    """Return the mean where every run has a value: over others it could not be compared."""
    present = [value for value in values if value is not None]
    return math.fsum(present) / len(present) if len(present) == len(values) else None


def _less(left: float | None, other: float | None) -> float | None:
    return None if left is None or other is None else left - other

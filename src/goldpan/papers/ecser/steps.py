"""ECSER's steps in the report on a comparison: what each found, its counts, losses and curves."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean
from typing import Any

import numpy as np

from goldpan.papers.ecser.counts import pool
from goldpan.plugins import data
from goldpan.plugins.evaluation import (
    Cell,
    ComparisonResult,
    Confusion,
    Content,
    Fold,
    Picture,
    ReportSection,
    ReportTable,
    RunRecord,
    Section,
    System,
    canvas,
    listed,
    ranking_score,
)

_MOST_CURVED = 4
"""Tasks, and models of each, whose curves are drawn."""
_TITLES = (
    "Select an evaluation method and split the data",
    "Train the model",
    "Tune hyper-parameters and validate",
    "Re-train with optimized parameters",
    "Test the model",
    "Report the confusion matrix",
    "Report metrics",
    "Analyze overfitting and degradation",
    "Visualize ROC",
    "Apply statistical significance tests",
)


def steps_section(compared: ComparisonResult) -> Section | None:
    """Return the ten steps (Figure 1), then what S6, S8 and S9 show of classification."""
    counts = [row for system in compared.ranked for row in _counts(system)]
    if not counts:
        return None
    drawn = tuple(_curves(compared))
    states = _states(compared, curves=bool(drawn))
    steps = tuple((f"S{n}", *row) for n, row in enumerate(zip(_TITLES, states, strict=True), 1))
    columns = ("model", "task", "label", "TP", "FP", "TN", "FN")
    content: list[Content] = [
        Fold("The ten steps", (ReportTable("", ("step", "what", "here"), steps),)),
        Fold(
            "S6: counts of each label, over seeds", (ReportTable("", columns, tuple(counts[:400])),)
        ),
        Fold("S8: overfitting and degradation", (_drift(compared),)),
    ]
    if drawn:
        content.append(Fold("S9: ROC and precision-recall", drawn))
    note = "Dell'Anna, Aydemir and Dalpiaz, Evaluating classifiers in SE research, 2023."
    return Section("ecser", "The steps of ECSER", tuple(content), note)


def _states(compared: ComparisonResult, *, curves: bool) -> Iterator[str]:
    runs = compared.runs
    chosen = sorted({run.learning.chosen_on for run in runs} - {""})
    again = any(run.learning.from_all and run.learning.chosen_on for run in runs)
    trained = any(run.learned_from.train for run in runs)
    valid = sum(run.scores.examples - run.scores.invalid for run in runs)
    yield listed(sorted({run.split or "split not known" for run in runs}))
    yield "on train" if trained else "skipped: all are prompted or follow fixed rules"
    yield f"on {listed(chosen)}" if chosen else "skipped: settings were fixed beforehand"
    yield (
        "on train and validation together" if again else "skipped: the validated models are tested"
    )
    yield f"{valid:,} valid answers of {sum(run.scores.examples for run in runs):,}"
    yield "below"
    yield "under Scores"
    yield "below"
    yield "below" if curves else "skipped: no model gives scores"
    text = compared.comparison
    yield f"skipped: {text}" if isinstance(text, str) else "under Every pair"


def _counts(system: System) -> Iterator[tuple[Cell, ...]]:
    for task, runs in sorted(system.runs.items()):
        for at, label in enumerate(runs[0].labels):
            # An answer that is not valid does not give the label to an example without it.
            counts = pool(
                Confusion(own.tp, own.fp, own.tn + own.invalid, own.fn)
                for own in (run.scores.label_confusions[at] for run in runs)
            )
            yield system.name, task, label, counts.tp, counts.fp, counts.tn, counts.fn


def _drift(compared: ComparisonResult) -> ReportTable:
    rows = []
    for system in compared.ranked:
        for task, runs in sorted(system.runs.items()):
            train, validation, test = (
                _mean([ranking_score(getattr(run, part)).value for run in runs])
                for part in ("train_scores", "validation_scores", "scores")
            )
            over, down = (
                None if before is None or test is None else test - before
                for before in (train, validation)
            )
            rows.append((system.name, task, train, validation, test, over, down))
    columns = ("model", "task", "train", "validation", "test", "test - train", "test - validation")
    return ReportTable(
        "", columns, tuple(rows), "Means over seeds, which are no further data sets."
    )


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if len(known) == len(values) else None


def _curves(compared: ComparisonResult) -> Iterator[Content]:
    for task in compared.tasks[:_MOST_CURVED]:
        scored = []
        for system in compared.ranked_on(task)[:_MOST_CURVED]:
            run = system.runs[task][0]
            if run.labels and (pair := _label_scores(run)):
                scored.append((system.name, *pair))
        if scored:
            first = compared.first_run(task).labels[0]
            yield Picture(f"ROC and precision-recall of {first}, {task}", _draw(scored))


def _label_scores(run: RunRecord) -> tuple[Any, Any] | None:
    """Return which rows have the first label and their scores for it; None without both kinds."""
    table = run.predictions()
    scores = table["scores"].to_pylist()
    truth = np.array(
        [
            run.labels[0] in ([value] if isinstance(value, str) else value)
            for value in table["truth"].to_pylist()
        ]
    )
    if None in scores or truth.all() or not truth.any():
        return None
    return truth, np.array([row[0] for row in scores])


def _draw(scored: list[tuple[str, Any, Any]]) -> str:
    metrics = data.load("sklearn.metrics", "Drawing curves of chances")
    with canvas(11, 4.8) as plot:
        left, right = plot.figure.subplots(1, 2)
        for name, truth, scores in scored:
            metrics.RocCurveDisplay.from_predictions(truth, scores, name=name[:32], ax=left)
            metrics.PrecisionRecallDisplay.from_predictions(truth, scores, name=name[:32], ax=right)
    return plot.svg


SECTION = ReportSection("ecser", steps_section)

"""ECSER's steps S6 to S10: what came out, and what it is worth."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from goldpan.evaluation.statistics.comparison import Comparison
from goldpan.evaluation.statistics.curves import Counts, points, thinned
from goldpan.evaluation.statistics.drift import degradation, overfitting
from goldpan.evaluation.statistics.plots import (
    critical_difference_plot,
    interval_plot,
    posterior_plot,
    pr_plot,
    roc_plot,
)
from goldpan.evaluation.statistics.step_shapes import (
    Cell,
    Content,
    Figure,
    Skipped,
    Table,
    Text,
)
from goldpan.evaluation.statistics.study import Part, Result, Study

_PARTS: tuple[Part, ...] = ("train", "validation", "test")


def confusion_step(study: Study) -> tuple[Content, ...]:
    """Add up the confusion matrices of each model and part, one label against the rest (S6)."""
    if study.examples != "classification":
        raise Skipped("Only classification has confusion matrices")
    summed: dict[tuple[str, str, Part, str], Counts] = {}
    for one in study.results:
        for label, counts in one.counts.items():
            key = (one.task, one.model, one.part, label)
            summed[key] = summed.get(key, Counts(0, 0, 0, 0)) + counts
    if not summed:
        raise Skipped("No run has confusion matrices")
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (task, part, model, label, one.tp, one.fp, one.tn, one.fn)
        for (task, model, part, label), one in sorted(
            summed.items(), key=lambda item: (item[0][0], _PARTS.index(item[0][2]), item[0])
        )
    )
    columns = ("task", "part", "model", "label", "TP", "FP", "TN", "FN")
    title = "Confusion matrices, summed over data sets, folds and seeds"
    return (Table(title, columns, rows),)


def metrics_step(study: Study) -> tuple[Content, ...]:
    """Report every metric of every model and part, with its spread (S7)."""
    names = sorted({name for one in study.results for name in one.metrics})
    if not names:
        raise Skipped("No run has metrics")
    names.sort(key=lambda name: name != study.metric)
    grouped = _grouped(study)
    rows: list[tuple[Cell, ...]] = []
    for (task, model, part), results in grouped.items():
        for name in names:
            values = [one.metrics[name] for one in results if name in one.metrics]
            if values:
                sd = float(np.std(values, ddof=1)) if len(values) > 1 else None
                rows.append((task, part, model, name, float(np.mean(values)), sd, len(values)))
    columns = ("task", "part", "model", "metric", "mean", "sd", "scores")
    return (Table("Metrics over data sets, folds and seeds", columns, tuple(rows)),)


def drift_step(study: Study) -> tuple[Content, ...]:
    """Compare the metric that ranks between parts (S8)."""
    grouped = _grouped(study)
    over: list[tuple[Cell, ...]] = []
    down: list[tuple[Cell, ...]] = []
    for task, model in dict.fromkeys((task, model) for task, model, _ in grouped):
        scores = {part: _scores(grouped.get((task, model, part), []), study) for part in _PARTS}
        if not scores["test"]:
            continue
        if scores["train"]:
            fit = overfitting(float(np.mean(scores["train"])), scores["test"])
            over.append((task, model, fit.mean, fit.sd, fit.test_sets))
        if scores["validation"]:
            found = degradation(scores["validation"], scores["test"])
            down.append(
                (
                    task,
                    model,
                    found.difference,
                    found.test,
                    found.p,
                    found.eta_squared,
                    found.eta_magnitude,
                    found.cohen_d,
                    found.d_magnitude,
                )
            )
    content: list[Content] = []
    if over:
        columns: tuple[str, ...] = ("task", "model", "mean", "sd", "test sets")
        content.append(Table("Overfitting (test - training)", columns, tuple(over)))
    else:
        content.append(Text("Overfitting is unknown: no model was scored on its training data"))
    if down:
        columns = ("task", "model", "difference", "test", "p", "eta²", "is", "Cohen's d", "is")
        content.append(Table("Degradation (test - validation)", columns, tuple(down)))
    else:
        content.append(Text("Degradation is unknown: no model was scored on validation data"))
    if not over and not down:
        raise Skipped(f"No model has a {study.metric} on test and on training or validation data")
    return tuple(content)


def curves_step(study: Study) -> tuple[Content, ...]:
    """Draw ROC points a data set, and curves where models give scores (S9)."""
    if study.examples != "classification":
        raise Skipped("Only classification has ROC and precision-recall plots")
    counts: dict[tuple[str, str, str], dict[str, Counts]] = defaultdict(dict)
    for one in study.results:
        if one.part == "test":
            for label, found in one.counts.items():
                sets = counts[one.task, label, one.model]
                name = one.dataset or one.task
                sets[name] = sets.get(name, Counts(0, 0, 0, 0)) + found
    if not counts and not study.roc:
        raise Skipped("No run has confusion matrices or scores on test data")
    content: list[Content] = []
    for task, label in sorted({(task, label) for task, label, _ in counts}):
        found_points = tuple(
            point
            for key in sorted(counts)
            if key[:2] == (task, label)
            for point in points(key[2], counts[key])
        )
        caption = "Each mark is a model on a data set; the best corner is top left in ROC"
        for title, draw in (("ROC", roc_plot), ("Precision and recall", pr_plot)):
            content.append(Figure(f"{title}: {task}, {label}", caption, draw(found_points, ())))
    for title, draw, curves in (
        ("ROC curves", roc_plot, study.roc),
        ("Precision-recall curves", pr_plot, study.pr),
    ):
        if curves:
            shown = tuple(thinned(curve) for curve in curves)
            content.append(Figure(title, "Every threshold of the scores", draw((), shown)))
    return tuple(content)


def significance_step(comparison: Comparison | str) -> tuple[Content, ...]:
    """Say which models differ, by which test (S10)."""
    if isinstance(comparison, str):
        raise Skipped(comparison)
    if comparison.test.name == "none":
        raise Skipped(comparison.test.why)
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            str(one.best) if one.best == one.worst else f"{one.best}-{one.worst}",
            one.tier,
            one.model,
            one.mean,
            one.sd,
            one.low,
            one.high,
            one.effect,
            one.magnitude,
        )
        for one in comparison.standings
    )
    columns = ("place", "tier", "model", "mean", "sd", "low", "high", "effect", "is")
    content: list[Content] = [
        Text(f"{comparison.test.name}: {comparison.test.why}"),
        Table(f"Ranking by {comparison.central} {comparison.metric}", columns, rows),
    ]
    if comparison.test.omnibus:
        p = comparison.test.omnibus_p
        content.insert(1, Text(f"Omnibus test: {comparison.test.omnibus}, p = {p:.3g}"))
    title = f"{comparison.metric} of each model"
    content.append(
        Figure(title, "Mean and confidence interval, a colour a tier", interval_plot(comparison))
    )
    if comparison.test.critical_difference is not None:
        caption = "Models that a bar joins are not told apart"
        content.append(
            Figure("Critical differences", caption, critical_difference_plot(comparison))
        )
    if comparison.test.approach == "bayesian":
        caption = "How probable it is that the model of a row is better, and what is decided"
        content.append(Figure("Posterior probabilities", caption, posterior_plot(comparison)))
    content += [Text(note) for note in comparison.notes]
    return tuple(content)


def _grouped(study: Study) -> dict[tuple[str, str, Part], list[Result]]:
    grouped: dict[tuple[str, str, Part], list[Result]] = defaultdict(list)
    for one in study.results:
        grouped[one.task, one.model, one.part].append(one)
    order = sorted(grouped, key=lambda key: (key[0], key[1], _PARTS.index(key[2])))
    return {key: sorted(grouped[key], key=lambda one: (one.seed, one.dataset)) for key in order}


def _scores(results: list[Result], study: Study) -> list[float]:
    """Return a score a data set or fold, the mean over seeds: seeds are no further data."""
    found: dict[str, list[float]] = defaultdict(list)
    for one in results:
        if study.metric in one.metrics:
            found[one.dataset].append(one.metrics[study.metric])
    return [sum(values) / len(values) for _, values in sorted(found.items())]

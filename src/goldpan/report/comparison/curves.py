"""S9: ROC and precision-recall, a figure a task and label."""

from __future__ import annotations

from collections.abc import Sequence

from goldpan.datasets.task import CLASSIFICATION
from goldpan.evaluation.comparison.facts import Skipped, positive_counts
from goldpan.evaluation.comparison.question import ComparisonResult, System
from goldpan.evaluation.metrics.curves import (
    Curve,
    Point,
    label_scores,
    points,
    pr_curve,
    roc_curve,
    thinned,
)
from goldpan.evaluation.metrics.estimate import Scores
from goldpan.evaluation.runs import Run
from goldpan.evaluation.statistics.scores import StatisticsError
from goldpan.report.comparison.plots import pr_plot, roc_plot
from goldpan.report.document import Content, Figure, Fold, Remark, SideBySide

MOST_PLOTS = 40
"""Pairs of figures in all."""
_MOST_LABELS = 6
_MOST_MODELS = 8
"""As many as there are colors."""
_MOST_POINTS = 150
_OPEN = 2


def curves(compared: ComparisonResult) -> tuple[Content, ...]:
    """Fill the step; raises `Skipped` where no task is a classification."""
    tasks = [task for task in compared.tasks if _classifies(compared, task)]
    if not tasks:
        raise Skipped("Only classification has ROC and precision-recall plots")
    content: list[Content] = [Remark(_note(compared))]
    count = 0
    for at, task in enumerate(tasks):
        systems = [system for system in compared.ranked if task in system.runs][:_MOST_MODELS]
        labels = _labels(systems[0].runs[task][0].scores)
        if count + len(labels) > MOST_PLOTS and count:
            content.append(
                Remark(f"{len(tasks) - at:,} more tasks are not drawn; compare fewer to see them.")
            )
            break
        figures = tuple(figure for label in labels for figure in _figures(systems, task, label))
        content.append(Fold(task, (SideBySide(figures),), open=at < _OPEN))
        count += len(labels)
    return tuple(content)


def _figures(systems: Sequence[System], task: str, label: str) -> tuple[Figure, Figure]:
    roc: list[Curve] = []
    pr: list[Curve] = []
    marks: list[Point] = []
    for system in systems:
        run = system.runs[task][0]
        pair = _curves(system, run, label)
        if pair:
            roc.append(pair[0])
            pr.append(pair[1])
        counts = positive_counts(run.scores).get(label)
        if counts is not None:
            marks += points(system.name, {"": counts})
    caption = f"{label}, against the rest. A line: every threshold; a mark: the model's answers."
    return (
        Figure(f"ROC: {task}, {label}", caption, roc_plot(marks, roc)),
        Figure(f"Precision and recall: {task}, {label}", caption, pr_plot(marks, pr)),
    )


def _curves(system: System, run: Run, label: str) -> tuple[Curve, Curve] | None:
    """Return both curves, None where the model gives no scores or the label has no examples."""
    labels = [confusion.label for confusion in run.scores.label_confusions]
    try:
        scored = label_scores(run.predictions(), labels, label)
        if scored is None:
            return None
        pair = roc_curve(system.name, "area", *scored), pr_curve(system.name, "area", *scored)
    except StatisticsError:
        return None
    return thinned(pair[0], _MOST_POINTS), thinned(pair[1], _MOST_POINTS)


def _labels(scores: Scores) -> list[str]:
    """Return the labels to draw: of a binary task the positive, else the most frequent."""
    counts = positive_counts(scores)
    ordered = sorted(counts, key=lambda label: (-counts[label].tp - counts[label].fn, label))
    return ordered[:_MOST_LABELS]


def _classifies(compared: ComparisonResult, task: str) -> bool:
    runs = next(system.runs[task] for system in compared.systems if task in system.runs)
    return runs[0].scores.task_type in CLASSIFICATION


def _note(compared: ComparisonResult) -> str:
    note = (
        "ROC: the share of the label's examples that are found, over the share of others that are"
        " taken for it; the best corner is top left, the dashed line is a guess. Precision and"
        " recall: the best corner is top right. Areas stand in the legend. Of several seeds the"
        " lowest is drawn."
    )
    if len(compared.systems) > _MOST_MODELS:
        note += f" The first {_MOST_MODELS} models that ran a task are drawn."
    return note

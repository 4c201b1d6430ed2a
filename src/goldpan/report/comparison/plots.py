"""Figures of comparisons as SVG, and step 9 of ECSER: ROC and precision-recall."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from goldpan.datasets.tasks.task import CLASSIFICATION
from goldpan.evaluation.comparison.facts import Skipped, positive_counts
from goldpan.evaluation.comparison.question import ComparisonResult, System
from goldpan.evaluation.metrics.curves import (
    POOLED,
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
from goldpan.evaluation.statistics.comparison import ComparedPair, Comparison, Decision
from goldpan.evaluation.statistics.scores import StatisticsError
from goldpan.report.comparison.summary import decision_words, rank_range
from goldpan.report.document import Content, Figure, Fold, Remark, SideBySide
from goldpan.report.plots import COLORS, GOLD, INK, PALE, SOFT, canvas, colors, short_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing


_MOST_LABELS = 24
_LEGEND = 2.9
"""Inches that the longest line of a legend takes."""
_MOST_TICKS = 16
_SHADES: dict[Decision, str] = {
    "better": "#3f8fc5",
    "worse": "#d55e00",
    "equal": "#8d867a",
    "undecided": "#f1e3c2",
    "untested": "#ffffff",
}


def interval_plot(comparison: Comparison) -> str:
    """Draw each model's mean or median with its confidence interval, a color for each tier."""
    standings = comparison.standings
    with canvas(8, 0.32 * len(standings) + 1.2) as plot:
        axes = plot.figure.subplots()
        for row, standing in enumerate(standings):
            color = COLORS[(standing.tier - 1) % len(COLORS)]
            if standing.low is not None and standing.high is not None:
                axes.plot([standing.low, standing.high], [row, row], color=color, lw=2, alpha=0.6)
            middle = standing.median if comparison.by_median else standing.mean
            axes.plot(middle, row, "o", color=color, ms=6)
            rank = rank_range(standing)
            axes.text(
                1.02, row, rank, transform=axes.get_yaxis_transform(), va="center", color=SOFT
            )
        axes.set_yticks(
            range(len(standings)), [short_name(standing.model) for standing in standings], color=INK
        )
        transform = axes.get_yaxis_transform()
        axes.text(1.02, -0.8, "place", transform=transform, color=SOFT, fontsize=8)
        axes.set_ylim(len(standings) - 0.5, -0.5)
        axes.grid(axis="x", color=PALE, lw=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel(short_name(comparison.metric))
        for row, (standing, below) in enumerate(pairwise(standings)):
            if standing.tier != below.tier:
                axes.axhline(row + 0.5, color=SOFT, lw=0.6, ls=(0, (4, 3)))
    return plot.svg


def critical_difference_plot(comparison: Comparison) -> str:
    """Draw mean ranks on a line; bars join models that Nemenyi's test does not tell apart."""
    difference = comparison.test.critical_difference
    assert difference is not None
    standings = sorted(
        comparison.standings, key=lambda standing: (standing.mean_rank, standing.model)
    )
    count = len(standings)
    bars = [(0, count - 1)]
    if (comparison.test.omnibus_p or 0.0) < comparison.test.alpha:
        bars = _bars([standing.mean_rank for standing in standings], difference)
    half = math.ceil(count / 2)
    top = 0.8 + 0.35 * len(bars)
    with canvas(9, 0.3 * (half + top) + 1.4) as plot:
        axes = plot.figure.subplots()
        axes.set_xlim(0.5 - 0.48 * count, count + 0.5 + 0.48 * count)
        axes.set_ylim(half + top, -2.4)
        axes.axis("off")
        axes.plot([1, count], [0, 0], color=SOFT, lw=1)
        for rank in range(1, count + 1, 1 + count // _MOST_TICKS):
            axes.plot([rank, rank], [-0.25, 0], color=SOFT, lw=0.8)
            axes.text(rank, -0.35, str(rank), ha="center", va="bottom", color=SOFT, fontsize=8)
        axes.plot([1, 1 + difference], [-1.7, -1.7], color=GOLD, lw=2)
        axes.text(1, -1.85, f"critical difference {difference:.2f}", color=GOLD, va="bottom")
        for level, (first, last) in enumerate(bars):
            ends = [standings[first].mean_rank - 0.08, standings[last].mean_rank + 0.08]
            axes.plot(ends, [0.5 + 0.35 * level] * 2, color=INK, lw=3, solid_capstyle="round")
        for at, standing in enumerate(standings):
            left = at < half
            row = top + (at if left else count - 1 - at)
            edge = 0.7 if left else count + 0.3
            axes.plot(
                [standing.mean_rank, standing.mean_rank, edge], [0, row, row], color=SOFT, lw=0.7
            )
            axes.text(
                edge + (-0.1 if left else 0.1),
                row,
                f"{short_name(standing.model)} ({standing.mean_rank:.2f})",
                ha="right" if left else "left",
                va="center",
            )
    return plot.svg


def posterior_plot(comparison: Comparison) -> str:
    """Draw for each pair how probably the row is better, and the decision (SELU, Figure 5)."""
    size = 0.34 * len(comparison.models) + 2.2
    with canvas(2 * size, size + 0.4) as plot:
        left, right = plot.figure.subplots(1, 2)
        _grid(left, comparison.models, "P(row is better than column)")
        _grid(right, comparison.models, "Decision", rows_named=False)
        rows = {model: at for at, model in enumerate(comparison.models)}
        for pair in comparison.pairs:
            row, column = rows[pair.first], rows[pair.second]
            share = pair.posterior.better if pair.posterior else 0.0
            _cell(left, row, column, "#0072b2", alpha=0.75 * share)
            dark = "white" if share > 0.85 else INK
            left.text(column, row, f"{share:.2f}", ha="center", va="center", fontsize=6, color=dark)
            _decided(right, row, column, pair)
        _legend(plot.figure, comparison)
    return plot.svg


def decision_plot(comparison: Comparison) -> str:
    """Draw the decision on each pair by any test."""
    size = 0.34 * len(comparison.models) + 3.2
    with canvas(max(size, _LEGEND), size + 0.6) as plot:
        axes = plot.figure.subplots()
        _grid(axes, comparison.models, "Decision")
        rows = {model: at for at, model in enumerate(comparison.models)}
        for pair in comparison.pairs:
            _decided(axes, rows[pair.first], rows[pair.second], pair)
        _legend(plot.figure, comparison)
    return plot.svg


def roc_plot(points: Sequence[Point], curves: Sequence[Curve]) -> str:
    """Draw models in ROC space: marks of data sets, lines of curves (ECSER, Figures 3 to 6)."""
    marks = [
        (point, point.false_positive_rate, point.recall)
        for point in points
        if point.false_positive_rate is not None and point.recall is not None
    ]
    return _space(marks, curves, ("False positive rate", "True positive rate"), diagonal=True)


def pr_plot(points: Sequence[Point], curves: Sequence[Curve]) -> str:
    """Draw models in precision-recall space, the better view where positives are few."""
    marks = [
        (point, point.recall, point.precision)
        for point in points
        if point.recall is not None and point.precision is not None
    ]
    return _space(marks, curves, ("Recall", "Precision"), diagonal=False)


def _space(
    points: Sequence[tuple[Point, float, float]],
    curves: Sequence[Curve],
    axis_names: tuple[str, str],
    *,
    diagonal: bool,
) -> str:
    models = sorted({point.model for point, _, _ in points} | {curve.model for curve in curves})
    look = colors(models)
    with canvas(7.6, 5.6) as plot:
        axes = plot.figure.subplots()
        if diagonal:
            axes.plot([0, 1], [0, 1], color=SOFT, lw=0.8, ls=(0, (4, 3)))
        else:
            for base in sorted({round(curve.base, 6) for curve in curves})[:_MOST_LABELS]:
                axes.axhline(base, color=SOFT, lw=0.6, ls=(0, (4, 3)))
        for curve in curves:
            axes.plot(
                curve.x,
                curve.y,
                color=look[curve.model][0],
                lw=1.4,
                drawstyle="default" if diagonal else "steps-pre",
                label=f"{short_name(curve.model)}, {short_name(curve.dataset)}: {curve.area:.3f}",
            )
        named = {curve.model for curve in curves}
        for point, x, y in points:
            color, mark = look[point.model]
            pooled = point.dataset == POOLED
            axes.plot(
                x,
                y,
                mark,
                color=color,
                ms=10 if pooled else 6,
                mfc="white" if pooled else color,
                mew=1.6,
                alpha=0.9,
                ls="",
                label=None if point.model in named else short_name(point.model),
            )
            named.add(point.model)
            if len(points) <= _MOST_LABELS:
                axes.annotate(
                    short_name(point.dataset),
                    (x, y),
                    xytext=(6, 3),
                    textcoords="offset points",
                    fontsize=7,
                    color=SOFT,
                )
        axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel=axis_names[0], ylabel=axis_names[1])
        # In the middle, its label would be laid out beyond the edge.
        axes.set_aspect("equal", anchor="W")
        axes.grid(color=PALE, lw=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        if named:
            plot.figure.legend(loc="outside right upper", frameon=False, fontsize=8)
    return plot.svg


def _bars(ranks: Sequence[float], difference: float) -> list[tuple[int, int]]:
    """Return the longest runs of models whose mean ranks lie within the difference."""
    bars: list[tuple[int, int]] = []
    for first, rank in enumerate(ranks):
        last = max(at for at, other in enumerate(ranks) if other - rank < difference)
        if last > first and (not bars or last > bars[-1][1]):
            bars.append((first, last))
    return bars


def _grid(axes: Axes, models: Sequence[str], title: str, *, rows_named: bool = True) -> None:
    names = [short_name(model) for model in models]
    axes.set_xlim(0.5, len(models) - 0.5)
    axes.set_ylim(len(models) - 1.5, -0.5)
    axes.set_xticks(
        range(1, len(models)), names[1:], rotation=60, ha="left", rotation_mode="anchor", fontsize=8
    )
    axes.set_yticks(range(len(models) - 1), names[:-1] if rows_named else [], fontsize=8)
    axes.tick_params(length=0, labeltop=True, labelbottom=False, labelcolor=INK)
    axes.spines[:].set_visible(False)
    axes.set_aspect("equal", anchor="NW")
    axes.set_title(title, loc="left", color=SOFT, fontsize=11, pad=8)


def _cell(axes: Axes, row: int, column: int, color: str, alpha: float = 1.0) -> None:
    from matplotlib.patches import Rectangle

    axes.add_patch(
        Rectangle(
            (column - 0.5, row - 0.5), 1, 1, facecolor=(color, alpha), edgecolor="white", lw=1
        )
    )


def _decided(axes: Axes, row: int, column: int, pair: ComparedPair) -> None:
    _cell(axes, row, column, _SHADES[pair.decision])
    if pair.fragile:
        axes.plot(column, row, "o", color=INK, ms=3)


def _legend(figure: Drawing, comparison: Comparison) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    pairs, words = comparison.pairs, decision_words(comparison.test)
    means = {
        **words,
        "better": f"row is {words['better']}",
        "worse": f"column is {words['better']}",
    }
    decisions = [pair.decision for pair in pairs]
    handles: list[Patch | Line2D] = [
        Patch(facecolor=shade, edgecolor=SOFT, label=f"{means[kind]} ({decisions.count(kind)})")
        for kind, shade in _SHADES.items()
        if kind in decisions
    ]
    if any(pair.fragile for pair in pairs):
        label = "another seed could decide otherwise"
        handles.append(Line2D([], [], color=INK, marker="o", ms=3, ls="", label=label))
    columns = max(1, int(figure.get_figwidth() / _LEGEND))
    figure.legend(
        handles=handles, loc="outside lower left", frameon=False, fontsize=9, ncols=columns
    )


MOST_PLOTS = 40
"""Pairs of figures in all."""
_MOST_CURVED = 6
_MOST_MODELS = 8
"""As many as there are colors."""
_MOST_POINTS = 150
_OPEN = 2


def curves(compared: ComparisonResult) -> tuple[Content, ...]:
    """Return the figures of each task (S9); raises `Skipped` where none is a classification."""
    tasks = [
        task
        for task in compared.tasks
        if compared.first_run(task).scores.task_type in CLASSIFICATION
    ]
    if not tasks:
        raise Skipped("Only classification has ROC and precision-recall plots")
    content: list[Content] = [Remark(_note(compared))]
    count = 0
    for at, task in enumerate(tasks):
        systems = compared.ranked_on(task)[:_MOST_MODELS]
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
    pairs: list[tuple[Curve, Curve]] = []
    marks: list[Point] = []
    for system in systems:
        run = system.runs[task][0]
        if pair := _curves(system, run, label):
            pairs.append(pair)
        if counts := positive_counts(run.scores).get(label):
            marks += points(system.name, {"": counts})
    roc, pr = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
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
    return ordered[:_MOST_CURVED]


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

"""Costs of models beside their scores, and the issues that their patches resolve."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from goldpan.core.proportions import wilson
from goldpan.evaluation.comparison.question import ComparisonResult, System, mean_score
from goldpan.evaluation.model import Costs
from goldpan.evaluation.resolved import (
    RESOLVED,
    StoredResolved,
    read_resolved,
    separation,
    similarity,
)
from goldpan.evaluation.statistics.scores import as_decimal
from goldpan.report.document import (
    Cell,
    Content,
    Figure,
    Remark,
    ReportTable,
    Section,
    cut,
    listed,
    seconds,
)
from goldpan.report.plot_style import INK, PALE, SOFT, canvas, colors, name

_MOST_DRAWN = 24
_MEASURES: Sequence[tuple[str, str, float]] = (
    ("money", "money", 1.0),
    ("gpu_seconds", "GPU hours", 1 / 3600),
    ("wall_seconds", "seconds", 1.0),
)
"""Costs for a figure, which shows the first that every model has. Wall time is known of all."""


@dataclass(frozen=True, slots=True)
class _Bought:
    system: System
    cost: float
    score: float


def costs_section(compared: ComparisonResult) -> Section:
    """Return costs of all models, and cost against score."""
    rows = tuple(_row(compared, system) for system in compared.ranked)
    columns = (
        "model",
        f"mean {compared.metric}",
        "wall time",
        "CPU time",
        "GPU hours",
        "input tokens",
        "output tokens",
        "money",
    )
    shown = [
        at for at in range(len(columns)) if at < 4 or any(row[at] not in (0, 0.0) for row in rows)
    ]
    note = (
        "Training and testing once on every task of the model, the mean over seeds. Times are of"
        " the machines named below and may come from different ones."
    )
    table = ReportTable("Costs", columns, rows, note).only(shown)
    return Section("cost", "Cost against score", (table, *_drawn(compared)))


def _drawn(compared: ComparisonResult) -> tuple[Content, ...]:
    ranked = [system for system in compared.ranked if system.name in compared.block.models]
    for key, unit, factor in _MEASURES:
        bought = [
            _Bought(system, cost, score)
            for system in ranked
            if (cost := factor * _sum(compared, system, key)) > 0
            and (score := _mean(compared, system)) is not None
        ]
        if len(bought) == len(ranked) and len(bought) > 1:
            best = _undominated(bought)
            shown = bought[:_MOST_DRAWN]
            caption = (
                f"Mean score over {unit} on the ranked tasks, on a logarithmic scale. No cheaper"
                f" model scores higher than {listed([point.system.name for point in best])}."
            )
            figure = Figure(
                f"Score over {unit}", caption, _plot(compared.metric, unit, shown, best)
            )
            if len(shown) == len(bought):
                return (figure,)
            return (figure, Remark(f"The first {_MOST_DRAWN} models are drawn."))
    return ()


def _plot(metric: str, unit: str, bought: Sequence[_Bought], best: Sequence[_Bought]) -> str:
    look = colors([point.system.name for point in bought])
    with canvas(8, max(4.2, 0.24 * len(bought) + 1)) as plot:
        axes = plot.figure.subplots()
        axes.set_xscale("log")
        line = [point for point in best if point in bought]
        axes.step(
            [point.cost for point in line],
            [point.score for point in line],
            where="post",
            color=SOFT,
            lw=0.8,
            ls=(0, (4, 3)),
        )
        for point in bought:
            color, mark = look[point.system.name]
            label = name(point.system.name)
            axes.plot(point.cost, point.score, mark, color=color, ms=8, ls="", label=label)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.xaxis.set_minor_formatter("")
        axes.margins(x=0.08, y=0.1)
        axes.grid(color=PALE, lw=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_xlabel(unit)
        axes.set_ylabel(f"mean {name(metric)}", color=INK)
        plot.figure.legend(loc="outside right upper", frameon=False, fontsize=8)
    return plot.svg


def _undominated(bought: Sequence[_Bought]) -> list[_Bought]:
    """Return what no cheaper model beats, from the cheapest on."""
    best: list[_Bought] = []
    for point in sorted(
        bought,
        key=lambda bought_point: (bought_point.cost, -bought_point.score, bought_point.system.name),
    ):
        if not best or as_decimal(point.score) > as_decimal(best[-1].score):
            best.append(point)
    return best


def _row(compared: ComparisonResult, system: System) -> tuple[Cell, ...]:
    def every(key: str) -> float:
        return _over(system, list(system.runs), lambda costs: float(getattr(costs, key)))

    return (
        system.name,
        _mean(compared, system),
        seconds(every("wall_seconds")),
        seconds(every("cpu_seconds")),
        every("gpu_seconds") / 3600,
        round(every("input_tokens")),
        round(every("output_tokens")),
        every("money"),
    )


def _mean(compared: ComparisonResult, system: System) -> float | None:
    tasks = compared.block.tasks if system.name in compared.block.models else tuple(system.runs)
    means = [mean for task in tasks if (mean := mean_score(system, task)) is not None]
    return fmean(means) if means else None


def _sum(compared: ComparisonResult, system: System, key: str) -> float:
    return _over(system, compared.block.tasks, lambda costs: float(getattr(costs, key)))


def _over(system: System, tasks: Sequence[str], cost: Callable[[Costs], float]) -> float:
    return math.fsum(
        math.fsum(cost(run.record.costs) for run in system.runs[task]) / len(system.runs[task])
        for task in tasks
        if task in system.runs
    )


_COLUMNS = (
    "model",
    "seed",
    "issues",
    "resolved",
    "95 % interval",
    "exact match",
    "CodeBLEU",
    "CodeBLEU, resolved",
    "CodeBLEU, not resolved",
    "resolved, not exact",
    "exact, not resolved",
    "separation",
)
_NOTE = (
    "An issue is resolved where all tests of its fix pass with the patch. Exact match and CodeBLEU"
    " compare the lines that a patch writes with those of the merged fix. Separation is how often"
    " CodeBLEU puts a patch that resolves its issue above one that does not: 0.5 is guessing."
)


def resolved_section(compared: ComparisonResult) -> Section | None:
    """Return what execution says beside similarity, None where no run was scored by tests."""
    tables = []
    for task in compared.tasks:
        rows = tuple(_rows(compared, task))
        if rows:
            tables.append(cut(ReportTable(task, _COLUMNS, rows)))
    if not tables:
        return None
    return Section("resolved", "Resolved, by running tests", tuple(tables), _NOTE)


def _rows(compared: ComparisonResult, task: str) -> Iterator[tuple[Cell, ...]]:
    for system in compared.ranked:
        for run in system.runs.get(task, ()):
            stored = read_resolved(run.directory)
            if stored is not None:
                yield (system.name, run.seed, *_cells(stored))


def _cells(stored: StoredResolved) -> tuple[Cell, ...]:
    right = [patch for patch in stored.patches if patch.outcome == RESOLVED]
    wrong = [patch for patch in stored.patches if patch.outcome != RESOLVED]
    share = wilson(len(right), stored.instances)
    exact = sum(patch.exact for patch in stored.patches)
    return (
        stored.instances,
        share.value,
        None if share.value is None else f"{share.low:.3f} to {share.high:.3f}",
        exact / stored.instances if stored.instances else None,
        similarity(stored.patches).codebleu,
        similarity(right).codebleu,
        similarity(wrong).codebleu,
        sum(not patch.exact for patch in right),
        sum(patch.exact for patch in wrong),
        separation(stored.patches),
    )

"""Costs of models beside their scores, what their patches resolve, and how scores were obtained."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

import orjson

from goldpan.core.sanitize import line
from goldpan.evaluation.comparison.question import ComparisonResult, System, mean_of
from goldpan.evaluation.resolved import PatchScores, read_resolved
from goldpan.evaluation.runs import Run
from goldpan.evaluation.statistics.scores import as_decimal
from goldpan.report.document import (
    Content,
    Figure,
    Remark,
    ReportTable,
    Row,
    Section,
    count,
    cut,
    folded,
    listed,
    seconds,
)
from goldpan.report.plots import INK, PALE, SOFT, canvas, colors, short_name
from goldpan.text.redaction import redact

_MOST_DRAWN = 24
_MEASURES: Sequence[tuple[str, str, float]] = (
    ("money", "money", 1.0),
    ("gpu_seconds", "GPU hours", 1 / 3600),
    ("wall_seconds", "seconds", 1.0),
)
"""Costs for a figure, which shows the first that every model has. Wall time is known of all."""
_ALWAYS = 4
"""First columns of costs, which stand even where all are 0."""


@dataclass(frozen=True, slots=True)
class _CostPoint:
    system: System
    cost: float
    score: float


def costs_section(compared: ComparisonResult) -> Section:
    """Return costs of all models, and cost against score."""
    rows = [_row(compared, system) for system in compared.ranked]
    shown = [
        name for at, name in enumerate(rows[0]) if at < _ALWAYS or any(row[name] for row in rows)
    ]
    note = (
        "Training and testing once on every task of the model, the mean over seeds. Times are of"
        " the machines named below and may come from different ones."
    )
    table = ReportTable.of("Costs", ({name: row[name] for name in shown} for row in rows), note)
    return Section("cost", "Cost against score", (table, *_drawn(compared)))


def _drawn(compared: ComparisonResult) -> tuple[Content, ...]:
    ranked = [system for system in compared.ranked if system.name in compared.block.models]
    for key, unit, factor in _MEASURES:
        points = [
            _CostPoint(system, cost, score)
            for system in ranked
            if (cost := factor * _over(system, compared.block.tasks, key)) > 0
            and (score := _mean(compared, system)) is not None
        ]
        if len(points) == len(ranked) and len(points) > 1:
            best = _undominated(points)
            shown = points[:_MOST_DRAWN]
            caption = (
                f"Mean score over {unit} on the ranked tasks, on a logarithmic scale. No cheaper"
                f" model scores higher than {listed([point.system.name for point in best])}."
            )
            figure = Figure(
                f"Score over {unit}", caption, _plot(compared.metric, unit, shown, best)
            )
            if len(shown) == len(points):
                return (figure,)
            return (figure, Remark(f"The first {_MOST_DRAWN} models are drawn."))
    return ()


def _plot(metric: str, unit: str, points: Sequence[_CostPoint], best: Sequence[_CostPoint]) -> str:
    look = colors([point.system.name for point in points])
    with canvas(8, max(4.2, 0.24 * len(points) + 1)) as plot:
        axes = plot.figure.subplots()
        axes.set_xscale("log")
        front = [point for point in best if point in points]
        axes.step(
            [point.cost for point in front],
            [point.score for point in front],
            where="post",
            color=SOFT,
            lw=0.8,
            ls=(0, (4, 3)),
        )
        for point in points:
            color, mark = look[point.system.name]
            label = short_name(point.system.name)
            axes.plot(point.cost, point.score, mark, color=color, ms=8, ls="", label=label)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.xaxis.set_minor_formatter("")
        axes.margins(x=0.08, y=0.1)
        axes.grid(color=PALE, lw=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_xlabel(unit)
        axes.set_ylabel(f"mean {short_name(metric)}", color=INK)
        plot.figure.legend(loc="outside right upper", frameon=False, fontsize=8)
    return plot.svg


def _undominated(points: Iterable[_CostPoint]) -> list[_CostPoint]:
    """Return the points that no cheaper model beats, from the cheapest on."""
    best: list[_CostPoint] = []
    for point in sorted(points, key=lambda each: (each.cost, -each.score, each.system.name)):
        if not best or as_decimal(point.score) > as_decimal(best[-1].score):
            best.append(point)
    return best


def _row(compared: ComparisonResult, system: System) -> Row:
    def every(cost: str) -> float:
        return _over(system, system.runs, cost)

    return {
        "model": system.name,
        f"mean {compared.metric}": _mean(compared, system),
        "wall time": seconds(every("wall_seconds")),
        "CPU time": seconds(every("cpu_seconds")),
        "GPU hours": every("gpu_seconds") / 3600,
        "input tokens": round(every("input_tokens")),
        "output tokens": round(every("output_tokens")),
        "money": every("money"),
    }


def _mean(compared: ComparisonResult, system: System) -> float | None:
    return system.mean(
        *(compared.block.tasks if system.name in compared.block.models else system.runs)
    )


def _over(system: System, tasks: Iterable[str], cost: str) -> float:
    """Return the sum of a cost over tasks, of each the mean over its runs."""
    return math.fsum(
        fmean(float(getattr(run.costs, cost)) for run in system.runs[task])
        for task in tasks
        if task in system.runs
    )


_NOTE = (
    "An issue is resolved where all tests of its fix pass with the patch. Exact match and CodeBLEU"
    " compare the lines that a patch writes with those of the merged fix. Separation is how often"
    " CodeBLEU puts a patch that resolves its issue above one that does not: 0.5 is guessing."
)


def resolved_section(compared: ComparisonResult) -> Section | None:
    """Return resolved shares beside similarity, None where no run was scored by tests."""
    tables = [ReportTable.of(task, _rows(compared, task)) for task in compared.tasks]
    shown = tuple(cut(table) for table in tables if table.rows)
    return Section("resolved", "Resolved, by running tests", shown, _NOTE) if shown else None


def _rows(compared: ComparisonResult, task: str) -> Iterator[Row]:
    for system in compared.ranked_on(task):
        for run in system.runs[task]:
            stored = read_resolved(run.directory)
            if stored is not None:
                yield {"model": system.name, "seed": run.seed, **_resolved(stored)}


def _resolved(scores: PatchScores) -> Row:
    share, right, wrong = scores.resolved, scores.right, scores.wrong
    exact = right.exact + wrong.exact
    return {
        "issues": scores.instances,
        "resolved": share.value,
        "95 % interval": None if share.value is None else f"{share.low:.3f} to {share.high:.3f}",
        "exact match": exact / scores.instances if scores.instances else None,
        "CodeBLEU": mean_of(patch.codebleu for patch in scores.patches),
        "CodeBLEU, resolved": right.codebleu,
        "CodeBLEU, not resolved": wrong.codebleu,
        "resolved, not exact": right.patches - right.exact,
        "exact, not resolved": wrong.exact,
        "separation": scores.separation,
    }


_CHOOSES = {
    "train": "rows of train choose settings; the test chooses nothing",
    "test": "THE TEST ITSELF chooses settings",
    "none": "nothing is chosen",
}
_MOST_INVALID = 20
_PER_RUN = 3
_MOST_GAPS = 5


def conditions_section(compared: ComparisonResult) -> Section:
    """Return all that is needed to run the same again, and its known defects."""
    runs = [(system.name, run) for system in compared.ranked for run in system.every()]
    rows: Iterator[Row] = (
        {
            "model": name,
            "task": run.task,
            "seed": run.seed,
            "data hash": run.data_hash[:12],
            "split hash": run.split_hash[:12],
            "test opened": run.test_opened,
            "run": run.directory.name,
        }
        for name, run in runs
    )
    return Section(
        "conditions",
        "Protocol, seeds, hashes and machines",
        (
            *_protocols([run for _, run in runs]),
            _invalid(runs),
            folded(ReportTable.of("Runs", rows), 8),
            _environments([run for _, run in runs]),
        ),
        "Equal hashes mean the same rows in the same splits.",
    )


def in_part_sentences(compared: ComparisonResult) -> tuple[str, ...]:
    """Return which systems follow their protocol in part, and what they lack."""
    conditions: dict[str, list[str]] = {}
    for system in compared.ranked:
        for run in system.every():
            if run.in_part:
                gaps = "; ".join(run.in_part)
                text = f"{run.protocol.name} in part ({gaps})"
                conditions.setdefault(text, []).append(system.name)
    return tuple(
        f"{listed(list(dict.fromkeys(names)))} ran under {text}."
        for text, names in conditions.items()
    )[:_MOST_GAPS]


def _protocols(runs: Iterable[Run]) -> Iterator[Content]:
    protocols = [run.protocol for run in runs]
    used = Counter(map(_plain, protocols))
    for key, protocol in sorted(
        {_plain(protocol): protocol for protocol in protocols}.items(),
        key=lambda item: (item[1].name, item[0]),
    ):
        yield Remark(
            f"Protocol {protocol.name}: {protocol.title} ({protocol.source});"
            f" {_CHOOSES.get(protocol.validation, protocol.validation)}."
            f" {count(used[key], 'run')}."
        )
        yield from (Remark(f"Known defect: {defect}") for defect in protocol.defects)
        if not protocol.defects:
            yield Remark("No defect of the protocol is known.")


def _plain(value: object) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _invalid(runs: Sequence[tuple[str, Run]]) -> Content:
    rows = [_invalid_row(name, run) for name, run in runs if run.scores.invalid]
    if not rows:
        return Remark("Every answer was valid.")
    rows.sort(key=lambda row: (-int(row["not valid"] or 0), row["model"], row["task"]))
    total = sum(run.scores.invalid for _, run in runs)
    note = f"{total:,} answers in all. They count as wrong."
    return cut(ReportTable.of("Answers that are not valid", rows, note), _MOST_INVALID)


def _invalid_row(name: str, run: Run) -> Row:
    quoted = (
        f"{line(redact(answer.raw).text, 120) or '(nothing)'!r} ({answer.count} times)"
        for answer in run.answers.invalid[:_PER_RUN]
    )
    notes = (f"{note} {number:,}" for note, number in sorted(run.answers.notes.items()))
    return {
        "model": name,
        "task": run.task,
        "seed": run.seed,
        "not valid": run.scores.invalid,
        "of all answers": ", ".join(notes),
        "what was said": "; ".join(quoted),
    }


def _environments(runs: Iterable[Run]) -> Content:
    used = Counter(_plain(asdict(run.environment)) for run in runs)
    rows = (
        _machine(orjson.loads(key), used[key])
        for key in sorted(used, key=lambda key: (-used[key], key))
    )
    note = "A revision with + had changes that were not committed."
    return folded(ReportTable.of("Environments", rows, note), 8)


def _machine(facts: Mapping[str, Any], runs: int) -> Row:
    gpus = listed(facts["gpus"]) if facts["gpus"] else "no GPU"
    commit = facts["revision"] or ""
    revision = f" ({commit[:12]}{'+' * commit.endswith('+')})" if commit else ""
    return {
        "runs": runs,
        "Goldpan": f"{facts['goldpan']}{revision}",
        "runtime": f"Python {facts['python']}, {facts['system']}",
        "machine": f"{facts['cpu']}, {facts['cores']} cores, {facts['memory_gb']} GB; {gpus}",
        "packages": ", ".join(f"{name} {facts['packages'][name]}" for name in facts["packages"]),
    }

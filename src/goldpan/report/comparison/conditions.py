"""Costs of models beside their scores, what their patches resolve, and how scores were obtained."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

import orjson

from goldpan.core.proportions import wilson
from goldpan.core.sanitize import line
from goldpan.evaluation.comparison.question import ComparisonResult, System, mean_score, split_of
from goldpan.evaluation.protocol import Protocol
from goldpan.evaluation.resolved import (
    RESOLVED,
    StoredResolved,
    read_resolved,
    separation,
    similarity,
)
from goldpan.evaluation.runs import Run
from goldpan.evaluation.statistics.scores import as_decimal
from goldpan.report.document import (
    Cell,
    Content,
    Figure,
    Remark,
    ReportTable,
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
            if (cost := factor * _over(system, compared.block.tasks, key)) > 0
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
        return _over(system, system.runs, key)

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


def _over(system: System, tasks: Iterable[str], cost: str) -> float:
    """Return a cost of each task once, the mean over its runs, in all."""
    return math.fsum(
        fmean(float(getattr(run.record.costs, cost)) for run in system.runs[task])
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


_CHOOSES = {
    "train": "rows of train choose settings; the test chooses nothing",
    "test": "THE TEST ITSELF chooses settings",
    "none": "nothing is chosen",
}
_MOST_INVALID = 20
_PER_RUN = 3
_MOST_GAPS = 5
_HARDWARE = ["cpu", "cores", "memory_gb", "gpus"]
_SOFTWARE = ["goldpan", "revision", "python", "system", "packages"]


def conditions_section(compared: ComparisonResult) -> Section:
    """Return all that is needed to run the same again, and to doubt it."""
    runs = [(system.name, run) for system in compared.ranked for run in system.every()]
    content: list[Content] = [*_protocols([run for _, run in runs]), *_invalid(runs)]
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            name,
            run.task,
            run.seed,
            *(digest[:12] for digest in split_of(run)),
            run.record.test_opened,
            run.directory.name,
        )
        for name, run in runs
    )
    columns = ("model", "task", "seed", "data hash", "split hash", "test opened", "run")
    content.append(folded(ReportTable("Runs", columns, rows), 8))
    content += _environments([run for _, run in runs])
    return Section(
        "conditions",
        "Protocol, seeds, hashes and machines",
        tuple(content),
        "Equal hashes mean the same rows in the same splits.",
    )


def in_part_sentences(compared: ComparisonResult) -> tuple[str, ...]:
    """Return which systems follow their protocol in part, and in what they are less."""
    conditions: dict[str, list[str]] = {}
    for system in compared.ranked:
        for run in system.every():
            if run.record.in_part:
                gaps = "; ".join(run.record.in_part)
                text = f"{run.record.protocol.name} in part ({gaps})"
                conditions.setdefault(text, []).append(system.name)
    return tuple(
        f"{listed(list(dict.fromkeys(names)))} ran under {text}."
        for text, names in conditions.items()
    )[:_MOST_GAPS]


def _protocols(runs: list[Run]) -> list[Content]:
    protocols: dict[bytes, Protocol] = {}
    used: Counter[bytes] = Counter()
    for run in runs:
        protocol = run.record.protocol
        key = orjson.dumps(protocol, option=orjson.OPT_SORT_KEYS)
        protocols[key] = protocol
        used[key] += 1
    content: list[Content] = []
    for key in sorted(protocols, key=lambda digest: (protocols[digest].name, digest)):
        protocol = protocols[key]
        content.append(
            Remark(
                f"Protocol {protocol.name}: {protocol.title} ({protocol.source});"
                f" {_CHOOSES.get(protocol.validation, protocol.validation)}."
                f" {count(used[key], 'run')}."
            )
        )
        content += [Remark(f"Known defect: {defect}") for defect in protocol.defects]
        if not protocol.defects:
            content.append(Remark("No defect of the protocol is known."))
    return content


def _invalid(runs: list[tuple[str, Run]]) -> list[Content]:
    bad = [(name, run) for name, run in runs if run.scores.invalid]
    if not bad:
        return [Remark("Every answer was valid.")]
    total = sum(run.scores.invalid for _, run in bad)
    rows: list[tuple[Cell, ...]] = []
    for name, run in bad:
        shown = run.record.answers.invalid[:_PER_RUN]
        text = "; ".join(
            f"{line(redact(answer.raw).text, 120) or '(nothing)'!r} ({answer.count} times)"
            for answer in shown
        )
        notes = ", ".join(
            f"{what} {count:,}" for what, count in sorted(run.record.answers.notes.items())
        )
        rows.append((name, run.task, run.seed, run.scores.invalid, notes, text))
    rows.sort(key=lambda row: (-int(row[3] or 0), str(row[0]), str(row[1])))
    columns = ("model", "task", "seed", "not valid", "of all answers", "what was said")
    note = f"{total:,} answers in all. They count as wrong."
    left = max(0, len(rows) - _MOST_INVALID)
    return [
        ReportTable(
            "Answers that are not valid", columns, tuple(rows[:_MOST_INVALID]), note, left_out=left
        )
    ]


def _environments(runs: list[Run]) -> list[Content]:
    groups: dict[bytes, list[Run]] = defaultdict(list)
    for run in runs:
        facts = {key: getattr(run.record.environment, key) for key in _HARDWARE + _SOFTWARE}
        groups[orjson.dumps(facts, option=orjson.OPT_SORT_KEYS)].append(run)
    rows: list[tuple[Cell, ...]] = []
    for key in sorted(groups, key=lambda group: (-len(groups[group]), group)):
        data = orjson.loads(key)
        gpus = listed(data["gpus"]) if data["gpus"] else "no GPU"
        machine = f"{data['cpu']}, {data['cores']} cores, {data['memory_gb']} GB; {gpus}"
        packages = ", ".join(
            f"{name} {data['packages'][name]}" for name in sorted(data["packages"])
        )
        commit = data["revision"] or ""
        revision = f" ({commit[:12]}{'+' * commit.endswith('+')})" if commit else ""
        runtime = f"Python {data['python']}, {data['system']}"
        rows.append((len(groups[key]), f"{data['goldpan']}{revision}", runtime, machine, packages))
    columns = ("runs", "Goldpan", "runtime", "machine", "packages")
    note = "A revision with + had changes that were not committed."
    return [folded(ReportTable("Environments", columns, tuple(rows), note), 8)]

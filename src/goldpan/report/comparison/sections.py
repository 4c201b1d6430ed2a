"""Sections of the report on stored runs: scores, costs, settings, and scores on harder terms."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import Any

from goldpan.core.plugins.parts import Kind
from goldpan.core.plugins.registry import Registry
from goldpan.core.result import count
from goldpan.evaluation.compare.question import ComparisonResult, System, mean_of, setting
from goldpan.evaluation.metrics.estimate import Scores
from goldpan.evaluation.record import RunRecord
from goldpan.evaluation.resolved import read_resolved
from goldpan.evaluation.score import main_metrics, ranking_metric, ranking_score
from goldpan.evaluation.slices import FEWEST_ROWS
from goldpan.report.document import (
    Cell,
    Content,
    Fold,
    Remark,
    ReportTable,
    Row,
    Section,
    cut,
    filled,
    formatted,
    listed,
    seconds,
    with_interval,
)

_MOST_TASKS = 60
"""Tasks that are shown one by one."""


@dataclass(frozen=True, slots=True)
class ReportSection:
    """A section that a paper or a plugin adds to the report, and its sentence in the summary."""

    name: str
    make: Callable[[ComparisonResult], Section | None]
    """Returns the section, whose tables are also those for papers; None where there is nothing to
    say."""
    sentence: Callable[[ComparisonResult], str | None] = lambda _: None
    """For the summary; None where there is nothing to say."""
    value: Callable[[ComparisonResult], Any] = lambda _: None
    """The value of the name in ``goldpan evaluate compare --json``; None leaves it out."""

    def parts(self) -> Iterable[tuple[Kind, str, object]]:
        """Return itself, as a plugin registers it."""
        return [("report section", self.name, self)]


SECTIONS: Registry[ReportSection] = Registry(
    "section", dict, "report section", lambda item: item[0]
)


def score_table(compared: ComparisonResult) -> ReportTable:
    """Return the score that ranks, a row for each task and a column for each model."""
    shown = compared.ranked
    mixed = len(set(compared.metrics.values())) > 1
    rows: list[tuple[Cell, ...]] = []
    strong: set[tuple[int, int]] = set()
    for at, task in enumerate(compared.tasks):
        means = [system.mean(task) for system in shown]
        rounded = [None if mean is None else round(mean, 3) for mean in means]
        best = max((mean for mean in rounded if mean is not None), default=None)
        strong.update(
            (at, column)
            for column, mean in enumerate(rounded, 1 + mixed)
            if mean is not None and mean == best
        )
        named = (task, compared.metrics[task])[: 1 + mixed]
        rows.append((*named, *(_with_spread(system.results.get(task, ())) for system in shown)))
    if len(rows) > 1:
        named = ("mean over tasks", "")[: 1 + mixed]
        rows.append((*named, *(_mean(system, compared.tasks) for system in shown)))
    return ReportTable(
        f"{compared.metric} on each task",
        (*("task", "metric")[: 1 + mixed], *(system.name for system in shown)),
        tuple(rows),
        "In brackets the 95% bootstrap interval of a single run, over its test examples; or, of"
        " several seeds, their standard deviation after ±. The best of a row is bold.",
        frozenset(strong),
    )


def _with_spread(results: Sequence[Scores]) -> Cell:
    """Return the score of a model on a task, with its interval or spread if known."""
    known = [score for score in map(ranking_score, results) if score.value is not None]
    values = [score.value for score in known if score.value is not None]
    if not values:
        return None
    mean = fmean(values)
    if len(values) > 1:
        return f"{formatted(mean)} ± {stdev(values, mean):.3f}"
    interval = known[0].interval
    return with_interval(mean, *((interval.low, interval.high) if interval else (None, None)))


def _mean(system: System, tasks: Sequence[str]) -> Cell:
    missing = sum(not system.scores(task) for task in tasks)
    mean = system.mean(*tasks)
    return f"{formatted(mean)} ({missing} missing)" if missing and mean is not None else mean


def metrics_tables(compared: ComparisonResult) -> Iterator[ReportTable]:
    """Yield the main metrics of each task, means over seeds."""
    for task in compared.tasks[:_MOST_TASKS]:
        rows: list[Row] = []
        for system in compared.ranked_on(task):
            runs = [
                {metric.name: metric.value for metric in scores.metrics}
                if compared.origin
                else main_metrics(scores)
                for scores in system.results[task]
            ]
            means = {name: mean_of(run.get(name) for run in runs) for name in runs[0]}
            rows.append({"model": system.name, **means})
        if len(rows[0]) > 2 or not compared.origin:
            yield cut(ReportTable.of(f"Metrics of {task}", rows))


def groups_section(compared: ComparisonResult) -> Section:
    """Return each task's scores by column."""
    tables = []
    for task in compared.tasks[:_MOST_TASKS]:
        systems = compared.ranked_on(task)
        columns = (column for system in systems for column in system.runs[task][0].scores_by)
        tables += [
            Fold(f"{task} by {column}", (_by_column(systems, task, column),))
            for column in dict.fromkeys(columns)
        ]
    return Section("groups", "Scores by project and column", tuple(tables))


def _by_column(systems: Sequence[System], task: str, column: str) -> ReportTable:
    """Return a row for each value and a column for each model, with means over seeds."""
    sizes: dict[str, int] = {}
    scores: list[dict[str, list[float]]] = [{} for _ in systems]
    for system, by_value in zip(systems, scores, strict=True):
        for run in system.runs[task]:
            for part in run.scores_by[column].parts if column in run.scores_by else ():
                sizes.setdefault(part.value, part.examples)
                if part.score is not None:
                    by_value.setdefault(part.value, []).append(part.score)
    means = [{value: fmean(seeds) for value, seeds in by_value.items()} for by_value in scores]
    whole = (mean_of(by_value.values()) for by_value in means)
    rows: list[tuple[Cell, ...]] = [
        (f"mean over {len(sizes):,} values", sum(sizes.values()), *whole)
    ]
    rows += (
        (value, sizes[value], *(by_value.get(value) for by_value in means))
        for value in sorted(sizes, key=lambda value: (-sizes[value], value))
    )
    metric = systems[0].runs[task][0].scores.main
    names = (column, "rows", *(system.name for system in systems))
    return cut(ReportTable(f"{metric} by {column}", names, tuple(rows)))


def costs_table(compared: ComparisonResult) -> ReportTable:
    """Return costs of all models beside their scores."""
    rows: list[Row] = []
    for system in compared.ranked:
        costs = [[run.costs for run in runs] for runs in system.runs.values()]
        ranked = compared.block.tasks if system.name in compared.block.models else system.runs
        rows.append(
            {
                "model": system.name,
                f"mean {compared.metric}": system.mean(*ranked),
                "wall time": seconds(_total(costs, "wall_seconds")),
                "CPU time": seconds(_total(costs, "cpu_seconds")),
                "GPU hours": _total(costs, "gpu_seconds") / 3600 or None,
                "input tokens": round(_total(costs, "input_tokens")) or None,
                "output tokens": round(_total(costs, "output_tokens")) or None,
                "money": _total(costs, "money") or None,
            }
        )
    note = "Training and testing once on every task of the model, the mean over seeds."
    return ReportTable.of("Costs", filled(rows), note)


def _total(costs: Sequence[Sequence[object]], name: str) -> float:
    return math.fsum(fmean(float(getattr(cost, name)) for cost in seeds) for seeds in costs)


def resolved_section(compared: ComparisonResult) -> Section:
    """Return resolved shares beside similarity, of the runs that were scored by tests."""
    tables = [ReportTable.of(task, _resolved_rows(compared, task)) for task in compared.tasks]
    note = (
        "An issue is resolved where all tests of its fix pass with the patch. Exact match and"
        " CodeBLEU compare the lines that a patch writes with those of the merged fix. Separation"
        " is how often CodeBLEU puts a patch that resolves its issue above one that does not: 0.5"
        " is guessing."
    )
    shown = tuple(cut(table) for table in tables if table.rows)
    return Section("resolved", "Resolved, by running tests", shown, note)


def _resolved_rows(compared: ComparisonResult, task: str) -> Iterator[Row]:
    for system in compared.ranked_on(task):
        for run in system.runs[task]:
            scores = read_resolved(run.directory)
            if scores is None:
                continue
            share, exact = scores.resolved, scores.right.exact + scores.wrong.exact
            known = share.value is not None
            yield {
                "model": system.name,
                "seed": run.seed,
                "issues": scores.instances,
                "resolved": share.value,
                "95% interval": f"{share.low:.3f} to {share.high:.3f}" if known else None,
                "exact match": exact / scores.instances if scores.instances else None,
                "CodeBLEU": mean_of(patch.codebleu for patch in scores.patches),
                "separation": scores.separation,
            }


def conditions_section(compared: ComparisonResult) -> Section:
    """Return what tells the runs apart; the machines stand in their folders."""
    rows: list[Row] = [
        {
            "model": system.name,
            "task": run.task,
            "seed": run.seed,
            "settings": ", ".join(
                f"{key}={setting(value)}" for key, value in sorted(run.settings.items())
            ),
            "split": run.split,
            "train": run.learned_from.train,
            "validation": run.learned_from.validation,
            "chosen on": run.learning.chosen_on or "nothing",
            "data hash": run.data_hash[:12],
            "split hash": run.split_hash[:12],
            "test opened": run.test_opened,
            "run": run.directory.name,
        }
        for system in compared.ranked
        for run in system.every()
    ]
    table = cut(ReportTable.of("Runs", rows))
    note = (
        "Equal hashes mean the same rows in the same splits. Versions, packages and the machine of"
        " a run are in its result.json."
    )
    return Section("conditions", "Settings, seeds and hashes", (Fold(table.title, (table,)),), note)


_MOST_MODELS = 8
_PARTS: Mapping[str, str] = {
    "texts": "rows whose text is also in train, exactly or nearly",
    "documents": "rows of a document that has other rows in train",
    "projects": "rows of a project that has other rows in train",
}
"""Parts of test rows that `Leaks` counts, in the words of a sentence."""


def distance_section(compared: ComparisonResult) -> Section:
    """Return how much of the scores rests on texts, documents and neighbors seen before."""
    content: list[Content] = []
    for part in _PARTS:
        content += _without_part(compared, part)
    reading = [one.name for one in compared.ranked if any(r.uses_neighbors for r in one.every())]
    if reading:
        content.append(
            Remark(
                f"{listed(reading)} may read the texts around a row, some of them test rows; a tool"
                " that reads single texts would score lower."
            )
        )
    return Section(
        "distance",
        "Honest distances",
        tuple(content),
        "Scores on stricter test sets. A test row whose text, document or project was seen in"
        " training says little about new ones.",
    )


def _without_part(compared: ComparisonResult, part: str) -> Iterator[Content]:
    """Yield the scores without the test rows of a part, or why there are none."""
    runs = [compared.first_run(task) for task in compared.tasks[:_MOST_TASKS]]
    seen = {run.task: number for run in runs if (number := run.leaks.seen(part)) is not None}
    whole = sum(run.scores.examples for run in runs if run.task in seen)
    if not whole:
        return
    many = sum(seen.values())
    yield Remark(
        f"Of {whole:,} test rows in {count(len(seen), 'task')}, {many:,} ({many / whole:.1%}) are"
        f" {_PARTS[part]}."
    )
    if not many:
        return
    rows: list[Row] = []
    for system in compared.ranked[:_MOST_MODELS]:
        scores = {
            task: [_score_without(run, part) for run in system.runs[task]]
            for task in seen
            if task in system.runs
        }
        known = {task: mean_of(seeds) for task, seeds in scores.items() if None not in seeds}
        if known:
            cells = {"all test rows": system.mean(*known), "only these": mean_of(known.values())}
            rows.append({"model": system.name, **cells, "tasks": len(known)})
    title = f"{part.capitalize()} that are not in train"
    note = (
        f"The same predictions, scored on the rows that are left, in tasks with at least"
        f" {FEWEST_ROWS} of them. The models were not trained again."
    )
    short = f"{title}: too few of these rows are left to score ({FEWEST_ROWS} needed)."
    yield ReportTable.of(title, rows, note) if rows else Remark(short)


def _score_without(run: RunRecord, part: str) -> float | None:
    main = run.scores.metric(run.scores.main)
    if run.leaks.seen(part):
        left = run.leaks.score_without(part)
        return None if left is None else ranking_metric(replace(main, value=left.value)).value
    return ranking_metric(main).value if run.scores.examples >= FEWEST_ROWS else None

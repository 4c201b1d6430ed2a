"""Steps 6 to 8 of ECSER: confusion matrices, metrics, and scores lost on test."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from statistics import fmean, stdev

from goldpan.evaluation.comparison.facts import (
    Skipped,
    positive_counts,
    scored_parts,
    shown_metrics,
)
from goldpan.evaluation.comparison.question import ComparisonResult, System, mean_of
from goldpan.evaluation.comparison.score_files import Part
from goldpan.evaluation.metrics.curves import BinaryConfusion
from goldpan.evaluation.metrics.estimate import Scores
from goldpan.evaluation.runs import Run
from goldpan.evaluation.score import ranking_score
from goldpan.evaluation.statistics.effects import Degradation, Overfitting, degradation, overfitting
from goldpan.report.document import (
    NOTHING,
    Cell,
    Content,
    Fold,
    Matrix,
    Remark,
    ReportTable,
    Row,
    Section,
    SideBySide,
    cut,
    folded,
    formatted,
    with_interval,
)


def drift(compared: ComparisonResult) -> tuple[Content, ...]:
    """Return how test scores differ from those on train and validation (S8)."""
    by_task = _by_task(compared)
    note = (
        "Means over runs. A model that scores far higher on what it learned from has learned it"
        " by heart to that degree; train is a sample of at most 5,000 rows. Validation is what"
        " settings were chosen on: of models that were chosen by folds, the rows left out."
    )
    title = "Overfitting and degradation by model"
    return (ReportTable.of(title, map(_drift_row, compared.ranked), note), *by_task)


def _drift_row(system: System) -> Row:
    runs = system.every()
    train = _average(run.train_scores for run in runs)
    validation = _average(run.validation_scores for run in runs)
    test = _average(run.scores for run in runs)
    return {
        "model": system.name,
        "on train": train,
        "on validation": validation,
        "on test": test,
        "overfitting: test - train": _difference(test, train),
        "degradation: test - validation": _difference(test, validation),
    }


def _by_task(compared: ComparisonResult) -> list[Content]:
    """Return overfitting and degradation of each task, and which of them is not known."""
    scores: dict[tuple[str, str], dict[Part, list[float]]] = defaultdict(lambda: defaultdict(list))
    for system in compared.systems:
        for run in system.every():
            for part, part_scores in scored_parts(run):
                if (value := ranking_score(part_scores).value) is not None:
                    scores[run.task, system.name][part].append(value)
    over: list[tuple[Cell, ...]] = []
    down: list[tuple[Cell, ...]] = []
    for (task, model), parts in sorted(scores.items()):
        if not parts["test"]:
            continue
        # Seeds are no further data sets: their mean is one score.
        test = [fmean(parts["test"])]
        if parts["train"]:
            fit = overfitting(fmean(parts["train"]), test)
            over.append((task, model, *overfitting_cells(fit)))
        if parts["validation"]:
            loss = degradation([fmean(parts["validation"])], test)
            down.append((task, model, *degradation_cells(loss)))
    if not over and not down:
        raise Skipped(
            f"No model has a {compared.metric} on test and on training or validation data"
        )
    content = drift_tables(("task", "model"), over, down)
    if not over:
        content.append(Remark("Overfitting is unknown: no model was scored on its training data."))
    if not down:
        content.append(Remark("Degradation is unknown: no model was scored on validation data."))
    return content


def overfitting_cells(fit: Overfitting) -> tuple[Cell, ...]:
    """Return the cells of a row of overfitting."""
    return fit.mean, fit.sd, fit.test_sets


def degradation_cells(loss: Degradation) -> tuple[Cell, ...]:
    """Return the cells of a row of degradation."""
    sizes = (loss.eta_squared, loss.eta_magnitude, loss.cohen_d, loss.d_magnitude)
    return loss.difference, loss.test, loss.p, *sizes


def drift_tables(
    head: tuple[str, ...], over: Sequence[tuple[Cell, ...]], down: Sequence[tuple[Cell, ...]]
) -> list[Content]:
    """Return overfitting and degradation as tables whose first columns are `head`."""
    tables: list[Content] = []
    if over:
        columns = (*head, "mean", "sd", "test sets")
        tables.append(folded(ReportTable("Overfitting (test - training)", columns, tuple(over))))
    if down:
        columns = (*head, "difference", "test", "p", "eta²", "is", "Cohen's d", "is")
        tables.append(folded(ReportTable("Degradation (test - validation)", columns, tuple(down))))
    return tables


def _average(scores: Iterable[Scores]) -> float | None:
    """Return the mean where every run has a value: over others it could not be compared."""
    values = [ranking_score(part).value for part in scores]
    return None if None in values else mean_of(values)


def _difference(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first - second


_OPEN_GROUPS = 2


def groups_section(compared: ComparisonResult) -> Section | None:
    """Return each task's scores by column, None where no run has any."""
    content: list[Content] = []
    for task in compared.tasks[:MOST_TASKS]:
        systems = compared.ranked_on(task)
        columns = dict.fromkeys(
            column for system in systems for column in system.runs[task][0].scores_by
        )
        for column in columns:
            table = _table(systems, task, column)
            content.append(Fold(f"{task} by {column}", (table,), open=len(content) < _OPEN_GROUPS))
    if not content:
        return None
    return Section(
        "groups",
        "Scores by project and column",
        tuple(content),
        "The same predictions, scored for each project, or for each value of a column that"
        " --by named. A mean over values counts each the same, however many rows it has.",
    )


def _table(systems: Sequence[System], task: str, column: str) -> ReportTable:
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


MOST_TASKS = 60
"""Tasks that are shown one by one."""
_MOST_MATRICES = 8
_MOST_LABELS = 12
_OPEN = 3
_PARTS: tuple[Part, ...] = ("train", "validation", "test")


def confusion(compared: ComparisonResult) -> tuple[Content, ...]:
    """Return each task's matrices, the best models first (S6)."""
    whole = folded(_summed(compared))
    folds: list[Content] = []
    for task in compared.tasks[:MOST_TASKS]:
        systems = compared.ranked_on(task)[:_MOST_MATRICES]
        matrices = tuple(filter(None, (_matrix(system, system.runs[task]) for system in systems)))
        if matrices:
            folds.append(Fold(task, (SideBySide(matrices),), open=len(folds) < _OPEN))
    note = (Remark(_matrices_note(compared)),) if folds else ()
    return (*note, *folds, *_more_tasks(compared), whole)


def _summed(compared: ComparisonResult) -> ReportTable:
    """Return the sums of each model's and part's matrices, one label against the others."""
    summed: dict[tuple[str, str, Part, str], BinaryConfusion] = {}
    for system in compared.systems:
        for run in system.every():
            for part, scores in scored_parts(run):
                for label, counts in positive_counts(scores).items():
                    key = (run.task, system.name, part, label)
                    summed[key] = summed.get(key, BinaryConfusion(0, 0, 0, 0)) + counts
    if not summed:
        raise Skipped("Only classification has confusion matrices")
    rows: Iterator[Row] = (
        {
            "task": task,
            "part": part,
            "model": model,
            "label": label,
            **{kind.upper(): number for kind, number in asdict(counts).items()},
        }
        for (task, model, part, label), counts in sorted(
            summed.items(), key=lambda item: (item[0][0], _PARTS.index(item[0][2]), item[0])
        )
    )
    return ReportTable.of("Confusion matrices, summed over data sets, folds and seeds", rows)


def metrics(compared: ComparisonResult) -> tuple[Content, ...]:
    """Return the score that ranks by task, then more metrics of each task (S7)."""
    shown = compared.tasks[:MOST_TASKS]
    more = (Fold(f"More metrics of {task}", (_task_metrics(compared, task),)) for task in shown)
    return (cut(score_table(compared)), *_more_tasks(compared), *more)


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
        for column, mean in enumerate(rounded, 1 + mixed):
            if mean is not None and mean == best:
                strong.add((at, column))
        named = (task, compared.metrics[task])[: 1 + mixed]
        rows.append((*named, *(score_with_spread(system.runs.get(task, ())) for system in shown)))
    if len(rows) > 1:
        named = ("mean over tasks", "")[: 1 + mixed]
        rows.append((*named, *(_mean(system, compared.tasks) for system in shown)))
    return ReportTable(
        f"{compared.metric} on each task",
        (*("task", "metric")[: 1 + mixed], *(system.name for system in shown)),
        tuple(rows),
        "In brackets the 95 % bootstrap interval of a single run, over its test examples; or, of"
        " several seeds, their standard deviation after ±. The best of a row is bold.",
        frozenset(strong),
    )


def score_with_spread(runs: Sequence[Run]) -> Cell:
    """Return the score of a model's runs on a task, with its interval or spread if known."""
    ranked = [ranking_score(run.scores) for run in runs]
    values = [score.value for score in ranked if score.value is not None]
    if not values:
        return None
    mean = fmean(values)
    if len(values) > 1:
        return f"{formatted(mean)} ± {stdev(values, mean):.3f}"
    interval = next(score.interval for score in ranked if score.value is not None)
    return with_interval(mean, *((interval.low, interval.high) if interval else (None, None)))


def _mean(system: System, tasks: Sequence[str]) -> Cell:
    missing = sum(not system.scores(task) for task in tasks)
    if missing == len(tasks):
        return None
    mean = formatted(system.mean(*tasks))
    return f"{mean} ({missing} missing)" if missing else mean


def _task_metrics(compared: ComparisonResult, task: str) -> ReportTable:
    metrics = {
        system.name: [shown_metrics(run.scores) for run in system.runs[task]]
        for system in compared.ranked_on(task)
    }
    names = list(dict.fromkeys(name for runs in metrics.values() for run in runs for name in run))
    rows: Iterator[Row] = (
        {"model": model, **{name: mean_of(run.get(name) for run in runs) for name in names[:14]}}
        for model, runs in metrics.items()
    )
    note = f"Means over seeds; {NOTHING} where a metric divides by zero."
    return cut(ReportTable.of(task, rows, note))


def _matrix(system: System, runs: Sequence[Run]) -> Matrix | None:
    confusions = [run.scores.confusion for run in runs if run.scores.confusion is not None]
    if not confusions or len(confusions[0].labels) > _MOST_LABELS:
        return None
    counts = tuple(
        tuple(sum(cells) for cells in zip(*rows, strict=True))
        for rows in zip(*(confusion.counts for confusion in confusions), strict=True)
    )
    note = f"sum over {len(confusions)} seeds" if len(confusions) > 1 else ""
    return Matrix(system.name, confusions[0].labels, counts, note)


def _matrices_note(compared: ComparisonResult) -> str:
    note = "Rows are right labels, columns are answers; right answers are on the diagonal."
    if len(compared.systems) > _MOST_MATRICES:
        note += f" The first {_MOST_MATRICES} models are shown here; all counts are in the table."
    return note


def _more_tasks(compared: ComparisonResult) -> Iterator[Remark]:
    more = len(compared.tasks) - MOST_TASKS
    if more > 0:
        yield Remark(
            f"{more:,} more tasks are not shown one by one; the tables of scores hold them."
        )

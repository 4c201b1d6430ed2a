"""Steps 6 to 8 of ECSER: confusion matrices, metrics, and scores lost on test."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import fmean

from goldpan.evaluation.comparison.facts import (
    Skipped,
    positive_counts,
    scored_parts,
    shown_metrics,
)
from goldpan.evaluation.comparison.question import ComparisonResult, System, mean_score
from goldpan.evaluation.comparison.score_files import Part
from goldpan.evaluation.metrics.curves import BinaryConfusion
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
    Section,
    SideBySide,
    cut,
    folded,
    formatted,
    with_interval,
)


def drift(compared: ComparisonResult) -> tuple[Content, ...]:
    """Show how test scores differ from those on train and validation (S8)."""
    by_task = _by_task(compared)
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
    return (ReportTable(title, columns, tuple(rows), note), *by_task)


def _by_task(compared: ComparisonResult) -> list[Content]:
    """Return overfitting and degradation of each task, or what is not known of them."""
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
    """Return overfitting and degradation as tables whose rows begin with what `head` names."""
    tables: list[Content] = []
    if over:
        columns = (*head, "mean", "sd", "test sets")
        tables.append(folded(ReportTable("Overfitting (test - training)", columns, tuple(over))))
    if down:
        columns = (*head, "difference", "test", "p", "eta²", "is", "Cohen's d", "is")
        tables.append(folded(ReportTable("Degradation (test - validation)", columns, tuple(down))))
    return tables


def _average(values: Sequence[float | None]) -> float | None:
    """Return the mean where every run has a value: over others it could not be compared."""
    present = [value for value in values if value is not None]
    return fmean(present) if len(present) == len(values) else None


def _less(left: float | None, other: float | None) -> float | None:
    return None if left is None or other is None else left - other


_OPEN_GROUPS = 2


def groups_section(compared: ComparisonResult) -> Section | None:
    """Return each task's scores by column, None where no run has any."""
    content: list[Content] = []
    for task in compared.tasks[:MOST_TASKS]:
        systems = [system for system in compared.ranked if task in system.runs]
        columns = dict.fromkeys(
            column for system in systems for column in system.runs[task][0].record.scores_by
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


def _table(systems: list[System], task: str, column: str) -> ReportTable:
    """Return a row a value and a column a model; means over seeds."""
    rows: dict[str, int] = {}
    scores: list[dict[str, float | None]] = []
    for system in systems:
        values: dict[str, list[float]] = {}
        for run in system.runs[task]:
            by = run.record.scores_by.get(column)
            for part in by.parts if by else ():
                rows.setdefault(part.value, part.examples)
                if part.score is not None:
                    values.setdefault(part.value, []).append(part.score)
        scores.append({value: fmean(numbers) for value, numbers in values.items()})
    order = sorted(rows, key=lambda value: (-rows[value], value))
    lines: list[tuple[Cell, ...]] = [
        (value, rows[value], *(of_value.get(value) for of_value in scores)) for value in order
    ]
    means = [[mean for mean in of_value.values() if mean is not None] for of_value in scores]
    averages = (fmean(numbers) if numbers else None for numbers in means)
    lines.insert(0, (f"mean over {len(order):,} values", sum(rows.values()), *averages))
    metric = systems[0].runs[task][0].scores.main
    names = (column, "rows", *(system.name for system in systems))
    return cut(ReportTable(f"{metric} by {column}", names, tuple(lines)))


MOST_TASKS = 60
"""Tasks that are shown one by one."""
_MOST_MATRICES = 8
_MOST_LABELS = 12
_OPEN = 3
_PARTS: tuple[Part, ...] = ("train", "validation", "test")


def confusion(compared: ComparisonResult) -> tuple[Content, ...]:
    """Show each task's matrices, the best models first (S6)."""
    whole = folded(_summed(compared))
    folds: list[Content] = []
    for task in compared.tasks[:MOST_TASKS]:
        systems = [system for system in compared.ranked if task in system.runs]
        candidates = [_matrix(system, system.runs[task]) for system in systems[:_MOST_MATRICES]]
        matrices = tuple(matrix for matrix in candidates if matrix is not None)
        if matrices:
            folds.append(Fold(task, (SideBySide(matrices),), open=len(folds) < _OPEN))
    note = (Remark(_matrices_note(compared)),) if folds else ()
    return (*note, *folds, *_more_tasks(compared), whole)


def _summed(compared: ComparisonResult) -> ReportTable:
    """Add up the confusion matrices of each model and part, one label against the rest."""
    summed: dict[tuple[str, str, Part, str], BinaryConfusion] = {}
    for system in compared.systems:
        for run in system.every():
            for part, scores in scored_parts(run):
                for label, counts in positive_counts(scores).items():
                    key = (run.task, system.name, part, label)
                    summed[key] = summed.get(key, BinaryConfusion(0, 0, 0, 0)) + counts
    if not summed:
        raise Skipped("Only classification has confusion matrices")
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (task, part, model, label, counts.tp, counts.fp, counts.tn, counts.fn)
        for (task, model, part, label), counts in sorted(
            summed.items(), key=lambda item: (item[0][0], _PARTS.index(item[0][2]), item[0])
        )
    )
    columns = ("task", "part", "model", "label", "TP", "FP", "TN", "FN")
    return ReportTable("Confusion matrices, summed over data sets, folds and seeds", columns, rows)


def metrics(compared: ComparisonResult) -> tuple[Content, ...]:
    """Show the score that ranks by task, then more metrics of each task (S7)."""
    shown = compared.tasks[:MOST_TASKS]
    more = (Fold(f"More metrics of {task}", (_task_metrics(compared, task),)) for task in shown)
    return (cut(score_table(compared)), *_more_tasks(compared), *more)


def score_table(compared: ComparisonResult) -> ReportTable:
    """Return the score that ranks, a row a task and a column a model."""
    shown = compared.ranked
    rows: list[tuple[Cell, ...]] = []
    strong: set[tuple[int, int]] = set()
    mixed = len(set(compared.metrics.values())) > 1
    for at, task in enumerate(compared.tasks):
        means = [mean_score(system, task) for system in shown]
        best = max((mean for mean in means if mean is not None), default=None)
        rounded = [None if mean is None else round(mean, 3) for mean in means]
        strong |= {
            (at, column + 1 + mixed)
            for column, mean in enumerate(rounded)
            if best is not None and mean == round(best, 3)
        }
        named = (task, compared.metrics[task]) if mixed else (task,)
        rows.append((*named, *(score_with_spread(system.runs.get(task, ())) for system in shown)))
    if len(rows) > 1:
        columns = [[mean_score(system, task) for task in compared.tasks] for system in shown]
        named = ("mean over tasks", "") if mixed else ("mean over tasks",)
        rows.append((*named, *(_mean(column) for column in columns)))
    names = ("task", "metric") if mixed else ("task",)
    return ReportTable(
        f"{compared.metric} on each task",
        (*names, *(system.name for system in shown)),
        tuple(rows),
        "In brackets the 95 % bootstrap interval of a single run, over its test examples; or, of"
        " several seeds, their standard deviation after ±. The best of a row is bold.",
        frozenset(strong),
    )


def score_with_spread(runs: Sequence[Run]) -> Cell:
    """Return the score of a model's runs on a task, with what is known of its spread."""
    ranked = [ranking_score(run.scores) for run in runs]
    values = [score.value for score in ranked if score.value is not None]
    if not values:
        return None
    mean = fmean(values)
    if len(values) > 1:
        spread = math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1))
        return f"{formatted(mean)} ± {spread:.3f}"
    interval = next(score.interval for score in ranked if score.value is not None)
    return with_interval(mean, *((interval.low, interval.high) if interval else (None, None)))


def _mean(column: Sequence[float | None]) -> Cell:
    values = [value for value in column if value is not None]
    if not values:
        return None
    missing = len(column) - len(values)
    mean = formatted(fmean(values))
    return f"{mean} ({missing} missing)" if missing else mean


def _task_metrics(compared: ComparisonResult, task: str) -> ReportTable:
    systems = [system for system in compared.ranked if task in system.runs]
    values_by_system = [
        [shown_metrics(run.scores) for run in system.runs[task]] for system in systems
    ]
    names = list(
        dict.fromkeys(name for runs in values_by_system for values in runs for name in values)
    )[:14]
    rows = []
    for system, runs in zip(systems, values_by_system, strict=True):
        cells = []
        for name in names:
            values = [values[name] for values in runs if name in values]
            cells.append(fmean(values) if values else None)
        rows.append((system.name, *cells))
    return cut(
        ReportTable(
            task,
            ("model", *names),
            tuple(rows),
            f"Means over seeds; {NOTHING} where a metric divides by zero.",
        )
    )


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

"""S6 to S8: confusion matrices, metrics, and how scores fall from train to test."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from goldpan.evaluation.comparing import ComparisonResult, mean_score
from goldpan.evaluation.comparison_units import System
from goldpan.evaluation.ecser import shown_metrics
from goldpan.evaluation.higher_is_better import turned
from goldpan.evaluation.report.formatted import NOTHING, told, with_interval
from goldpan.evaluation.report.shapes import Content, Fold, Group, Matrix, Table, cut, folded, table
from goldpan.evaluation.runs import Run
from goldpan.evaluation.statistics.step_results import confusion_step, drift_step
from goldpan.evaluation.statistics.step_shapes import Cell, Text
from goldpan.evaluation.statistics.step_shapes import Table as StepTable
from goldpan.evaluation.statistics.study import Study

MOST_TASKS = 60
"""Tasks that are shown one by one."""
_MOST_MATRICES = 8
_MOST_LABELS = 12
_OPEN = 3


def confusion(compared: ComparisonResult, study: Study) -> tuple[Content, ...]:
    """Show each task's matrices, the best models first (S6)."""
    whole = [folded(table(one)) for one in confusion_step(study) if isinstance(one, StepTable)]
    folds: list[Content] = []
    for task in compared.tasks[:MOST_TASKS]:
        there = [one for one in compared.ranked if task in one.runs]
        found = [_matrix(one, one.runs[task]) for one in there[:_MOST_MATRICES]]
        matrices = tuple(one for one in found if one is not None)
        if matrices:
            folds.append(Fold(task, (Group(matrices),), open=len(folds) < _OPEN))
    content: list[Content] = []
    if folds:
        content.append(Text(_matrices_note(compared)))
    content += folds
    return (*content, *_more_tasks(compared), *whole)


def metrics(compared: ComparisonResult) -> tuple[Content, ...]:
    """Show the score that ranks by task, then more metrics of each task (S7)."""
    content: list[Content] = [cut(score_table(compared)), *_more_tasks(compared)]
    shown = compared.tasks[:MOST_TASKS]
    content += [Fold(f"More metrics of {task}", (_task_metrics(compared, task),)) for task in shown]
    return tuple(content)


def score_table(compared: ComparisonResult, systems: Sequence[System] | None = None) -> Table:
    """Return the score that ranks, a row a task and a column a model."""
    shown = compared.ranked if systems is None else systems
    rows: list[tuple[Cell, ...]] = []
    strong: set[tuple[int, int]] = set()
    mixed = len(set(compared.metrics.values())) > 1
    for at, task in enumerate(compared.tasks):
        means = [mean_score(one, task) for one in shown]
        best = max((mean for mean in means if mean is not None), default=None)
        told_means = [None if mean is None else round(mean, 3) for mean in means]
        strong |= {
            (at, column + 1 + mixed)
            for column, mean in enumerate(told_means)
            if best is not None and mean == round(best, 3)
        }
        named = (task, compared.metrics[task]) if mixed else (task,)
        rows.append((*named, *(told_score(one.runs.get(task, ())) for one in shown)))
    if len(rows) > 1:
        columns = [[mean_score(one, task) for task in compared.tasks] for one in shown]
        named = ("mean over tasks", "") if mixed else ("mean over tasks",)
        rows.append((*named, *(_mean(column) for column in columns)))
    names = ("task", "metric") if mixed else ("task",)
    return Table(
        f"{compared.metric} on each task",
        (*names, *(one.name for one in shown)),
        tuple(rows),
        "In brackets the 95 % bootstrap interval of a single run, over its test examples; or, of"
        " several seeds, their standard deviation after ±. The best of a row is bold.",
        frozenset(strong),
    )


def drift(compared: ComparisonResult, study: Study) -> tuple[Content, ...]:
    """Show how much of the scores on train and validation is lost on test (S8)."""
    full = drift_step(study)
    rows: list[tuple[Cell, ...]] = []
    for one in compared.ranked:
        values = [
            tuple(
                turned(each).value for each in (run.train_scores, run.validation_scores, run.scores)
            )
            for run in one.every()
        ]
        train, validation, test = (_average(side) for side in zip(*values, strict=True))
        rows.append(
            (one.name, train, validation, test, _less(test, train), _less(test, validation))
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
    content: list[Content] = [Table(title, columns, tuple(rows), note)]
    content += [folded(table(one)) for one in full if isinstance(one, StepTable)]
    content += [Text(f"{one.text}.") for one in full if isinstance(one, Text)]
    return tuple(content)


def told_score(runs: Sequence[Run]) -> Cell:
    """Return the score of a model's runs on a task, with what is known of its spread."""
    found = [turned(run.scores) for run in runs]
    values = [one.value for one in found if one.value is not None]
    if not values:
        return None
    mean = math.fsum(values) / len(values)
    if len(values) > 1:
        spread = math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1))
        return f"{told(mean)} ± {spread:.3f}"
    interval = next(one.interval for one in found if one.value is not None)
    return with_interval(mean, *((interval.low, interval.high) if interval else (None, None)))


def _average(values: Sequence[float | None]) -> float | None:
    """Return the mean where every run has a value: over others it could not be compared."""
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if len(known) == len(values) else None


def _less(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other


def _mean(column: Sequence[float | None]) -> Cell:
    values = [value for value in column if value is not None]
    if not values:
        return None
    missing = len(column) - len(values)
    mean = told(math.fsum(values) / len(values))
    return f"{mean} ({missing} missing)" if missing else mean


def _task_metrics(compared: ComparisonResult, task: str) -> Table:
    there = [one for one in compared.ranked if task in one.runs]
    found = [[shown_metrics(run.scores) for run in one.runs[task]] for one in there]
    names = list(dict.fromkeys(name for runs in found for values in runs for name in values))[:14]
    rows = []
    for one, runs in zip(there, found, strict=True):
        cells = []
        for name in names:
            values = [values[name] for values in runs if name in values]
            cells.append(math.fsum(values) / len(values) if values else None)
        rows.append((one.name, *cells))
    return cut(
        Table(
            task,
            ("model", *names),
            tuple(rows),
            f"Means over seeds; {NOTHING} where a metric divides by zero.",
        )
    )


def _matrix(system: System, runs: Sequence[Run]) -> Matrix | None:
    found = [run.scores.confusion for run in runs if run.scores.confusion is not None]
    if not found or len(found[0].labels) > _MOST_LABELS:
        return None
    counts = tuple(
        tuple(sum(cells) for cells in zip(*rows, strict=True))
        for rows in zip(*(one.counts for one in found), strict=True)
    )
    return Matrix(system.name, found[0].labels, counts, _seeds(found))


def _seeds(found: Sequence[object]) -> str:
    return f"sum over {len(found)} seeds" if len(found) > 1 else ""


def _matrices_note(compared: ComparisonResult) -> str:
    note = "A row is a right label, a column what was answered; what is right lies on the diagonal."
    if len(compared.systems) > _MOST_MATRICES:
        note += f" The first {_MOST_MATRICES} models are shown here; all counts are in the table."
    return note


def _more_tasks(compared: ComparisonResult) -> Iterator[Text]:
    more = len(compared.tasks) - MOST_TASKS
    if more > 0:
        yield Text(f"{more:,} more tasks are not shown one by one; the tables of scores hold them.")

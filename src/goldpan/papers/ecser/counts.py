"""Steps S6 to S8 and S10 of ECSER out of confusion counts, by data set, project or fold.

`cells_of` says which step a cell is of; rows of S10 are a task and a metric, its columns Omnibus,
p, and two classifiers with `vs` between them. A metric that divides by zero counts as 0.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

import numpy as np

from goldpan.plugins import data
from goldpan.plugins.evaluation import (
    FEWEST_TASKS,
    CellOutcome,
    Confusion,
    Floats,
    PaperContext,
    Part,
    TableRecipe,
    autoranked,
    cohen_d,
    label_metric,
    magnitude,
    read_scores,
)

METRICS = ("Precision", "Recall", "F1")
ALPHA = 0.05
_PARTS: Mapping[str, Part] = {"Training": "train", "Validation": "validation", "Tests": "test"}


def steps(
    context: PaperContext,
    table: TableRecipe,
    file: str,
    tasks: Mapping[str, str],
    parts: Mapping[str, Part] = _PARTS,
) -> Iterator[CellOutcome]:
    """Yield the cells of the table that a file of counts gives.

    The file is as `goldpan evaluate compare --scores` takes it; `tasks` has its name of each of
    the paper's (a paper with one task names it by an empty text), `parts` the titles in S6.
    """
    study = _read(context, file, tasks)
    words = {word for name in (*table.rows, *table.columns) for word in name.split()}
    models = sorted({model for _, model, _ in study.counted})
    if words.isdisjoint(models):
        raise data.EvaluationError(
            f"{context.file(file).path} has counts of {', '.join(models)}, which "
            f"{table.title} has not",
            "Write classifiers in the column model as the table does",
        )
    for (row, column), value in cells_of(study, parts).items():
        if row in table.rows and column in table.columns:
            yield CellOutcome(row, column, value, facts={"file": file})
    yield from _tests(context, table, study)


def _read(context: PaperContext, key: str, names: Mapping[str, str]) -> CountTable:
    file = context.file(key)
    scores = read_scores(file.path)
    if scores.layout != "counts":
        raise data.EvaluationError(
            f"{file.path} holds {scores.layout}, not confusion counts",
            "Name the columns model, task, part, project, fold, tp, fp, tn, fn",
        )
    tasks = {written: task for task, written in names.items()}
    counted: dict[tuple[str, str, Part], list[tuple[str, Confusion]]] = defaultdict(list)
    for run, labels in scores.counts.items():
        if run.task not in tasks:
            continue
        if len(labels) != 1:
            raise data.EvaluationError(
                f"{file.path} counts {len(labels)} labels of {run.dataset}",
                "Give the counts of the positive label alone",
            )
        (counts,) = labels.values()
        part = tasks[run.task], run.model, run.part
        counted[part].append((run.project or run.fold, counts))
    if not counted:
        raise data.EvaluationError(
            f"{file.path} has counts of {', '.join(sorted({run.task for run in scores.counts}))}, "
            "which are none of the paper's tasks",
            f"Call them {', '.join(tasks)} in the column task",
        )
    return CountTable(counted)


def _tests(context: PaperContext, table: TableRecipe, study: CountTable) -> Iterator[CellOutcome]:
    """Yield S10: the omnibus test that the values allow, and the effects of pairs."""
    pairs = [tuple(name.split(" vs ")) for name in table.columns if name.count(" vs ") == 1]
    pairs = [pair for pair in pairs if not pair[1].endswith(" magnitude")]
    models = tuple(dict.fromkeys(model for pair in pairs for model in pair))
    for task in study.tasks:
        if not models or not set(models) <= set(study.models(task)):
            continue
        for metric in METRICS:
            row = named(task, metric)
            if row not in table.rows:
                continue
            values = study.matrix(task, models, metric)
            if values.shape[1] < FEWEST_TASKS:
                context.note(f"{row}: {values.shape[1]} test sets are too few for a test.")
                continue
            test = autoranked(values, alpha=ALPHA)
            p = float(test.pvalue)
            cells: dict[str, float | str | None] = {
                "Omnibus": test.omnibus,
                "p": p if math.isfinite(p) else 1.0,
            }
            for first, second in pairs:
                d = cohen_d(values[models.index(first)], values[models.index(second)])
                cells[f"{first} vs {second}"] = None if d is None else abs(d)
                cells[f"{first} vs {second} magnitude"] = magnitude(d)
            for column, value in cells.items():
                if column in table.columns and value is not None:
                    yield CellOutcome(row, column, value)


@dataclass(frozen=True)
class CountTable:
    """All counts of one or more tasks and classifiers."""

    counted: Mapping[tuple[str, str, Part], Sequence[tuple[str, Confusion]]]
    """Each data set, project or fold with the answers to it, by task, classifier and part."""

    @property
    def tasks(self) -> tuple[str, ...]:
        """Return the tasks, as they come."""
        return tuple(dict.fromkeys(task for task, _, _ in self.counted))

    def models(self, task: str) -> tuple[str, ...]:
        """Return the classifiers of a task, as they come."""
        return tuple(dict.fromkeys(model for own, model, _ in self.counted if own == task))

    def values(self, task: str, model: str, part: Part, metric: str) -> Floats:
        """Return a metric of each data set of a part, by the data sets' names."""
        rows = sorted(self.counted.get((task, model, part), ()), key=itemgetter(0))
        return np.array([self._metric(counts, metric) for _, counts in rows])

    def matrix(self, task: str, models: Iterable[str], metric: str) -> Floats:
        """Return a metric on the test sets, models x data sets that all of them answered."""
        by_model = [dict(self.counted.get((task, model, "test"), ())) for model in models]
        shared = sorted(set.intersection(*(set(counts) for counts in by_model)))
        return np.array(
            [[self._metric(counts[name], metric) for name in shared] for counts in by_model]
        )

    def _metric(self, counts: Confusion, name: str) -> float:
        return label_metric(counts, name.lower()) or 0.0


def pool(confusions: Iterable[Confusion]) -> Confusion:
    """Add up confusion matrices, as of the folds of a cross-validation or of several data sets.

    Metrics of the sum weigh each example alike; the mean over data sets weighs each data set
    alike, so the two differ (Tables 9 and 10).
    """
    return Confusion(*map(sum, zip(*(each.counts for each in confusions), strict=True)))


def named(task: str, rest: str) -> str:
    """Return the name of a row or column of a task; papers with one task leave it out."""
    return f"{task} {rest}" if task else rest


def cells_of(study: CountTable, parts: Mapping[str, Part]) -> dict[tuple[str, str], float | str]:
    """Return the steps S6 to S8 as cells, by row and column.

    S6: rows are a part's title and the classifier, columns the task and TP, FP, TN or FN. S7 and
    S8: rows are the task and the classifier, columns a metric and `training`, `validation`, `test`
    (means over data sets, with `SD`), `overfitting` (Equation 1), `degradation` with `p`, `eta2`
    and `magnitude`.
    """
    cells: dict[tuple[str, str], float | str] = {}
    for task in study.tasks:
        for model in study.models(task):
            for title, part in parts.items():
                if counts := study.counted.get((task, model, part)):
                    cumulative = pool([confusion for _, confusion in counts])
                    for kind in ("tp", "fp", "tn", "fn"):
                        key = named(title, model), named(task, kind.upper())
                        cells[key] = getattr(cumulative, kind)
            for metric in METRICS:
                row = named(task, model)
                for column, value in _performance(study, task, model, metric).items():
                    undefined = isinstance(value, float) and math.isnan(value)
                    if value is not None and value != "" and not undefined:
                        cells[row, f"{metric} {column}"] = value
    return cells


def _performance(
    study: CountTable, task: str, model: str, metric: str
) -> dict[str, float | str | None]:
    train, validation, test = (
        study.values(task, model, part, metric) for part in ("train", "validation", "test")
    )
    cells: dict[str, float | str | None] = {}
    for title, values in (("training", train), ("validation", validation), ("test", test)):
        if values.size:
            cells[title] = float(values.mean())
            cells[f"{title} SD"] = float(values.std(ddof=1)) if values.size > 1 else None
    if train.size == 1 and test.size:
        cells["overfitting"] = float((test - train[0]).mean())
        cells["overfitting SD"] = cells["test SD"]
    if validation.size > 1 and test.size > 1:
        p, eta = degradation(validation, test)
        cells["degradation p"] = p
        cells["degradation eta2"] = eta
        cells["degradation magnitude"] = magnitude(eta, ETA_LIMITS)
    return cells


ETA_LIMITS = (0.01, 0.06, 0.14)
"""From which eta squared on an effect is small, medium and large (Table 14)."""


def degradation(validation: Floats, test: Floats) -> tuple[float, float]:
    """Return p and eta squared of test scores against those of validation sets or folds.

    By Mann-Whitney's U, exact for few values without ties. Eta squared (Table 14) is z^2 / N with
    the z of the normal approximation, without continuity or tie correction.
    """
    result = data.load("scipy.stats", "A comparison").mannwhitneyu(test, validation)
    first, second = test.size, validation.size
    z = (float(result.statistic) - first * second / 2) / math.sqrt(
        first * second * (first + second + 1) / 12
    )
    return float(result.pvalue), z * z / (first + second)

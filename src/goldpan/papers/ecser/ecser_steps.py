"""ECSER's steps S6 to S8 and S10 out of confusion counts a data set, project or fold.

Settings: `file`, a file of counts as `goldpan evaluate compare --scores` takes it (`model, task,
part, project, fold, tp, fp, tn, fn`); `tasks`, the file's name of each of the paper's (a paper
with one task names it by an empty text); `models`, likewise for classifiers; `parts`, the titles
of train, validation and test in the table of S6; `undefined`, what a metric that divides by zero
counts as. Which step a cell is of, its row and column tell (`classifier_counts.steps`); rows of
S10 are a task and a metric, its columns Omnibus, p, and two classifiers with `vs` between them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from goldpan.core.errors import EvaluationError
from goldpan.evaluation.metrics.confusion import BinaryConfusion
from goldpan.evaluation.score_files import Part, read_scores
from goldpan.evaluation.statistics.assumptions import check_assumptions
from goldpan.evaluation.statistics.effects import cohen_d, magnitude
from goldpan.evaluation.statistics.few_tasks import FEWEST_TASKS
from goldpan.evaluation.statistics.omnibus import anova, friedman
from goldpan.papers.ecser.classifier_counts import METRICS, Counted, Study, named, steps
from goldpan.reproduce.cells import Outcome
from goldpan.reproduce.context import Context
from goldpan.reproduce.recipe import TableRecipe
from goldpan.reproduce.scores import parsed

PARTS: Mapping[str, Part] = {"Training": "train", "Validation": "validation", "Tests": "test"}


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    file: str
    tasks: Mapping[str, str]
    models: Mapping[str, str] = {}
    parts: Mapping[str, Part] = PARTS
    undefined: float = 0.0


def compute(context: Context, table: TableRecipe, settings: Mapping[str, Any]) -> Iterator[Outcome]:
    """Yield the cells of the table that the counts of the file give."""
    chosen = parsed(_Settings, settings)
    study = _read(context, chosen)
    _check_names(context.file(chosen.file).path, table, study)
    for (row, column), value in steps(study, chosen.parts).items():
        if row in table.rows and column in table.columns:
            yield Outcome(row, column, value, "recomputed", facts={"file": chosen.file})
    yield from _tests(context, table, study)


def _read(context: Context, settings: _Settings) -> Study:
    file = context.file(settings.file)
    held = read_scores(file.path)
    if held.layout != "counts":
        raise EvaluationError(
            f"{file.path} holds {held.layout}, not confusion counts",
            "Name the columns model, task, part, project, fold, tp, fp, tn, fn",
        )
    tasks = {written: task for task, written in settings.tasks.items()}
    models = {written: model for model, written in settings.models.items()}
    counted = []
    for key, labels in held.counts.items():
        if key.task not in tasks:
            continue
        if len(labels) != 1:
            raise EvaluationError(
                f"{file.path} counts {len(labels)} labels of {key.dataset}",
                "Give the counts of the positive label alone",
            )
        (counts,) = labels.values()
        counted.append(
            Counted(
                tasks[key.task],
                models.get(key.model, key.model),
                key.part,
                key.project or key.fold,
                BinaryConfusion(counts.tp, counts.fp, counts.tn, counts.fn),
            )
        )
    if not counted:
        raise EvaluationError(
            f"{file.path} has counts of {', '.join(sorted({key.task for key in held.counts}))}, "
            "which are none of the paper's tasks",
            f"Call them {', '.join(tasks)} in the column task",
        )
    return Study(tuple(counted), settings.undefined)


def _check_names(path: Path, table: TableRecipe, study: Study) -> None:
    """Raise `EvaluationError` where the table has none of the file's classifiers."""
    words = {word for name in (*table.rows, *table.columns) for word in name.split()}
    models = sorted({row.model for row in study.counted})
    if not words & set(models):
        raise EvaluationError(
            f"{path} has counts of {', '.join(models)}, which {table.title} has not",
            "Write classifiers in the column model as the table does",
        )


def _tests(context: Context, table: TableRecipe, study: Study) -> Iterator[Outcome]:
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
            alpha = context.recipe.statistics.alpha
            checked = check_assumptions(values, alpha)
            test = anova(values) if checked.normal and checked.same_variance else friedman(values)
            cells: dict[str, float | str | None] = {"Omnibus": test.name, "p": test.p}
            for first, second in pairs:
                d = cohen_d(values[models.index(first)], values[models.index(second)])
                cells[f"{first} vs {second}"] = None if d is None else abs(d)
                cells[f"{first} vs {second} magnitude"] = magnitude(d)
            for column, value in cells.items():
                if column in table.columns and value is not None:
                    yield Outcome(row, column, value, "recomputed")

"""Cells that come from runs of the recipe's models and from the rows of its tasks.

`runs`: scores of models that are run here, or of finished runs. Rows and columns of the table are
tasks and models, either way round; models stand under the recipe's name or title. Settings:
`one_minus`, the metrics that the paper turns round.

`split_counts`: rows by split and label, counted in the authors' files. Settings: `tasks`, by the
table's row; `columns`, by its column a split (all of them if empty) and the number of a label, from
0, in the task's order (any label if empty).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow.compute as pc

from goldpan.core.errors import DatasetError, EvaluationError, UnknownNameError, UsageError
from goldpan.core.registry import unknown_name
from goldpan.datasets.task import Task, target_column
from goldpan.datasets.task_data import TaskData
from goldpan.evaluation.model import Model, find_model
from goldpan.evaluation.protocol import Protocol, find_protocol, settings_for
from goldpan.evaluation.run import RunResult, run
from goldpan.evaluation.runs import RESULT, Run, identity, read_result, run_directory
from goldpan.reproduce.cells import Context, Outcome, parsed, runs_models
from goldpan.reproduce.data import MissingFileError
from goldpan.reproduce.prepare import Prepared, laboratory, prepared
from goldpan.reproduce.recipe import ModelRecipe, Recipe, StrictModel, TableRecipe, TaskRecipe

# The models of a recipe as Goldpan runs them, and their runs.

_COMMIT = re.compile(r"[0-9a-f]{40}")


def find_models(recipe: Recipe, names: tuple[str, ...]) -> tuple[ModelRecipe, ...]:
    """Return the models of those names, the baselines without any.

    NAME@COMMIT takes other weights than the recipe's. Raises `UsageError` for a model that the
    recipe has not, or what is no commit.
    """
    if not names:
        return tuple(model for model in recipe.models if model.kind == "baseline")
    chosen = []
    for argument in names:
        name, sign, commit = argument.partition("@")
        model = recipe.model(name)
        if model is None:
            choice = [entry.name for entry in recipe.models]
            raise unknown_name("model", name, choice, where=f"The recipe {recipe.name}")
        if sign and not _COMMIT.fullmatch(commit):
            raise UsageError(f"{commit!r} is not a commit", "Write its 40 hexadecimal digits")
        chosen.append(model.model_copy(update={"commit": commit}) if sign else model)
    return tuple(chosen)


def takes(model: ModelRecipe, task: Task) -> bool:
    """Return whether the authors ran a model on tasks of that type."""
    return not model.task_types or task.type in model.task_types


def make_model(
    recipe: ModelRecipe, protocol: Protocol, *, quick: bool = False, download: bool = False
) -> Model:
    """Return the model with the settings of the protocol and the recipe, or of a small grid.

    Raises `UsageError` for weights that are not on this machine where nothing may be fetched, or
    whose commit the recipe does not know.
    """
    settings: dict[str, Any] = {**recipe.settings, **(recipe.quick if quick else {})}
    name = recipe.model
    if recipe.kind == "prompted":
        name, settings = "prompted", {"model": recipe.name, **settings}
    elif recipe.kind == "fine-tuned":
        name, settings = (
            "finetuned",
            {"weights": weights_of(recipe), "download": download, **settings},
        )
    return find_model(name, settings_for(protocol, name, settings))


def weights_of(recipe: ModelRecipe) -> str:
    """Return where weights lie on the Hub, at their commit; raises `UsageError` without one."""
    if not recipe.commit:
        raise UsageError(
            f"The recipe has no commit for {recipe.hub or recipe.name}",
            f"Give one from the model's page: --models {recipe.name}@COMMIT",
        )
    return f"{recipe.hub}@{recipe.commit}"


def run_of(
    context: Context, data: TaskData, recipe: ModelRecipe, protocol: Protocol
) -> RunResult | None:
    """Return a finished run, running it where that is wanted; None where it is not there."""
    lab, effort = laboratory(context), context.effort
    model = make_model(recipe, protocol, quick=effort.quick, download=context.download)
    if effort.run:
        return run(lab, data, model, protocol, context.seed, context.reporter)
    directory = run_directory(lab, identity(data, model, protocol, context.seed))
    if not (directory / RESULT).exists():
        return None
    return RunResult(directory, read_result(directory), again=True)


def model_of(models: Sequence[ModelRecipe], run: Run) -> ModelRecipe | None:
    """Return which of the paper's models a run asked or trained: by name, title or weights."""
    settings = run.record.settings
    model_names = {run.model, str(settings.get("model", "")), str(settings.get("weights", ""))}
    asked_names = {_last_part(name) for name in model_names if name}
    trained = run.model.startswith("finetuned")
    for model in models:
        names = {_last_part(name) for name in (model.name, model.title, model.hub) if name}
        if asked_names & names and trained == (model.kind == "fine-tuned"):
            return model
    return None


def _last_part(name: str) -> str:
    """Return a name without the owner and commit of weights, in one case."""
    return name.partition("@")[0].rpartition("/")[2].casefold()


class _Runs(StrictModel):
    one_minus: tuple[str, ...] = ()


@runs_models
def runs(context: Context, table: TableRecipe, settings: Mapping[str, Any]) -> Iterator[Outcome]:
    """Yield the main score of each run of a model and task of the table."""
    chosen = parsed(_Runs, settings)
    if not context.effort.run and not (laboratory(context).root / "runs").is_dir():
        return
    models = find_models(context.recipe, context.effort.models)
    wrong: list[DatasetError] = []
    for task in context.recipe.tasks:
        if context.effort.tasks and task.task not in context.effort.tasks:
            continue
        cells = {
            model.name: cell
            for model in models
            if (cell := _cell(table, task.task, model)) is not None
        }
        if not cells:
            continue
        with_cells = [model for model in models if model.name in cells]
        try:
            ready = prepared(context, task)
        except (MissingFileError, UnknownNameError, DatasetError) as error:
            for row, column in cells.values():
                yield Outcome(row, column, None, "untested", error.problem)
            if isinstance(error, DatasetError):
                wrong.append(error)
            continue
        for model in with_cells:
            if takes(model, ready.data.task):
                yield _outcome(context, task, ready, model, cells[model.name], chosen)
    if wrong:  # the others went ahead
        raise wrong[0]


def _cell(table: TableRecipe, task: str, model: ModelRecipe) -> tuple[str, str] | None:
    for label in (model.title, model.name):
        for row, column in ((task, label), (label, task)):
            if row in table.rows and column in table.columns:
                return row, column
    return None


def _outcome(
    context: Context,
    task: TaskRecipe,
    ready: Prepared,
    model: ModelRecipe,
    cell: tuple[str, str],
    settings: _Runs,
) -> Outcome:
    effort = context.effort
    try:
        result = run_of(context, ready.data, model, find_protocol(context.recipe.protocol))
    except (EvaluationError, UsageError) as error:
        context.problem(f"{model.title} did not run on {task.task}: {error}")
        return Outcome(*cell, None, "untested", str(error))
    if result is None:
        return Outcome(*cell, None, "untested", "it was not run here")
    record = result.record
    value = record.scores.value(record.scores.main)
    if value is not None and record.scores.main in settings.one_minus:
        value = 1 - value
    rows = sum(record.rows.values())
    notes = list(ready.notes)
    if rows < (total := task.counts.get("total", rows)):
        notes.append(f"{rows:,} of {total:,} rows")
    if effort.quick and model.quick and not record.in_part:
        notes.append("a small grid")
    notes += record.in_part
    facts = {
        "run": result.directory.relative_to(context.workspace.root).as_posix(),
        "metric": record.scores.main,
        "rows": dict(sorted(record.rows.items())),
        "seed": record.seed,
        "candidates": record.learning.candidates,
        "seconds": round(record.costs.wall_seconds, 1),
    }
    return Outcome(*cell, value, "in part" if notes else "run", "; ".join(notes), facts)


class _Columns(StrictModel):
    tasks: Mapping[str, str]
    columns: Mapping[str, tuple[str, str]]


def split_counts(
    context: Context, table: TableRecipe, settings: Mapping[str, Any]
) -> Iterator[Outcome]:
    """Yield the counts of each task whose files are there."""
    chosen = parsed(_Columns, settings)
    for row, name in chosen.tasks.items():
        task = context.recipe.task(name)
        if task is None or (context.effort.tasks and name not in context.effort.tasks):
            continue
        try:
            ready = prepared(context, task)
        except (MissingFileError, UnknownNameError) as error:
            for column in chosen.columns:
                yield Outcome(row, column, None, "untested", error.problem)
            continue
        limited = ("rows were limited",) if context.effort.limit is not None else ()
        note = "; ".join((*ready.notes, *limited))
        for column, (split, label) in chosen.columns.items():
            count = _count(ready.data, split, label)
            yield Outcome(row, column, count, "in part" if note else "run", note)


def _count(data: TaskData, split: str, label: str) -> int:
    tables = [rows for name, rows in data.splits.items() if split in ("", name)]
    if not label:
        return sum(map(len, tables))
    name, target = data.task.label_names[int(label)], target_column(data.task.type).name
    return sum(int(pc.sum(pc.equal(rows[target], name)).as_py() or 0) for rows in tables)

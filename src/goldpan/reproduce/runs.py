"""Runs of a paper's models on its tasks, for the functions of its tables."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import Any

from goldpan.core.errors import DatasetError, EvaluationError, UnknownNameError, UsageError
from goldpan.core.plugins.registry import unknown_name
from goldpan.datasets.tasks.data import TaskData
from goldpan.evaluation.model import Model, find_model
from goldpan.evaluation.protocol import Protocol, find_protocol, settings_for
from goldpan.evaluation.record import RunRecord, read_record, run_directory
from goldpan.evaluation.run import is_finished, run, run_identity
from goldpan.reproduce.cells import CellOutcome, PaperContext, State
from goldpan.reproduce.data import MissingFileError
from goldpan.reproduce.prepare import Prepared, expected_counts, laboratory, prepared
from goldpan.reproduce.recipe import ModelRecipe, PaperRecipe, TableRecipe, TaskRecipe

_COMMIT = re.compile(r"[0-9a-f]{40}")


def find_models(recipe: PaperRecipe, names: tuple[str, ...]) -> tuple[ModelRecipe, ...]:
    """Return the models of those names, the baselines without any.

    NAME@COMMIT takes other weights than the recipe's. Raises `UsageError` for a model that the
    recipe has not, or what is no commit.
    """
    if not names:
        return tuple(model for model in recipe.models if model.kind == "baseline")
    named = []
    for argument in names:
        name, sign, commit = argument.partition("@")
        model = recipe.model(name)
        if model is None:
            choice = [one.name for one in recipe.models]
            raise unknown_name("model", name, choice, where=f"The recipe {recipe.name}")
        if sign and not _COMMIT.fullmatch(commit):
            raise UsageError(f"{commit!r} is not a commit", "Write its 40 hexadecimal digits")
        named.append(model.model_copy(update={"commit": commit}) if sign else model)
    return tuple(named)


def _make_model(recipe: ModelRecipe, protocol: Protocol, *, download: bool = False) -> Model:
    """Return the model with the settings of the protocol and the recipe.

    Raises `UsageError` for weights that are not on this machine where nothing may be fetched, or
    whose commit the recipe does not know.
    """
    name, named = recipe.model, dict[str, Any]()
    if recipe.kind == "prompted":
        name, named = "prompted", {"model": recipe.name}
    elif recipe.kind == "fine-tuned":
        if not recipe.commit:
            raise UsageError(
                f"The recipe has no commit for {recipe.hub or recipe.name}",
                f"Give one from the model's page: --models {recipe.name}@COMMIT",
            )
        named = {"weights": f"{recipe.hub}@{recipe.commit}", "download": download}
        name = "finetuned"
    return find_model(name, settings_for(protocol, name, {**named, **recipe.settings}))


def run_of(
    context: PaperContext, data: TaskData, recipe: ModelRecipe, protocol: Protocol
) -> RunRecord | None:
    """Return a finished run, running it where that is wanted; None where it is not there."""
    lab, effort = laboratory(context), context.effort
    model = _make_model(recipe, protocol, download=context.download)
    if effort.run:
        return run(lab, data, model, protocol, context.seed, context.reporter)
    directory = run_directory(lab, run_identity(data, model, protocol, context.seed))
    return read_record(directory) if is_finished(directory) else None


def model_of(models: Sequence[ModelRecipe], run: RunRecord) -> ModelRecipe | None:
    """Return which of the paper's models a run asked or trained: by name, title or weights."""
    settings = run.settings
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


def run_scores(
    context: PaperContext, table: TableRecipe, one_minus: Collection[str] = ()
) -> Iterator[CellOutcome]:
    """Yield the main score of each run of a model and task that the table has.

    Rows and columns are tasks and models, either way round, models by the recipe's name or title.
    Metrics of `one_minus` are shown as one minus the value.
    """
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
            for cell in islice(table.cells_of(task.task, (model.title, model.name)), 1)
        }
        if not cells:
            continue
        try:
            ready = prepared(context, task)
        except (MissingFileError, UnknownNameError, DatasetError) as error:
            for row, column in cells.values():
                yield CellOutcome(row, column, None, "untested", error.problem)
            if isinstance(error, DatasetError):
                wrong.append(error)
            continue
        for model in models:
            takes = not model.task_types or ready.data.task.type in model.task_types
            if model.name in cells and takes:
                yield _outcome(context, task, ready, model, cells[model.name], one_minus)
    if wrong:  # the others went ahead
        raise wrong[0]


def _outcome(
    context: PaperContext,
    task: TaskRecipe,
    ready: Prepared,
    model: ModelRecipe,
    cell: tuple[str, str],
    one_minus: Collection[str],
) -> CellOutcome:
    try:
        record = run_of(context, ready.data, model, find_protocol(context.recipe.protocol))
    except (EvaluationError, UsageError) as error:
        context.problem(f"{model.title} did not run on {task.task}: {error}")
        return CellOutcome(*cell, None, "untested", str(error))
    if record is None:
        return CellOutcome(*cell, None, "untested", "it was not run here")
    value = record.scores.value(record.scores.main)
    if value is not None and record.scores.main in one_minus:
        value = 1 - value
    rows = sum(record.rows.values())
    notes = list(ready.notes)
    if rows < (total := expected_counts(task, ready.data.task).get("total", rows)):
        notes.append(f"{rows:,} of {total:,} rows")
    notes += record.in_part
    facts = {
        "run": record.directory.relative_to(context.workspace.root).as_posix(),
        "metric": record.scores.main,
        "rows": dict(sorted(record.rows.items())),
        "seed": record.seed,
        "candidates": record.learning.candidates,
        "seconds": round(record.costs.wall_seconds, 1),
    }
    state: State = "in part" if notes else "run"
    return CellOutcome(*cell, value, state, "; ".join(notes), facts)

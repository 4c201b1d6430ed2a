"""The models of a recipe as Goldpan runs them, and their runs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from goldpan.core.errors import UsageError
from goldpan.core.registry import unknown_name
from goldpan.datasets.task import Task
from goldpan.datasets.task_data import TaskData
from goldpan.evaluation.model import Model
from goldpan.evaluation.models.catalogue import find_model
from goldpan.evaluation.protocol import Protocol, settings_for
from goldpan.evaluation.run import RunResult, run
from goldpan.evaluation.runs import RESULT, Run, identity, read_result, run_directory
from goldpan.reproduce.cells import Context
from goldpan.reproduce.prepare import laboratory
from goldpan.reproduce.recipe import ModelRecipe, Recipe

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

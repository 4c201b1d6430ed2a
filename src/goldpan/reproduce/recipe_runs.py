"""Runs of a recipe's models on its tasks, or the finished ones where nothing is to be run."""

from __future__ import annotations

from collections.abc import Sequence

from goldpan.datasets.task_data import TaskData
from goldpan.evaluation.protocol import Protocol
from goldpan.evaluation.run import RunResult, run
from goldpan.evaluation.run_identity import identity, run_directory
from goldpan.evaluation.runs import Run
from goldpan.evaluation.stored import RESULT, read_result
from goldpan.reproduce.context import Context
from goldpan.reproduce.models import make_model
from goldpan.reproduce.prepare import laboratory
from goldpan.reproduce.recipe import ModelRecipe


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

"""Runs of a recipe's models on its tasks, or the finished ones where nothing is to be run."""

from __future__ import annotations

from goldpan.datasets.task_data import TaskData
from goldpan.evaluation.protocol import Protocol
from goldpan.evaluation.run import RunResult, identity, run, run_directory
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

"""Cells that come from running a model on a task here, or from finished runs.

Rows and columns of the table are tasks and models, either way round; models stand under the
recipe's name or title. Settings: `one_minus`, the metrics that the paper turns round.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict

from goldpan.core.errors import DatasetError, EvaluationError, UsageError
from goldpan.evaluation.protocol import find_protocol
from goldpan.reproduce.cells import Outcome
from goldpan.reproduce.context import Context, runs_models
from goldpan.reproduce.data import MissingFileError
from goldpan.reproduce.models import find_models, takes
from goldpan.reproduce.prepare import Prepared, laboratory, prepared
from goldpan.reproduce.recipe import ModelRecipe, TableRecipe, TaskRecipe
from goldpan.reproduce.recipe_runs import run_of
from goldpan.reproduce.scores import parsed


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    one_minus: tuple[str, ...] = ()


@runs_models
def compute(context: Context, table: TableRecipe, settings: Mapping[str, Any]) -> Iterator[Outcome]:
    """Yield the main score of each run of a model and task of the table."""
    chosen = parsed(_Settings, settings)
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
        except (MissingFileError, DatasetError) as error:
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
    settings: _Settings,
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

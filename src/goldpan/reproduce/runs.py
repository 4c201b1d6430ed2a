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
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import pyarrow.compute as pc

from goldpan.core.errors import (
    DatasetError,
    EvaluationError,
    UnknownNameError,
    UsageError,
    WorkspaceError,
)
from goldpan.core.plugins.registry import unknown_name
from goldpan.core.result import NOT_IN_JSON, Result
from goldpan.core.storage.workspace import make_directory, write_whole
from goldpan.datasets.tasks.data import TaskData
from goldpan.datasets.tasks.registry import find_task
from goldpan.datasets.tasks.task import Task, target_column
from goldpan.evaluation.model import Model, find_model
from goldpan.evaluation.protocol import Protocol, find_protocol, settings_for
from goldpan.evaluation.run import RunResult, run
from goldpan.evaluation.runs import RESULT, Run, identity, read_result, run_directory
from goldpan.reproduce.cells import CellOutcome, PaperContext, runs_models
from goldpan.reproduce.data import MissingFileError
from goldpan.reproduce.prepare import Prepared, laboratory, prepared
from goldpan.reproduce.recipe import ModelRecipe, PaperRecipe, TableRecipe, TaskRecipe, find_tasks

# The models of a recipe as Goldpan runs them, and their runs.

_COMMIT = re.compile(r"[0-9a-f]{40}")


def find_models(recipe: PaperRecipe, names: tuple[str, ...]) -> tuple[ModelRecipe, ...]:
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
    name, named = recipe.model, dict[str, Any]()
    if recipe.kind == "prompted":
        name, named = "prompted", {"model": recipe.name}
    elif recipe.kind == "fine-tuned":
        name, named = "finetuned", {"weights": weights_of(recipe), "download": download}
    settings = {**named, **recipe.settings, **(recipe.quick if quick else {})}
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
    context: PaperContext, data: TaskData, recipe: ModelRecipe, protocol: Protocol
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


@runs_models
def runs(
    context: PaperContext, table: TableRecipe, one_minus: tuple[str, ...] = ()
) -> Iterator[CellOutcome]:
    """Yield the main score of each run of a model and task of the table."""
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
            if model.name in cells and takes(model, ready.data.task):
                yield _outcome(context, task, ready, model, cells[model.name], one_minus)
    if wrong:  # the others went ahead
        raise wrong[0]


def _outcome(
    context: PaperContext,
    task: TaskRecipe,
    ready: Prepared,
    model: ModelRecipe,
    cell: tuple[str, str],
    one_minus: tuple[str, ...],
) -> CellOutcome:
    effort = context.effort
    try:
        result = run_of(context, ready.data, model, find_protocol(context.recipe.protocol))
    except (EvaluationError, UsageError) as error:
        context.problem(f"{model.title} did not run on {task.task}: {error}")
        return CellOutcome(*cell, None, "untested", str(error))
    if result is None:
        return CellOutcome(*cell, None, "untested", "it was not run here")
    record = result.record
    value = record.scores.value(record.scores.main)
    if value is not None and record.scores.main in one_minus:
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
    return CellOutcome(*cell, value, "in part" if notes else "run", "; ".join(notes), facts)


def split_counts(
    context: PaperContext,
    table: TableRecipe,
    tasks: Mapping[str, str],
    columns: Mapping[str, tuple[str, str]],
) -> Iterator[CellOutcome]:
    """Yield the counts of each task whose files are there."""
    for row, name in tasks.items():
        task = context.recipe.task(name)
        if task is None or (context.effort.tasks and name not in context.effort.tasks):
            continue
        try:
            ready = prepared(context, task)
        except (MissingFileError, UnknownNameError) as error:
            for column in columns:
                yield CellOutcome(row, column, None, "untested", error.problem)
            continue
        limited = ("rows were limited",) if context.effort.limit is not None else ()
        note = "; ".join((*ready.notes, *limited))
        for column, (split, label) in columns.items():
            count = _count(ready.data, split, label)
            yield CellOutcome(row, column, count, "in part" if note else "run", note)


def _count(data: TaskData, split: str, label: str) -> int:
    tables = [rows for name, rows in data.splits.items() if split in ("", name)]
    if not label:
        return sum(map(len, tables))
    name, target = data.task.label_names[int(label)], target_column(data.task.type).name
    return sum(int(pc.sum(pc.equal(rows[target], name)).as_py() or 0) for rows in tables)


_SCRIPT = """\
#!/bin/bash
#SBATCH --job-name={name}
#SBATCH --nodes=1
#SBATCH --gpus={gpus}
#SBATCH --mem={memory}G
#SBATCH --time={hours}:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output={log}
# A job that is killed and queued again goes on at its last checkpoint; a finished one ends at once.
set -euo pipefail
cd {folder}
{command}
"""
_SUBMIT = """\
#!/bin/bash
# Queues every job of this folder; finished ones end at once, so it may be run again.
set -euo pipefail
cd "$(dirname "$0")"
for job in *.sbatch; do
  sbatch "$job"
done
"""


@dataclass(frozen=True, slots=True)
class ClusterJob:
    """A model of the paper on one of its tasks."""

    shown_in_json: ClassVar[tuple[str, ...]] = ("name",)

    model: ModelRecipe = field(metadata=NOT_IN_JSON)
    task: str
    command: tuple[str, ...]

    @property
    def name(self) -> str:
        """Return the name of its file."""
        return f"{self.model.name}--{self.task}"


@dataclass(frozen=True, slots=True)
class ClusterJobs(Result):
    """The jobs that were written, and why others could not be."""

    jobs: tuple[ClusterJob, ...]
    skipped: tuple[str, ...]
    """A sentence each."""
    files: tuple[Path, ...]
    """The scripts, the one that queues them last."""

    @property
    def exit_code(self) -> int:
        """3 where a job cannot be written."""
        return 3 if self.skipped else 0


def write_jobs(context: PaperContext, directory: Path) -> ClusterJobs:
    """Write a job for each model and task that the authors ran it on, and what queues them.

    The data of every task are made first, so that jobs find them. Raises `UsageError` for a
    model or task that the recipe has not, and where no job is left; `WorkspaceError`.
    """
    jobs: list[ClusterJob] = []
    skipped: list[str] = []
    models = []
    for model in find_models(context.recipe, context.effort.models):
        try:
            if model.kind == "fine-tuned":
                weights_of(model)
            models.append(model)
        except UsageError as error:
            skipped.append(str(error))
    for recipe in find_tasks(context.recipe, context.effort.tasks):
        name = recipe.task
        try:
            task = find_task(name)
            taking = [model for model in models if takes(model, task)]
            if taking:
                prepared(context, recipe)
        except (UsageError, DatasetError) as error:
            skipped.append(f"{name}: {error}")
            continue
        jobs += [ClusterJob(model, name, tuple(_command(context, model, name))) for model in taking]
    if not jobs:
        raise UsageError(
            f"No job can be written: {skipped[0] if skipped else 'nothing was named'}",
            "Name --model and --task that the paper has, with the data of those tasks",
        )
    submit = directory / "submit.sh"
    try:
        make_directory(directory / "logs")
        paths = [_write_job(job, directory) for job in jobs]
        write_whole(submit, _SUBMIT)
        submit.chmod(0o755)
    except OSError as error:
        raise WorkspaceError(
            f"{directory} cannot be written: {error.strerror or error}", "Choose another --output"
        ) from None
    return ClusterJobs(tuple(jobs), tuple(skipped), (*paths, submit))


def _write_job(job: ClusterJob, directory: Path) -> Path:
    path = directory / f"{job.name}.sbatch"
    text = _SCRIPT.format(
        name=f"goldpan-{job.name}",
        gpus=job.model.gpus,
        memory=job.model.memory_gb,
        hours=job.model.hours,
        log=_log(directory.resolve() / "logs", job.name),
        folder=shlex.quote(str(Path.cwd())),
        command=shlex.join(job.command),
    )
    write_whole(path, text)
    return path


def _log(folder: Path, name: str) -> str:
    """Return where Slurm writes what a job prints; it reads quotes, and signs after percents.

    Raises `WorkspaceError` for a folder whose name would end the line.
    """
    path = str(folder / f"{name}.log")
    if not path.isprintable() or '"' in path or "\\" in path:
        raise WorkspaceError(
            f"{str(folder)!r} has a character that Slurm's scripts cannot hold",
            "Choose another --output",
        )
    return '"' + path.replace("%", "%%") + '"' if " " in path or "%" in path else path


def _command(context: PaperContext, model: ModelRecipe, task: str) -> Iterable[str]:
    workspace = context.workspace.root.resolve()
    named = f"{model.name}@{model.commit}" if model.commit else model.name
    yield from ("goldpan", "reproduce", context.recipe_argument, "--model", named)
    yield from ("--task", task, "--data", str(context.data.root.resolve()))
    yield from ("--workspace", str(workspace), "--seed", str(context.seed))
    yield from ("--output", str(context.directory.resolve() / "jobs" / f"{model.name}--{task}"))
    if model.kind == "fine-tuned":
        yield "--download"
    if context.effort.quick:
        yield "--quick"
    if context.effort.limit is not None:
        yield from ("--limit", str(context.effort.limit))

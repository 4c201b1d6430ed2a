"""Jobs for a cluster: one a model and task, each a command that resumes where it stopped."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from goldpan.core.errors import DatasetError, UsageError, WorkspaceError
from goldpan.core.result import Block, Line, Result
from goldpan.core.workspace import make_directory
from goldpan.datasets.registry import find_task
from goldpan.reproduce.cells import Context
from goldpan.reproduce.prepare import prepared
from goldpan.reproduce.recipe import ModelRecipe, find_tasks
from goldpan.reproduce.runs import find_models, takes, weights_of

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

    model: ModelRecipe
    task: str
    command: tuple[str, ...]

    @property
    def name(self) -> str:
        """Return the name of its file."""
        return f"{self.model.name}--{self.task}"


@dataclass(frozen=True, slots=True)
class JobPlan(Result):
    """The jobs that can be written, and why others cannot."""

    jobs: tuple[ClusterJob, ...]
    skipped: tuple[str, ...]
    """A sentence each."""
    files: tuple[Path, ...] = ()
    """Where they were written, the script that queues them last."""

    @property
    def exit_code(self) -> int:
        """3 where a job cannot be written."""
        return 3 if self.skipped else 0

    def plain(self) -> dict[str, Any]:
        """Return the jobs with their commands."""
        return {
            "jobs": [{"name": job.name, "command": list(job.command)} for job in self.jobs],
            "skipped": list(self.skipped),
            "files": [str(path) for path in self.files],
        }

    def blocks(self) -> Iterator[Block]:
        """Yield which jobs were written."""
        for job in self.jobs:
            yield Line(f"{job.name}: {job.model.gpus} GPUs, {job.model.hours} h at most")
        yield from (Line(f"Skipped: {reason}") for reason in self.skipped)
        yield Line(f"Wrote {len(self.jobs)} jobs; queue them with {self.files[-1]}")


def plan_jobs(context: Context, names: Sequence[str]) -> JobPlan:
    """Return a job for each model and task that the authors ran it on.

    The data of every task are made first, so that jobs find them. Raises `UsageError` for a
    model or task that the recipe has not.
    """
    jobs: list[ClusterJob] = []
    skipped: list[str] = []
    models = []
    for model in find_models(context.recipe, tuple(names)):
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
    return JobPlan(tuple(jobs), tuple(skipped))


def write_jobs(plan: JobPlan, directory: Path) -> JobPlan:
    """Write a script for each job and one that queues them; raises `WorkspaceError`."""
    folder, paths = Path.cwd(), []
    try:
        make_directory(directory / "logs")
        for job in plan.jobs:
            path = directory / f"{job.name}.sbatch"
            text = _SCRIPT.format(
                name=f"goldpan-{job.name}",
                gpus=job.model.gpus,
                memory=job.model.memory_gb,
                hours=job.model.hours,
                log=_log(directory.resolve() / "logs", job.name),
                folder=shlex.quote(str(folder)),
                command=shlex.join(job.command),
            )
            path.write_text(text, encoding="utf-8")
            paths.append(path)
        submit = directory / "submit.sh"
        submit.write_text(_SUBMIT, encoding="utf-8")
        submit.chmod(0o755)
    except OSError as error:
        raise WorkspaceError(
            f"{directory} cannot be written: {error.strerror or error}", "Choose another --output"
        ) from None
    return replace(plan, files=(*paths, submit))


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


def _command(context: Context, model: ModelRecipe, task: str) -> Iterable[str]:
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

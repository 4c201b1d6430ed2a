"""Writes tasks of the registry as files of CrossCodeBench (sections III-A and III-B)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from goldpan.core.errors import DatasetError
from goldpan.core.progress import Reporter
from goldpan.core.result import Block, Line, Result
from goldpan.core.workspace import Workspace
from goldpan.datasets.provenance import PROVENANCE, Provenance, digest, write_provenance
from goldpan.datasets.task import Task
from goldpan.datasets.wording import answer_form
from goldpan.papers.crosscodebench.directory import files_of, replacing, stored_provenance
from goldpan.papers.crosscodebench.examples import choose_examples
from goldpan.papers.crosscodebench.instance import Instance, write_instances
from goldpan.papers.crosscodebench.kinds import kind_of_task
from goldpan.papers.crosscodebench.meta import DATA, META, Meta, meta_json, stem_of
from goldpan.papers.crosscodebench.numbering import number_tasks
from goldpan.papers.crosscodebench.task_instances import task_instances
from goldpan.papers.crosscodebench.task_settings import task_settings

TASK_FILES = "crosscode-tasks"
"""The family of a directory of task files, in its provenance."""
_LANGUAGES = {"en": "English"}


@dataclass(frozen=True, slots=True)
class TaskDataset:
    """A task and the directory of its rows."""

    task: Task
    directory: Path


@dataclass(frozen=True, slots=True)
class Exported(Result):
    """The task files that were written."""

    directory: Path
    metas: tuple[Meta, ...]
    without_rows: tuple[str, ...] = ()
    """Tasks of the registry that the workspace has no rows of."""

    @property
    def instances(self) -> int:
        """The instances of all tasks."""
        return sum(meta.counts["total"] for meta in self.metas)

    def plain(self) -> dict[str, Any]:
        """Return what was written as plain data."""
        return {
            "directory": str(self.directory),
            "instances": self.instances,
            "tasks": {
                meta.stem: {"task": meta.name, "type": meta.kind.names, "instances": meta.counts}
                for meta in self.metas
            },
            "without_rows": list(self.without_rows),
        }

    def blocks(self) -> Iterator[Block]:
        """Yield the written tasks."""
        for meta in self.metas:
            total = meta.counts["total"]
            yield Line(f"{meta.stem}: {meta.name}, {meta.kind}, {total:,} instances")
        if self.without_rows:
            yield Line(f"Without rows in the workspace: {', '.join(self.without_rows)}")
        yield Line(f"{self.instances:,} instances written to {self.directory}")


def export_tasks(
    workspace: Workspace,
    datasets: Sequence[TaskDataset],
    directory: Path,
    reporter: Reporter,
    *,
    seed: int = 0,
) -> Exported:
    """Write two files for each task to a directory, in place of an earlier one there.

    Instances stream: memory follows a batch of rows. `seed` draws the examples that the registry
    does not give. Numbers stay: those of tasks that are not shipped are kept in the provenance
    of the directory. Raises `DatasetError` where a dataset is not that of its task.
    """
    stored = stored_provenance(directory, TASK_FILES).get("settings", {}).get("numbers", {})
    numbers = number_tasks([dataset.task for dataset in datasets], stored)
    metas = []
    inputs: dict[str, str] = {}
    with replacing(workspace, directory, TASK_FILES) as building:
        with reporter.task("tasks", len(datasets)) as progress:
            for dataset in sorted(datasets, key=lambda dataset: dataset.task.name):
                metas.append(_export(dataset, building, numbers[dataset.task.name], seed))
                inputs[dataset.task.name] = digest(dataset.directory / PROVENANCE)
                progress.advance()
        settings: dict[str, Any] = {"seed": seed, "numbers": dict(sorted(numbers.items()))}
        about = {
            "family": TASK_FILES,
            "examples": sum(meta.counts["total"] for meta in metas),
            "inputs": inputs,
        }
        write_provenance(building, Provenance(settings=settings), about, files_of(building))
    return Exported(directory, tuple(metas))


def meta_of(task: Task, number: int) -> Meta:
    """Return what a task's file says before its instances are known."""
    kind = kind_of_task(task)
    own_settings = task_settings(task)
    language = f"Natural Language -> {_LANGUAGES.get(task.language, task.language)}"
    form = "" if own_settings.definition_is_whole else answer_form(task)
    return Meta(
        stem=stem_of(number, task.source.dataset, kind),
        kind=kind,
        description=task.description,
        definition=" ".join(part for part in (task.definition.strip(), form) if part),
        source=task.source.dataset,
        categories=own_settings.categories or (task.category,),
        input_language=own_settings.input_language or language,
        output_language=own_settings.output_language or language,
        bibtex=task.source.citation,
        url=task.source.url,
        task=task,
    )


def _export(dataset: TaskDataset, building: Path, number: int, seed: int) -> Meta:
    task = dataset.task
    meta = meta_of(task, number)
    if (building / f"{meta.stem}{META}").exists():
        raise DatasetError(
            f"{task.name} and another task are both called {meta.stem}",
            "Give one of them another number or source dataset",
        )
    positive, negative = choose_examples(task, task_instances(dataset.directory, task), seed)
    counts: Counter[str] = Counter()
    instances = _counted(task_instances(dataset.directory, task), counts)
    total = write_instances(building / f"{meta.stem}{DATA}", instances)
    if not total:
        raise DatasetError(f"{task.name} has no rows", f"Run goldpan tasks import {task.name}")
    whole = replace(
        meta,
        positive=positive,
        negative=negative,
        counts={**dict(sorted(counts.items())), "total": total},
    )
    (building / f"{meta.stem}{META}").write_bytes(meta_json(whole))
    return whole


def _counted(instances: Iterable[Instance], counts: Counter[str]) -> Iterator[Instance]:
    for instance in instances:
        counts[instance.split] += 1
        yield instance

"""Brings task files back as datasets of the workspace: the reverse of `export.py`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from goldpan.core.errors import DatasetError, UsageError
from goldpan.core.result import Block, Line, Result
from goldpan.core.workspace import Workspace, make_directory
from goldpan.datasets.family import GROUP, Family
from goldpan.datasets.files import write_dataset
from goldpan.datasets.manifest import CardInputs
from goldpan.datasets.provenance import Provenance, digest
from goldpan.datasets.registry import load_tasks, tasks_directory
from goldpan.datasets.splits import SplitPlan
from goldpan.datasets.task import Task
from goldpan.datasets.task_rows import task_family
from goldpan.papers.crosscodebench.instance import read_instances
from goldpan.papers.crosscodebench.meta import DATA, META, Meta
from goldpan.papers.crosscodebench.problems import FieldError, Problem, refused
from goldpan.papers.crosscodebench.public_task import named_instances, public_task
from goldpan.papers.crosscodebench.read_meta import read_meta
from goldpan.papers.crosscodebench.task_instances import task_rows
from goldpan.papers.crosscodebench.task_toml import task_toml

_BATCH = 256


@dataclass(frozen=True, slots=True)
class Imported:
    """A task whose files were read into a dataset."""

    task: Task
    directory: Path
    splits: Mapping[str, int]
    """Rows by split."""
    task_file: Path | None
    """Where the task was written down, if the registry did not know it."""


@dataclass(frozen=True, slots=True)
class ImportedTasks(Result):
    """The tasks whose files were read."""

    tasks: tuple[Imported, ...]

    def plain(self) -> dict[str, Any]:
        """Return what was read, by task, as plain data."""
        return {
            imported.task.name: {
                "directory": str(imported.directory),
                "type": imported.task.type,
                "splits": dict(imported.splits),
                "task_file": str(imported.task_file) if imported.task_file else None,
            }
            for imported in self.tasks
        }

    def blocks(self) -> Iterator[Block]:
        """Yield the rows of each task, and which tasks are new."""
        for imported in self.tasks:
            counts = sorted(imported.splits.items())
            rows = ", ".join(f"{count:,} {split}" for split, count in counts)
            yield Line(f"{imported.task.name}: {imported.task.type}, {rows}")
            if imported.task_file:
                yield Line(f"  a new task, which {imported.task_file} describes")


def import_task(workspace: Workspace, meta_path: Path, directory: Path | None = None) -> Imported:
    """Read a task's two files into a dataset, and make the registry know the task.

    A task that Goldpan wrote comes back row by row as it was. One of the public benchmark becomes
    a task of one's own in the workspace. Memory follows a batch of rows, beside the rows' names.
    Raises `DatasetError` that names file, field and instance; nothing is written then.
    """
    meta = read_meta(meta_path)
    data_path = meta_path.with_name(f"{meta.stem}{DATA}")
    task = meta.task or public_task(meta, read_instances(data_path))
    task_file = new_task_file(workspace, task)
    counts: Counter[str] = Counter()
    batches = read_rows(meta, task, data_path, counts)
    first = next(batches, None)
    if first is None:
        raise DatasetError(f"{data_path} holds no instances", "Write the task files again")
    provenance = Provenance(
        settings={
            "crosscode": meta.stem,
            "inputs": {path.name: digest(path) for path in (meta_path, data_path)},
        }
    )
    where = directory or workspace.dataset(task.name)
    card = CardInputs(
        title=task.title,
        summary=f"The task {task.name}, read from files of CrossCodeBench.",
        languages=(task.language,),
        subjects="rows",
    )
    family = split_by_group(task)
    rows = chain([first], batches)
    write_dataset(workspace, where, family, rows, SplitPlan("given"), provenance, card)
    if task_file:
        make_directory(task_file.parent)
        unfinished = task_file.with_suffix(".part")
        unfinished.write_text(task_toml(task), encoding="utf-8")
        unfinished.replace(task_file)
    return Imported(task, where, dict(counts), task_file)


def split_by_group(task: Task) -> Family:
    """Return the family of a task's rows whose column `group` names the split of each row.

    The official partition that rows tell stays as it is, be it null.
    """
    return replace(task_family(task), partition=GROUP)


def read_rows(
    meta: Meta, task: Task, data_path: Path, counts: Counter[str]
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a data file in batches, their splits in `group`; `counts` fill by split.

    Raises `DatasetError` for an instance that does not fit its task, or where the file has other
    counts than its meta information says.
    """
    schema = task_family(task).schema.append(pa.field(GROUP, pa.string()))
    instances = read_instances(data_path)
    if meta.task is None:
        instances = named_instances(meta, task, instances)
    rows = task_rows(task, instances)
    while True:
        try:
            batch = [{**row, GROUP: split} for split, row in islice(rows, _BATCH)]
        except FieldError as error:
            raise refused(error.problem(data_path.name)) from None
        if not batch:
            break
        yield _packed(batch, schema, data_path.name, sum(counts.values()))
        counts.update(row[GROUP] for row in batch)
    if problem := count_problem(meta, counts):
        raise refused(problem)


def count_problem(meta: Meta, counts: Mapping[str, int]) -> Problem | None:
    """Return what is wrong where a data file has not as many instances as announced."""
    announced = meta.counts.get("total")
    count = sum(counts.values())
    if announced is None or announced == count:
        return None
    text = f"{count:,} instances, but {meta.stem}{META} announces {announced:,}"
    return Problem(f"{meta.stem}{DATA}", "", text)


def _packed(rows: list[dict[str, Any]], schema: pa.Schema, file: str, start: int) -> pa.RecordBatch:
    try:
        return pa.RecordBatch.from_pylist(rows, schema=schema)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as whole:
        for number, row in enumerate(rows, start):
            try:
                pa.RecordBatch.from_pylist([row], schema=schema)
            except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
                problem = Problem(file, f"Instances[{number}]", f"a column does not fit: {error}")
                raise refused(problem) from None
        raise DatasetError(f"{file} does not fit its task: {whole}", "Correct the file") from None


def new_task_file(workspace: Workspace, task: Task) -> Path | None:
    """Return where to write a task that the registry lacks; None where it knows the same one."""
    own = tasks_directory(workspace.root)
    existing = load_tasks(own).get(task.name)
    if existing is None:
        return own / f"{task.name}.toml"
    if (existing.type, existing.label_names) != (task.type, task.label_names):
        raise UsageError(
            f"The registry has another task {task.name}, with another type or other labels",
            f"Remove {own / task.name}.toml if it is your own, or use another --workspace",
        )
    return None

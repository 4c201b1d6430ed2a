"""Makes a task of a built split, so that `goldpan evaluate` trains and runs models on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from goldpan.core.errors import DatasetError
from goldpan.core.workspace import Workspace, make_directory
from goldpan.datasets.family import GROUP
from goldpan.datasets.files import write_dataset
from goldpan.datasets.manifest import CardInputs
from goldpan.datasets.prompt_methods import Side
from goldpan.datasets.provenance import (
    PROVENANCE,
    Provenance,
    digest,
    read_provenance,
    shard_paths,
)
from goldpan.datasets.splits import SplitPlan
from goldpan.datasets.task import Task, TaskColumns, TaskPrompt, TaskSource
from goldpan.datasets.task_rows import task_family
from goldpan.papers.crosscodebench.build import FAMILY
from goldpan.papers.crosscodebench.importing import Imported, new_task_file, split_by_group
from goldpan.papers.crosscodebench.instance import Instance
from goldpan.papers.crosscodebench.meta import slug
from goldpan.papers.crosscodebench.prompt_table import SHARDS, TRAIN_CAP
from goldpan.papers.crosscodebench.task_instances import task_rows
from goldpan.papers.crosscodebench.task_toml import task_toml

_BATCH = 256
_SIDES: tuple[tuple[Side, str], ...] = (("train", "train"), ("evaluation", "test"))
_COLUMNS = ["id", "task", "repo", "license", "created_at", "prompt", "output"]


def is_split(directory: Path) -> bool:
    """Say whether a directory holds what `goldpan build crosscode split` wrote."""
    if not (directory / PROVENANCE).is_file():
        return False
    return read_provenance(directory).get("family") == FAMILY


def split_folder(split: str, method: str, layout: str = "lines", train_cap: int = TRAIN_CAP) -> str:
    """Return what the directory of a built split is called by default."""
    name = f"{split}-{method}".lower().replace("/", "-")
    if layout != "lines":
        name += f"-{layout}"
    return name if train_cap == TRAIN_CAP else f"{name}-{train_cap}"


def split_task_name(
    split: str, method: str, layout: str = "lines", train_cap: int = TRAIN_CAP
) -> str:
    """Return what the task of such a directory is called."""
    return _task_name(split_folder(split, method, layout, train_cap))


def _task_name(folder: str) -> str:
    return f"crosscode_{slug(folder)}"


def import_split(workspace: Workspace, directory: Path) -> Imported:
    """Make a task of free text of a split: its prompts are the texts, its outputs the answers.

    Training prompts are the train rows, those of evaluation the test rows, each with its task of
    origin as `document`. Memory follows a batch. Raises `DatasetError` where a file is damaged.
    """
    task = _task(directory)
    task_file = new_task_file(workspace, task)
    counts: Counter[str] = Counter()
    batches = _batches(directory, task, counts)
    first = next(batches, None)
    if first is None:
        raise DatasetError(f"{directory} holds no prompts", "Build the split again")
    where = workspace.dataset(task.name)
    provenance = Provenance(
        settings={
            "crosscode": directory.name,
            "inputs": {PROVENANCE: digest(directory / PROVENANCE)},
        }
    )
    card = CardInputs(
        title=task.title,
        summary=f"The prompts of {directory.name}, a split of CrossCodeBench.",
        languages=(task.language,),
        subjects="rows",
    )
    rows = chain([first], batches)
    write_dataset(
        workspace, where, split_by_group(task), rows, SplitPlan("given"), provenance, card
    )
    if task_file:
        make_directory(task_file.parent)
        unfinished = task_file.with_suffix(".part")
        unfinished.write_text(task_toml(task), encoding="utf-8")
        unfinished.replace(task_file)
    return Imported(task, where, dict(counts), task_file)


def _task(directory: Path) -> Task:
    title = f"CrossCodeBench {directory.name}"
    return Task(
        name=_task_name(directory.name),
        title=title,
        type="text-generation",
        description="Complete the example",
        definition="The input shows a task, perhaps with examples. The output is the answer.",
        category="Cross-task generalization",
        activity="development",
        source=TaskSource(
            title=title,
            url="https://doi.org/10.5281/zenodo.7321934",
            license="unknown",
            citation="",
            access="built",
            dataset="crosscodebench",
            builder="crosscode",
            note="Prompts of goldpan build crosscode split.",
        ),
        prompt=TaskPrompt(
            context="software engineering",
            instruction="complete the last example",
            answer="Answer only with the output",
            entity="INPUT",
        ),
        metric="rouge_l",
        split="given",
        columns=TaskColumns(("prompt",), ("output",)),
    )


def _batches(directory: Path, task: Task, counts: Counter[str]) -> Iterator[pa.RecordBatch]:
    schema = task_family(task).schema.append(pa.field(GROUP, pa.string()))
    for side, split in _SIDES:
        for path in shard_paths(directory, SHARDS[side]):
            try:
                with pq.ParquetFile(path, page_checksum_verification=True) as file:
                    for batch in file.iter_batches(batch_size=_BATCH, columns=_COLUMNS):
                        instances = (
                            Instance(
                                row["prompt"],
                                row["output"],
                                split,
                                f"{task.name}:{row['id']}",
                                _facts(row),
                            )
                            for row in batch.to_pylist()
                        )
                        rows = [{**row, GROUP: name} for name, row in task_rows(task, instances)]
                        counts[split] += len(rows)
                        yield pa.RecordBatch.from_pylist(rows, schema=schema)
            except (OSError, pa.ArrowException) as error:
                raise DatasetError(f"{path} cannot be read ({error})", "Build it again") from None


def _facts(row: Mapping[str, Any]) -> dict[str, Any]:
    moment = row["created_at"]
    facts = {"repo": row["repo"], "license": row["license"], "document": row["task"]}
    return {**facts, "created_at": None if moment is None else moment.isoformat()}

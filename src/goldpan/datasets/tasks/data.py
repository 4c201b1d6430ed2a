"""The rows of a task as models and metrics take them, with hashes that tell data apart."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from goldpan.core.errors import DatasetError, UsageError
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.examples import find_family
from goldpan.datasets.provenance import read_provenance, shard_paths
from goldpan.datasets.splits import SplitCandidate, SplitPlan, assign_splits, strata
from goldpan.datasets.tasks.task import Task, input_column, task_family
from goldpan.filters.duplicates.settings import copies_key

_ORDER = ("train", "validation", "test")
_BATCH = 4_096
_DRAWN = ("random", "repository", "stratified")
"""Ways to split that a seed decides."""


@dataclass(frozen=True, slots=True)
class TaskData:
    """A task with its rows, split."""

    task: Task
    splits: Mapping[str, pa.Table]
    """By name: `train`, `validation`, `test`, those that have rows; sorted by id."""
    data_hash: str
    """SHA-256 of all rows, whatever their split."""
    split_hash: str
    """SHA-256 of the assignment of rows to splits."""
    split: str = ""
    """The split, as `--split` writes it, with its seed; empty where it is not known."""
    steps: tuple[str, ...] | None = None
    """The steps that prepared the texts, in order; None where that is not known."""


def read_task_data(directory: Path, task: Task) -> TaskData:
    """Read a dataset that was imported or built for a task.

    Raises `DatasetError` where the directory holds no dataset, or one of something else.
    """
    tables: dict[str, list[pa.RecordBatch]] = {}
    for split, batch in task_batches(directory, task):
        tables.setdefault(split, []).append(batch)
    splits = {name: pa.Table.from_batches(batches) for name, batches in tables.items()}
    provenance = read_provenance(directory)
    stored, steps = provenance.get("splits", {}), provenance.get("settings", {}).get("steps")
    plan = stored.get("plan", "")
    if plan.partition(":")[0] in _DRAWN:
        plan = f"{plan}, seed {stored['seed']}"
    data = task_data(task, splits, plan)
    return data if steps is None else replace(data, steps=tuple(steps))


def task_batches(directory: Path, task: Task) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the rows of a task's dataset with their split, as `task_family` shapes them.

    Columns that a builder adds are left out. Of the families that Goldpan builds, such as qa,
    the text is the columns that the task names, joined by line breaks. Raises as
    `read_task_data` does.
    """
    family = read_provenance(directory).get("family")
    family_built = find_family(task.source.builder) if task.source.access == "built" else None
    if family not in (task.name, family_built.name if family_built else task.name):
        raise DatasetError(
            f"{directory} holds the dataset {family}, not {task.name}",
            f"Give the directory of {task.name}, or run goldpan tasks import {task.name}",
        )
    schema = task_family(task).schema
    for split in _ORDER:
        for path in shard_paths(directory, split):
            try:
                with pq.ParquetFile(path, page_checksum_verification=True) as file:
                    for batch in file.iter_batches(_BATCH):
                        whole = set(schema.names) <= set(batch.schema.names)
                        rows = (
                            _projected(batch, task, schema) if family_built and not whole else batch
                        )
                        yield split, rows.select(schema.names).cast(schema)
            except (OSError, KeyError, pa.ArrowException) as error:
                raise DatasetError(
                    f"{path} does not have the columns of {task.name}, or is damaged ({error})",
                    "Import or build the dataset again",
                ) from None


def task_directory(workspace: WorkspaceLayout, task: Task) -> Path:
    """Return the directory of a task's data: under its name, or that of the family it is built as.

    Plans name their datasets: where neither exists, it is the only dataset of that family.
    """
    own = workspace.dataset(task.name)
    if task.source.access != "built" or own.exists():
        return own
    usual = workspace.dataset(task.source.builder)
    if usual.exists():
        return usual
    named = family_datasets(usual.parent, task.source.builder)
    return named[0] if len(named) == 1 else usual


def family_datasets(folder: Path, family: str) -> list[Path]:
    """Return the datasets in a folder that were built as a family, by name."""
    if not folder.is_dir():
        return []
    return [path for path in sorted(folder.iterdir()) if _family_of(path) == family]


def _family_of(directory: Path) -> str:
    try:
        return str(read_provenance(directory).get("family", ""))
    except DatasetError:
        return ""


def task_data(task: Task, splits: Mapping[str, pa.Table], split: str = "") -> TaskData:
    """Return split rows with their hashes; raises `DatasetError` where there are no rows."""
    if not any(len(table) for table in splits.values()):
        raise DatasetError(f"{task.name} has no rows", f"Run goldpan tasks import {task.name}")
    return TaskData(task, dict(splits), _data_hash(splits), _split_hash(splits), split)


def with_validation(data: TaskData, share: float, seed: int) -> TaskData:
    """Carve a `validation` split out of `train`; data that has one stays as it is.

    Classification tasks keep their shares of labels; copies of one input stay together.
    Raises `UsageError` for a share that is not between 0 and 1, or data without `train`.
    """
    if "validation" in data.splits:
        return data
    if not 0 < share < 1:
        raise UsageError(f"The share {share} for validation is not between 0 and 1", "Give 0.1")
    if "train" not in data.splits:
        raise UsageError(f"{data.task.name} has no train split", "Import it with another split")
    train = data.splits["train"]
    part = Fraction(str(share))
    sides = _sides(data.task, train, SplitPlan("stratified", (1 - part, part), seed=seed))
    kept, carved = (train.filter(pc.equal(sides, side)) for side in ("train", "test"))
    if not len(kept) or not len(carved):
        raise UsageError(
            f"{len(train)} rows of {data.task.name} cannot give a share of {share} for validation",
            "Give a larger share, or import more rows",
        )
    splits = {**data.splits, "train": kept, "validation": carved}
    ordered = {name: splits[name] for name in _ORDER if name in splits}
    return task_data(data.task, ordered, data.split)


def copies_of(value: str | list[str] | None) -> str:
    """Return the group of a row's input, which its copies share: those that checks find."""
    return copies_key(value if isinstance(value, str) else " ".join(value or ()))


def _sides(task: Task, rows: pa.Table, plan: SplitPlan) -> pa.Array:
    family = task_family(task)
    inputs = rows.column(input_column(task.type).name).to_pylist()
    labels = strata(rows, family.stratum)
    names = rows.column("id").to_pylist()
    candidates = [
        SplitCandidate(name, copies_of(text), "", None, stratum=stratum)
        for name, text, stratum in zip(names, inputs, labels, strict=True)
    ]
    return pa.array(assign_splits(candidates, plan).names)


def _projected(batch: pa.RecordBatch, task: Task, schema: pa.Schema) -> pa.RecordBatch:
    """Return rows of a built family in the columns of a task."""
    texts = [batch.column(name).fill_null("") for name in task.columns.text]
    columns = {
        "text": pc.binary_join_element_wise(*texts, "\n"),
        "target": batch.column(task.columns.target[0]),
        **{name: batch.column(name) for name in ("id", "repo", "license", "created_at")},
    }
    filled = [columns.get(field.name, pa.nulls(len(batch), field.type)) for field in schema]
    return pa.RecordBatch.from_arrays(filled, schema=schema)


def _data_hash(splits: Mapping[str, pa.Table]) -> str:
    rows = pa.concat_tables(splits.values())
    order = pc.sort_indices(rows, sort_keys=[("id", "ascending")])
    hashed = hashlib.sha256()
    for start in range(0, len(order), _BATCH):
        hashed.update(orjson.dumps(rows.take(order[start : start + _BATCH]).to_pylist()))
    return hashed.hexdigest()


def _split_hash(splits: Mapping[str, pa.Table]) -> str:
    hashed = hashlib.sha256()
    for name in sorted(splits):
        hashed.update(orjson.dumps([name, sorted(splits[name].column("id").to_pylist())]))
    return hashed.hexdigest()

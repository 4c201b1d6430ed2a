"""The rows of a task as models get them, whether they were imported or built.

What Goldpan builds keeps the parts of an input apart: title, body, folder tree, file. Such rows
have these columns beside the joined text, so that a prompt can name them and a study can take
one out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from goldpan.core.errors import DatasetError, EvaluationError, UsageError
from goldpan.core.storage.parquet import read_table
from goldpan.core.storage.sealed import file_digest, read_lineage
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.examples import find_family
from goldpan.datasets.family import Family
from goldpan.datasets.provenance import read_provenance, shard_paths
from goldpan.datasets.tasks.data import TaskData, family_datasets, read_task_data, task_directory
from goldpan.datasets.tasks.task import Task, input_column

MODULES = {"title": "IT", "body": "IB", "pull_title": "PT", "pull_body": "PB"}
"""The columns that people wrote, with the paper's names for them."""


@dataclass(frozen=True, slots=True)
class Ablation:
    """A variant of a dataset's input."""

    name: str
    """The modules that stay, by the paper's names: IB+PT+PB."""
    removed: tuple[str, ...]
    """The columns whose text is taken out."""


def without(family: Family, removed: Sequence[str]) -> Ablation:
    """Return the input without these columns; raises `UsageError` for what is no part of it."""
    modules = [column for column in MODULES if column in family.inputs]
    parts = [*modules, *code_parts(family)]
    for column in removed:
        if column not in parts:
            raise UsageError(
                f"The input of {family.name} has no part {column!r}", f"Choose {', '.join(parts)}"
            )
    missing = tuple(column for column in parts if column in removed)
    stay = [MODULES[column] for column in modules if column not in missing]
    return Ablation("+".join(stay), missing)


def code_parts(family: Family) -> list[str]:
    """Return the parts of the input that are code, such as the folder tree or the file before."""
    return [column for column in family.inputs if column not in MODULES]


def relative_change(full: float, part: float) -> float | None:
    """Return by what share a score changes without a module (the paper's delta), None from 0."""
    return (part - full) / full if full else None


FILE = "file_before"
PATH = "path"
"""The file to change as it is named before the change, of code editing."""
_OLD_PATH = "previous_path"


@dataclass(frozen=True, slots=True)
class TaskInput:
    """The data of a task for a run."""

    data: TaskData
    """Rows; hashes are those of the whole input, whatever is taken out of it."""
    ablated: tuple[str, ...] = ()
    """The parts that are taken out."""
    files: Mapping[str, str] = field(default_factory=dict)
    """The file before the edit by row, for scoring patches."""


def read_task_input(directory: Path, task: Task, ablated: Sequence[str] = ()) -> TaskInput:
    """Read a task's dataset without the parts of the input that `ablated` names.

    Raises `DatasetError` where the directory holds no data of the task, and `UsageError` where
    there is no directory or the input has no such parts.
    """
    if not directory.exists():
        built = task.source.access == "built"
        how = f"build {task.source.builder}" if built else f"tasks import {task.name} FILES"
        others = family_datasets(directory.parent, task.source.builder) if built else []
        known = f", such as {' or '.join(map(str, others))}" if others else ""
        raise UsageError(
            f"There are no rows of {task.name} in {directory}",
            f"Run goldpan {how}, or name their directory with --dataset{known}",
        )
    data = read_task_data(directory, task)
    family = built_family(task)
    if family is None or read_provenance(directory).get("family") != family.name:
        if ablated:
            raise UsageError(
                f"The rows of {task.name} in {directory} have no separate parts of the input",
                f"Take {', '.join(MODULES)} out of a dataset that goldpan build made, such as qa",
            )
        return TaskInput(data)
    missing = without(family, ablated)
    columns = [*family.inputs, *((PATH, _OLD_PATH) if FILE in family.inputs else ())]
    read = with_columns(data, directory, columns)
    whole = {name: _without_nulls(rows, columns) for name, rows in read.splits.items()}
    files: dict[str, str] = {}
    if FILE in columns:
        for rows in whole.values():
            files |= zip(rows["id"].to_pylist(), rows[FILE].to_pylist(), strict=True)
    splits = {name: _ablated(rows, task, missing) for name, rows in whole.items()}
    task_data = replace(data, splits=splits)
    return TaskInput(task_data, missing.removed, files)


def built_family(task: Task) -> Family | None:
    """Return the family that Goldpan builds for a task, None of other tasks."""
    return find_family(task.source.builder) if task.source.access == "built" else None


def scored_input(
    workspace: WorkspaceLayout, task: Task, data_hash: str, directory: Path | None = None
) -> TaskInput:
    """Return the rows that a run was made on, by their hash, for scoring its predictions.

    Raises `EvaluationError` where they are other rows, `DatasetError` where there are none.
    """
    path = directory or task_directory(workspace, task)
    task_input = read_task_input(path, task)
    if task_input.data.data_hash != data_hash:
        raise EvaluationError(
            f"{path} holds other rows than a run of {task.name} was made on",
            "Give the directory of those rows with --dataset, or --task and --model of other runs",
        )
    return task_input


def files_to_score(
    workspace: WorkspaceLayout, task: Task, data_hash: str, directory: Path | None = None
) -> Mapping[str, str]:
    """Return the files before the edits of a run, none of tasks that edit nothing.

    Raises as `scored_input` does: scores without the files would replace better ones.
    """
    family = built_family(task)
    if family is None or FILE not in family.inputs:
        return {}
    return scored_input(workspace, task, data_hash, directory).files


def _without_nulls(rows: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Return rows whose parts are texts, with the path that a file had before."""
    parts = {name: rows[name] for name in columns}
    rows = rows.drop_columns(list(columns))
    if _OLD_PATH in parts:
        parts[PATH] = pc.coalesce(parts.pop(_OLD_PATH), parts[PATH])
    for name, column in parts.items():
        rows = rows.append_column(name, pc.fill_null(column, ""))
    return rows


def _ablated(rows: pa.Table, task: Task, missing: Ablation) -> pa.Table:
    """Return rows without the text of some of their parts, their text joined of those that stay."""
    if not missing.removed:
        return rows
    stay = [rows[name] for name in task.columns.text if name not in missing.removed]
    empty = pa.array([""] * len(rows))
    text = pc.binary_join_element_wise(*stay, "\n") if stay else empty
    for name, column in {**dict.fromkeys(missing.removed, empty), "text": text}.items():
        index = rows.schema.get_field_index(name)
        field = rows.schema.field(index)
        rows = rows.set_column(index, field, column.cast(field.type))
    return rows


LENGTH = "input-length"
"""The column that says whether an input is short, medium or long (FAUN-Eval, section 5.3)."""


def thirds_by_length(rows: pa.Table, task: Task) -> list[str]:
    """Return for each row which third it is in by the characters of its input, and their range.

    The paper divides evenly and says no more: where the number is no multiple of three, shorter
    thirds get one more, and equal lengths go by id.
    """
    texts = rows[input_column(task.type).name]
    if pa.types.is_list(texts.type):
        texts = pc.binary_join(texts, " ")
    lengths = pc.utf8_length(texts).to_numpy()
    order = np.lexsort((rows["id"].to_numpy(), lengths))
    names = [""] * len(rows)
    for name, members in zip(("short", "medium", "long"), np.array_split(order, 3), strict=True):
        for row in members:
            first, last = lengths[members[0]], lengths[members[-1]]
            names[row] = f"{name} ({first:,} to {last:,})"
    return names


NO_VALUE = "(none)"
_LONGEST = 200


def with_columns(data: TaskData, directory: Path, names: Iterable[str]) -> TaskData:
    """Return a task's rows with these columns of their dataset; its hashes stay.

    Raises `UsageError` for a column that the dataset has not, `DatasetError` where it cannot be
    read, or changed meanwhile.
    """
    present = next(iter(data.splits.values())).column_names
    missing = [name for name in dict.fromkeys(names) if name not in (LENGTH, *present)]
    if not missing:
        return data
    splits = dict(data.splits)
    for split, rows in data.splits.items():
        columns = _read(directory, split, missing)
        order = pc.index_in(rows["id"], columns["id"])
        if order.null_count:
            raise DatasetError(f"The rows of {directory} changed while it was read", "Run it again")
        for name in missing:
            rows = rows.append_column(name, columns[name].take(order))
        splits[split] = rows
    return replace(data, splits=splits)


def values_of(rows: pa.Table, column: str) -> list[str]:
    """Return the group of each row: its value as text, the year of a time, `(none)` for none."""
    return [_text(value) for value in rows[column].to_pylist()]


def _text(value: Any) -> str:
    if value is None:
        return NO_VALUE
    if isinstance(value, datetime):
        return str(value.year)
    if isinstance(value, list):
        return ", ".join(map(str, value))[:_LONGEST] or NO_VALUE
    return str(value)[:_LONGEST] or NO_VALUE


def _read(directory: Path, split: str, columns: list[str]) -> pa.Table:
    paths = shard_paths(directory, split)
    try:
        present = [name for name in pq.read_schema(paths[0]).names if name != "id"]
        if missing := [name for name in columns if name not in present]:
            raise UsageError(
                f"The rows in {directory} have no column {missing[0]!r}",
                f"They have {', '.join(present)}",
            )
        tables = [
            pq.read_table(path, columns=["id", *columns], page_checksum_verification=True)
            for path in paths
        ]
        return pa.concat_tables(tables)
    except (OSError, IndexError, pa.ArrowException) as error:
        message = (str(error).splitlines() or ["no file"])[0]
        raise DatasetError(
            f"{directory} cannot be read ({message})", "Import or build the dataset again"
        ) from None


PATHS = "fault-localization"
PATCHES = "code-edit"
"""The families whose answers are paths and patches; other texts are compared as texts."""


# The places that an issue names, of those that its fix changes, are a column to score by. Models
# look better than they are where the question holds the place (Kochhar et al., ASE 2014).

PLACE = "place-in-issue"
"""The finding, and the column: fully, partly, not-named or cannot-tell."""


def read_places(workspace: WorkspaceLayout, task: Task, dataset: Path) -> Mapping[str, str]:
    """Return the case of each row; nothing for other tasks, and where no audit of it looked."""
    path = workspace.findings(dataset)
    if task.source.builder not in (PATHS, PATCHES) or not path.is_file():
        return {}
    audited = read_lineage(path.parent, "audit")["inputs"]
    shards = shard_paths(dataset) if dataset.is_dir() else [dataset]
    if any(audited.get(shard.name) != file_digest(shard) for shard in shards):
        return {}
    table = read_table(path, ["id", "finding", "verdict", "case"])
    return {
        row["id"]: row["verdict"] if row["verdict"] == "cannot-tell" else row["case"]
        for row in table.to_pylist()
        if row["finding"] == PLACE
    }


def with_places(data: TaskData, places: Mapping[str, str]) -> TaskData:
    """Return a task's rows with their cases; its hashes stay."""
    splits = {
        name: rows.append_column(
            PLACE, pa.array([places.get(row) for row in rows["id"].to_pylist()], pa.string())
        )
        for name, rows in data.splits.items()
    }
    return replace(data, splits=splits)

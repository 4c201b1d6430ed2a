"""A task's rows are read in one shape, whatever wrote them, and hashes tell data apart."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from goldpan.core.errors import DatasetError, UsageError
from goldpan.core.terminal import Reporter
from goldpan.core.workspace import WorkspaceLayout
from goldpan.datasets.examples import CODE_EDIT, FAULT_LOCALIZATION, QA
from goldpan.datasets.family import Column, Family
from goldpan.datasets.files import write_dataset
from goldpan.datasets.importing import import_files
from goldpan.datasets.manifest import CardInputs
from goldpan.datasets.provenance import Provenance
from goldpan.datasets.registry import find_task
from goldpan.datasets.splits import SplitPlan
from goldpan.datasets.task import Task, task_family
from goldpan.datasets.task_data import (
    TaskData,
    read_task_data,
    task_data,
    task_directory,
    with_validation,
)
from tests.examples import example, write
from tests.tasks import own_task


@pytest.fixture
def task(tmp_path: Path) -> Task:
    own_task(tmp_path / "tasks")
    return find_task("toy_issues", tmp_path / "tasks")


def imported(directory: Path, task: Task, *, split: str = "", seed: int = 42) -> TaskData:
    path = directory / "toy.csv"
    lines = [f"issue {number},{number % 7},{'BBBW'[number % 4]}\n" for number in range(400)]
    path.write_text("title,body,kind\n" + "".join(lines), encoding="utf-8")
    result = import_files(
        WorkspaceLayout(directory / "w"), task, [path], Reporter(quiet=True), split=split, seed=seed
    )
    return read_task_data(result.written.directory, task)


def labels(table: pa.Table) -> dict[str, int]:
    return dict(Counter(table.column("label").to_pylist()))


def test_hashes_tell_rows_and_splits_apart(tmp_path: Path, task: Task) -> None:
    first = imported(tmp_path, task)
    again = imported(tmp_path, task)
    other = imported(tmp_path, task, seed=1)
    assert (first.data_hash, first.split_hash) == (again.data_hash, again.split_hash)
    assert (first.split, other.split) == (
        "stratified:0.5,0.5, seed 42",
        "stratified:0.5,0.5, seed 1",
    )
    assert imported(tmp_path, task, split="none").split == "none"
    assert first.data_hash == other.data_hash
    assert first.split_hash != other.split_hash
    train = first.splits["train"]
    changed = train.set_column(
        train.schema.get_field_index("text"), "text", pa.array(["x"] * len(train))
    )
    assert task_data(task, {**first.splits, "train": changed}).data_hash != first.data_hash


def test_validation_is_carved_from_train_with_the_same_shares(tmp_path: Path, task: Task) -> None:
    data = imported(tmp_path, task)
    assert labels(data.splits["train"]) == {"bug": 150, "wish": 50}
    carved = with_validation(data, 0.2, seed=1)
    assert list(carved.splits) == ["train", "validation", "test"]
    assert labels(carved.splits["validation"]) == {"bug": 30, "wish": 10}
    assert labels(carved.splits["train"]) == {"bug": 120, "wish": 40}
    assert carved.splits["test"] == data.splits["test"]
    assert carved.data_hash == data.data_hash
    assert carved.split_hash != data.split_hash
    assert with_validation(data, 0.2, seed=1) == carved
    assert with_validation(data, 0.2, seed=2).split_hash != carved.split_hash
    assert with_validation(carved, 0.5, seed=3) is carved


def test_validation_needs_a_share_and_a_train_split(tmp_path: Path, task: Task) -> None:
    data = imported(tmp_path, task)
    for share in (0, 1, -0.5):
        with pytest.raises(UsageError, match="not between 0 and 1"):
            with_validation(data, share, seed=1)
    with pytest.raises(UsageError, match=r"cannot give a share of 0\.0001"):
        with_validation(data, 0.0001, seed=1)
    with pytest.raises(UsageError, match="has no train split"):
        with_validation(imported(tmp_path, task, split="none"), 0.1, seed=1)


def test_another_dataset_is_refused(tmp_path: Path, task: Task) -> None:
    directory = write(tmp_path, QA, [example(QA, 1)]).directory
    with pytest.raises(DatasetError, match=r"holds the dataset qa, not toy_issues"):
        read_task_data(directory, task)
    with pytest.raises(UsageError, match="There is no directory"):
        read_task_data(tmp_path / "none", task)
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(DatasetError, match=r"holds no provenance\.json"):
        read_task_data(empty, task)
    with pytest.raises(DatasetError, match="has no rows"):
        task_data(task, {})


@pytest.mark.parametrize(
    ("family", "name", "texts"),
    [
        (QA, "qa", ("title", "body")),
        (FAULT_LOCALIZATION, "fault_localization", ("title", "body", "tree")),
        (CODE_EDIT, "code_edit", ("title", "body", "pull_title", "pull_body", "file_before")),
    ],
)
def test_families_that_goldpan_builds_are_read_as_tasks(
    tmp_path: Path, family: Family, name: str, texts: tuple[str, ...]
) -> None:
    rows = [example(family, number) for number in range(1, 4)]
    directory = write(tmp_path, family, rows).directory
    task = find_task(name)
    data = read_task_data(directory, task)
    (table,) = data.splits.values()
    assert table.schema == task_family(task).schema
    examples = sorted(table.to_pylist(), key=lambda row: str(row["id"]))
    for row, expected in zip(examples, rows, strict=True):
        assert row["text"] == "\n".join(expected[column] or "" for column in texts)
        assert row["target"] == expected[family.target]
        assert row["repo"] == expected["repo"]


def test_columns_that_a_builder_adds_are_left_out(tmp_path: Path, task: Task) -> None:
    family = task_family(task)
    wider = replace(family, columns=(*family.columns, Column("title", pa.string(), "A title.")))
    row = dict.fromkeys(wider.schema.names) | {"id": "a", "text": "x", "label": "bug"}
    write_dataset(
        WorkspaceLayout(tmp_path),
        tmp_path / "toy",
        wider,
        wider.batches([row]),
        SplitPlan.parse("none"),
        Provenance(),
        CardInputs(),
    )
    (table,) = read_task_data(tmp_path / "toy", task).splits.values()
    assert table.schema == family.schema


def test_built_tasks_lie_under_their_family(tmp_path: Path) -> None:
    workspace = WorkspaceLayout(tmp_path)
    assert task_directory(workspace, find_task("code_edit")) == workspace.dataset("code-edit")
    assert task_directory(workspace, find_task("issue_type")) == workspace.dataset("issue_type")
    workspace.dataset("code_edit").mkdir(parents=True)
    assert task_directory(workspace, find_task("code_edit")) == workspace.dataset("code_edit")

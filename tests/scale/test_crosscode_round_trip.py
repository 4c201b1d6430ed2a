"""Tasks go out as text-to-text, and come back with the same texts and origins."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from goldpan.core.errors import DatasetError, UsageError
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.datasets.tasks.checks import check_task
from goldpan.datasets.tasks.registry import load_tasks
from goldpan.datasets.tasks.task import Task, TaskType, target_column
from goldpan.datasets.tasks.wording import blanks, wording_of
from goldpan.papers.crosscodebench.importing import import_task
from goldpan.papers.crosscodebench.instances import instance_of_row, read_instances
from goldpan.papers.crosscodebench.kinds import kind_of_task
from goldpan.papers.crosscodebench.meta import list_metas, read_meta
from goldpan.papers.crosscodebench.task_files import TaskDataset, export_tasks, meta_of
from tests.crosscode_tasks import TYPES, make_row, make_task, sample_rows, write_public, write_rows

QUIET = Reporter(quiet=True)


def tables(directory: Path) -> dict[str, pa.Table]:
    """Return the rows of a dataset by split."""
    by_split: dict[str, list[pa.Table]] = {}
    for path in sorted((directory / "data").glob("*.parquet")):
        by_split.setdefault(path.name.split("-")[0], []).append(pq.read_table(path))
    return {split: pa.concat_tables(mine) for split, mine in by_split.items()}


def come_back(tmp_path: Path, tasks: list[Task]) -> None:
    """Export tasks with sample rows, import them elsewhere, and compare."""
    own, other = WorkspaceLayout(tmp_path / "here"), WorkspaceLayout(tmp_path / "there")
    datasets = []
    for task in tasks:
        rows = sample_rows(task)
        splits = {"train": rows[:7], "validation": rows[7:8], "test": rows[8:]}
        datasets.append(TaskDataset(task, write_rows(own, task, splits)))
    exported = export_tasks(own, datasets, tmp_path / "files", QUIET)
    assert exported.instances == 12 * len(tasks)
    for path in list_metas(tmp_path / "files"):
        imported = import_task(other, path)
        given = [
            (one.split, one.input, one.output, one.facts.get("repo"))
            for one in read_instances(tmp_path / "files" / data_of(path))
        ]
        target = target_column(imported.task.type).name
        back = [
            (split, row["text"], row[target], row["repo"])
            for split, table in tables(imported.directory).items()
            for row in table.to_pylist()
        ]
        assert sorted(map(repr, back)) == sorted(map(repr, given))
        assert imported.splits == {"train": 7, "validation": 1, "test": 4}
    assert len(list_metas(tmp_path / "files")) == len(tasks)


def test_every_registry_task_comes_back(tmp_path: Path) -> None:
    tasks = list(load_tasks().values())
    assert {task.type for task in tasks} == set(TYPES)
    come_back(tmp_path, tasks)


def test_answers_read_as_the_paper_wants_them(tmp_path: Path) -> None:
    binary = make_task("b", "binary")
    several = make_task("s", "multi-label")
    tagged = make_task("n", "ner")
    written = [
        instance_of_row(wording_of(task), make_row(task, "1", content, target), "test")
        for task, content, target in (
            (binary, "x", "bug"),
            (several, "x", ["joy", "fear"]),
            (several, "x", []),
            (tagged, ["use", "git"], ["O", "B-tool"]),
            (make_task("r", "regression"), "x", 5.0),
            (make_task("m", "mlm"), "users log in", [{"start": 6, "end": 9}]),
        )
    ]
    assert [instance.output for instance in written] == [
        *("Yes", "joy, fear", "none", "use: O\ngit: B-tool", "5", "log")
    ]
    assert written[3].input == "use git"
    assert written[5].input == "users [MASK] in"


def test_a_text_that_holds_the_mask_gets_another() -> None:
    blanked = blanks("[MASK] and [MASK1] stay", [{"start": 7, "end": 10}])
    assert blanked == ("[MASK] [MASK2] [MASK1] stay", ["and"])


def test_masks_are_chosen_in_linear_time() -> None:
    hostile = "".join(f"[MASK{at}]" for at in range(60_000)) + "[MASK" * 60_000
    assert blanks(hostile, [{"start": 0, "end": 5}])[0].startswith("[MASK]0]")


@pytest.mark.parametrize(
    ("kind", "content", "target", "message"),
    [
        ("binary", "x", "crash", "the label 'crash' is not one of the task's: bug, other"),
        ("binary", None, "bug", "the column text is null"),
        ("regression", "x", math.nan, "not a finite number"),
        ("ner", ["a", "b"], ["O"], "2 words have 1 tags"),
        ("mlm", "abc", [{"start": 0, "end": 2}, {"start": 1, "end": 3}], "overlap"),
        ("mlm", "abc", [{"start": 0, "end": 9}], "outside"),
    ],
)
def test_a_row_that_does_not_fit_is_named(
    kind: TaskType, content: object, target: object, message: str
) -> None:
    task = make_task("odd", kind)
    with pytest.raises(DatasetError, match="The row odd:7 of odd") as caught:
        instance_of_row(wording_of(task), make_row(task, "7", content, target), "test")
    assert message in str(caught.value)


def test_the_meta_file_has_the_fields_of_the_paper(tmp_path: Path) -> None:
    workspace = WorkspaceLayout(tmp_path / "w")
    task = make_task("issue_kind", "multi-class")
    directory = write_rows(workspace, task, {"train": sample_rows(task)})
    export_tasks(workspace, [TaskDataset(task, directory)], tmp_path / "files", QUIET)
    (path,) = list_metas(tmp_path / "files")
    assert path.name.endswith("_issue_kind_data_classification.meta.json")
    meta = json.loads(path.read_text())
    assert list(meta)[:9] == [
        *("Type", "Description", "Definition", "Input Language", "Output Language"),
        *("Positive Examples", "Negative Examples", "BibTeX", "URL"),
    ]
    assert meta["Type"] == ["Classification", "Multi-label"]
    assert meta["Definition"].endswith("The output is one of 'bug', 'feature', 'question'.")
    assert meta["Instance Number"] == {"total": 12, "train": 12}
    positive, negative = meta["Positive Examples"], meta["Negative Examples"]
    assert len(positive) == len(negative) == 4
    assert {example["Output"] for example in positive} == {"bug", "feature", "question"}
    right = {
        instance.input: instance.output
        for instance in read_instances(tmp_path / "files" / data_of(path))
    }
    assert all(right[example["Input"]] == example["Output"] for example in positive)
    for example in negative:
        assert right[example["Input"]] != example["Output"]
        assert right[example["Input"]] in example["Reason"]


def data_of(meta: Path) -> str:
    return meta.name.replace(".meta.", ".data.")


def test_a_public_task_becomes_ones_own(tmp_path: Path) -> None:
    workspace = WorkspaceLayout(tmp_path / "w")
    path = write_public(
        tmp_path / "public",
        "task_006_some_dataset_classification",
        [
            {"input": ["int a;", "int b;"], "output": "No", "split": "train", "idx": 3},
            {"input": "x\x00\x7f", "output": "Yes", "split": "valid", "idx": "3"},
            {"input": "y", "output": "Yes", "split": "test", "idx": 3},
        ],
    )
    imported = import_task(workspace, path)
    assert imported.splits == {"train": 1, "validation": 1, "test": 1}
    assert imported.task.type == "binary"
    assert imported.task.label_names == ("Yes", "No")
    assert imported.task.category == "Detection -> Something New"
    task = load_tasks(workspace.root / "tasks")[imported.task.name]
    assert task == imported.task
    assert not list(check_task(task))
    assert tables(imported.directory)["train"]["text"].to_pylist() == ["int a; ||| int b;"]

    datasets = [TaskDataset(task, imported.directory)]
    (meta,) = export_tasks(workspace, datasets, tmp_path / "files", QUIET).metas
    first = read_meta(path)
    assert meta.stem == first.stem
    for name in ("kind", "categories", "definition", "description", "positive", "input_language"):
        assert getattr(meta, name) == getattr(first, name)
    old, new = (
        sorted((one.input, one.output, one.split) for one in read_instances(file))
        for file in (path.with_name(data_of(path)), tmp_path / "files" / data_of(path))
    )
    assert new == old
    second = import_task(WorkspaceLayout(tmp_path / "v"), tmp_path / "files" / path.name)
    assert second.task.label_names == imported.task.label_names
    assert second.splits == imported.splits


def test_a_registry_task_may_say_its_type() -> None:
    plain = make_task("gen", "text-generation")
    assert kind_of_task(plain).names == ["Generation"]
    declared = make_task(
        "gen", "text-generation", settings={"crosscode": {"type": ["Generation", "Rewrite"]}}
    )
    assert kind_of_task(declared).names == ["Generation", "Rewrite"]
    task = make_task("gen", "text-generation", category="bug_fixing")
    assert kind_of_task(task).names == ["Generation", "Rewrite"]


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"type": ["Generation", "Songs"]}, "odd: settings.crosscode.type"),
        ({"number": 0}, "odd: settings.crosscode.number"),
        ({"color": "red"}, "odd: the key settings.crosscode.color is unknown"),
        ("red", "odd: settings.crosscode"),
    ],
)
def test_what_a_task_says_of_itself_is_checked(declared: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        meta_of(make_task("odd", "binary", settings={"crosscode": declared}), 1)

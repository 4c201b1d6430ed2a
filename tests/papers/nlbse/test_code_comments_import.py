"""The official code comments of NLBSE'23 and NLBSE'25 as tasks."""

from __future__ import annotations

import csv
import json
import lzma
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from goldpan.core.errors import DatasetError, UsageError
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.tasks.data import read_task_data
from goldpan.datasets.tasks.registry import find_task
from goldpan.papers.nlbse import comment_tasks
from tests.invoking import Invoked, invoke

HEADER = "comment_sentence_id,class,comment_sentence,partition,instance_type,category\n"
KEYS = ("Keymessages", "Keyimplementationpoints")
CATEGORIES = {
    "java": ("summary", "usage", "Expand", "Ownership", "Pointer", "deprecation", "rational"),
    "pharo": ("Example", "Intent", *KEYS, "Responsibilities", "Collaborators", "Classreferences"),
    "python": ("Usage", "Parameters", "Summary", "Expand", "DevelopmentNotes"),
}
SENTENCES = [(16, "Bowl", "holds water."), (9, "Bowl", "a bowl, of clay"), (7, "Rim", "leaks")]


def official(directory: Path, language: str, *, compressed: bool = False) -> Path:
    """Write a file of the competition: the first sentence is of the first two categories."""
    rows = [
        (number, name, text, at % 2, int(at == 0 and index < 2), category)
        for index, category in enumerate(CATEGORIES[language])
        for at, (number, name, text) in enumerate(SENTENCES)
    ]
    path = directory / f"{language}.csv{'.xz' if compressed else ''}"
    directory.mkdir(exist_ok=True)
    with lzma.open(path, "wt", newline="") if compressed else path.open("w", newline="") as file:
        file.write(HEADER)
        csv.writer(file).writerows(rows)
    return path


def test_a_binary_task_keeps_the_official_partition(tmp_path: Path) -> None:
    task = find_task("nlbse23_java_summary")
    imported = list(comment_tasks.read_2023(task, [official(tmp_path, "java")]))
    assert [(row["text"], row["partition"], row["label"]) for row in imported] == [
        ("holds water.", "train", "summary"),
        ("a bowl, of clay", "test", "not summary"),
        ("leaks", "train", "not summary"),
    ]
    places = [(row["document"], row["position"]) for row in imported]
    assert places == [("Bowl", 1), ("Bowl", 0), ("Rim", 0)]
    assert [row["id"] for row in imported] == [f"{task.name}:{n}" for n in (16, 9, 7)]
    assert imported[1]["source"] == "java.csv:2"


def test_numbers_of_pandas_and_blanks_mean_the_same(tmp_path: Path) -> None:
    task, path = find_task("nlbse23_java_summary"), official(tmp_path, "java")
    read = comment_tasks.read_2023
    imported = list(read(task, [path]))
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(",0,1,", ",0.0, 1.0 ,").replace(",1,0,", ", 1,0.0,"), "utf-8")
    assert list(read(task, [path])) == imported


def test_a_multi_label_task_puts_categories_together(tmp_path: Path) -> None:
    task = find_task("comment_type_pharo")
    file = official(tmp_path, "pharo", compressed=True)
    imported = {row["text"]: row for row in comment_tasks.read_2023(task, [file])}
    assert set(imported["holds water."]["labels"]) == {"example", "intent"}
    assert imported["leaks"]["labels"] == []
    assert {row["partition"] for row in imported.values()} == {None}


def broken(tmp_path: Path, old: str, new: str) -> Path:
    path = official(tmp_path, "java")
    path.write_text(path.read_text().replace(old, new, 1))
    return path


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("instance_type", "kind", "does not have the columns instance_type"),
        ("\n9,", "\nx9,", "row 2, has the comment_sentence_id 'x9'"),
        ("\n9,", f"\n{'9' * 5_000},", "row 2, has the comment_sentence_id '9999"),
        (",0,1,summary", ",2,1,summary", "row 1, has a partition"),
        (",0,1,summary", ",0,yes,summary", "row 1, has a partition"),
        (",0,1,summary", ",0,1", "line 2"),
    ],
)
def test_a_file_of_another_form_is_refused(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    task = find_task("nlbse23_java_summary")
    with pytest.raises(DatasetError, match=message):
        list(comment_tasks.read_2023(task, [broken(tmp_path, old, new)]))


def test_a_file_without_the_category_or_the_language_is_refused(tmp_path: Path) -> None:
    task = find_task("nlbse23_java_summary")
    file = official(tmp_path, "java")
    file.write_text(file.read_text().replace(",summary", ",other"))
    with pytest.raises(DatasetError, match="no category summary"):
        list(comment_tasks.read_2023(task, [file]))
    with pytest.raises(UsageError, match=r"called java\.csv"):
        list(comment_tasks.read_2023(task, [official(tmp_path, "python")]))


def hub_file(path: Path, labels: list[Any], partition: int = 0) -> Path:
    common = {"class": "Bowl", "partition": partition}
    rows = [
        {**common, "index": at, "comment_sentence": f"sentence {at}", "labels": bits}
        for at, bits in enumerate(labels)
    ]
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


def test_the_files_of_the_hub(tmp_path: Path) -> None:
    task = find_task("comment_type_python")
    train = hub_file(tmp_path / "python_train-0.parquet", [[1, 0, 0, 0, 1], [0, 0, 1, 0, 0]])
    test = hub_file(tmp_path / "python_test-0.parquet", [[0, 1, 0, 0, 0]], partition=1)
    other = hub_file(tmp_path / "java_test-0.parquet", [[0, 1, 0, 0, 0, 0, 0]])
    imported = list(comment_tasks.read_2025(task, [train, test, other]))
    assert [(row["partition"], set(row["labels"])) for row in imported] == [
        ("test", {"parameters"}),
        ("train", {"usage", "summary"}),
        ("train", {"development notes"}),
    ]
    assert [row["position"] for row in imported] == [0, 1, 2]
    with pytest.raises(UsageError, match="pharo_"):
        list(comment_tasks.read_2025(find_task("comment_type_pharo"), [other]))
    for labels in ([1], 3):
        with pytest.raises(DatasetError, match="another form"):
            list(
                comment_tasks.read_2025(find_task("comment_type_java"), [hub_file(other, [labels])])
            )


def run(*arguments: str | Path) -> Invoked:
    return invoke("import", *arguments)


def test_a_source_is_imported_at_once(tmp_path: Path) -> None:
    files = [official(tmp_path / "given", name) for name in ("java", "python")]
    workspace = WorkspaceLayout(tmp_path / "workspace")
    done = run("nlbse23-comments", *files, "--workspace", workspace.root, "--json")
    assert done.exit_code == 3, done.output
    output = json.loads(done.stdout)
    assert len(output["tasks"]) == 12 and len(output["not_given"]) == 7
    task = find_task("nlbse23_python_parameters")
    data = read_task_data(workspace.dataset(task.name), task)
    assert {name: len(table) for name, table in data.splits.items()} == {"train": 2, "test": 1}
    done = run("nlbse23-code-comments", files[0], "--workspace", workspace.root)
    assert "differ" in done.stdout


def test_wrong_sources_and_files_are_told(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    done = run("nlbse-comments", tmp_path / "a.csv", "--workspace", root)
    assert (done.exit_code, "nlbse23-comments" in done.stderr) == (2, True)
    done = run("nlbse23-comments", tmp_path / "ruby.csv", "--workspace", root)
    assert (done.exit_code, "java.csv, pharo.csv, python.csv" in done.stderr) == (2, True)

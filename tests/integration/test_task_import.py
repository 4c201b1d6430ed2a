"""Importing a task writes a dataset like any other, counts, and never downloads unasked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from goldpan.core.errors import DatasetError, UsageError
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.datasets.hub.check import check_dataset
from goldpan.datasets.tasks.data import read_task_data, with_validation
from goldpan.datasets.tasks.importing import import_files
from goldpan.datasets.tasks.leakage import find_overlap
from goldpan.datasets.tasks.registry import find_task, load_tasks
from goldpan.datasets.tasks.task import Task
from tests.hub import Hub
from tests.invoking import invoke
from tests.places import files_below
from tests.tasks import own_files, own_task

QUIET = Reporter(quiet=True)


def toy(directory: Path, *changes: tuple[str, str]) -> Task:
    own_task(directory / "tasks", *changes)
    return find_task("toy_issues", directory / "tasks")


def imported(root: Path, task: Task, files: list[Path]) -> Path:
    """Import a task into a workspace, and return the folder of its dataset."""
    return import_files(WorkspaceLayout(root), task, files, QUIET).written.directory


def run(*arguments: object) -> tuple[int, Any]:
    """Run a command of `goldpan tasks` with --json."""
    done = invoke("tasks", *map(str, arguments), "--json")
    return done.exit_code, json.loads(done.stdout or done.stderr)


def rows(directory: Path, split: str) -> list[dict[str, Any]]:
    (file,) = directory.glob(f"data/{split}-*")
    return list(pq.read_table(file).to_pylist())


def test_a_dataset_comes_out(tmp_path: Path) -> None:
    task = toy(tmp_path)
    workspace = WorkspaceLayout(tmp_path / "w")
    written = import_files(workspace, task, own_files(tmp_path), QUIET).written
    assert written.directory == tmp_path / "w" / "datasets" / "toy_issues"
    assert {split.name: split.rows for split in written.splits} == {"train": 2, "test": 2}
    examples = [*rows(written.directory, "train"), *rows(written.directory, "test")]
    texts = sorted(row["text"] for row in examples)
    assert texts == ["A falls apart", "B falls apart", "Make it blue", "Make it red"]
    assert {row["license"] for row in examples} == {"MIT"}
    card = (written.directory / "README.md").read_text(encoding="utf-8")
    assert "taken from Toy issues of nobody" in card
    assert "@misc{nobody2024toy" in card
    assert "mined" not in card


def test_importing_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    task, files = toy(tmp_path), own_files(tmp_path)
    first, second = (files_below(imported(tmp_path / name, task, files)) for name in ("a", "b"))
    assert first == second
    assert len(first) == 5


def test_an_imported_dataset_may_be_published(tmp_path: Path) -> None:
    task = toy(tmp_path)
    directory = imported(tmp_path / "w", task, own_files(tmp_path))
    assert check_dataset(directory) == []
    file = next(directory.glob("data/train-*"))
    file.write_bytes(file.read_bytes() + b"x")
    assert "was changed" in str(check_dataset(directory)[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('"MIT"', '"unknown"'), "whose license is not known"),
        (('"public"', '"no-copy"'), "may not be copied"),
    ],
)
def test_what_may_not_be_shared_is_not_published(
    tmp_path: Path, change: tuple[str, str], message: str
) -> None:
    task = toy(tmp_path, change)
    directory = imported(tmp_path / "w", task, own_files(tmp_path))
    assert [message in str(problem) for problem in check_dataset(directory)] == [True]


def test_a_secret_in_an_imported_text_is_found(tmp_path: Path) -> None:
    task, (path,) = toy(tmp_path), own_files(tmp_path)
    path.write_text(path.read_text().replace("red", "known to ann.roe@roe-mills.de"))
    directory = imported(tmp_path / "w", task, [path])
    assert "has email in its text" in str(check_dataset(directory)[0])


def test_counts_that_differ_are_told_and_the_rows_kept(tmp_path: Path) -> None:
    own_task(tmp_path / "w" / "tasks", ("total = 4", "total = 5"))
    code, output = run("import", "toy_issues", *own_files(tmp_path), "--workspace", tmp_path / "w")
    assert (code, output["exact"], output["written"]["rows"]) == (3, False, 4)
    assert {"what": "total", "expected": 5, "found": 4} in output["checks"]
    card = (Path(output["written"]["directory"]) / "README.md").read_text(encoding="utf-8")
    assert "rows of 5 that the source is said to have | 4 |" in card


def test_projects_that_are_not_given_are_missing(tmp_path: Path) -> None:
    path = tmp_path / "usergrid.csv"
    path.write_text("issuekey,title,description,storypoint\nU-1,a,b,3\nU-2,c,d,5\n")
    code, output = run("import", "story_points", path, "--workspace", tmp_path / "w")
    assert code == 3
    assert len(output["missing"]) == 15
    assert "usergrid" not in output["missing"]
    done = invoke("tasks", "import", "story_points", path, "--workspace", tmp_path / "w")
    assert "Partial: 15 projects not given" in done.stdout
    assert "repo:usergrid: 2 are 480 fewer than the registry says" in done.stdout


def test_copies_that_differ_in_case_and_white_space_lie_on_one_side(tmp_path: Path) -> None:
    """By the rule by which the check finds them: here it finds none, of validation neither."""
    task, (path,) = toy(tmp_path), own_files(tmp_path)
    forms = (
        "Crash on {}",
        "CRASH ON {}",
        "crash  on\t{} ",
        "Ｃrash on {}",
        "<!-- a -->Crash on {}",
    )
    lines = [
        f'"{form.format(number)}",the log,{"BW"[number % 2]}\n'
        for number in range(40)
        for form in forms
    ]
    path.write_text("title,body,kind\n" + "".join(lines), encoding="utf-8")
    for split in ("random:0.5,0.5", "stratified:0.5,0.5"):
        result = import_files(
            WorkspaceLayout(tmp_path / split[:4]), task, [path], QUIET, split=split
        )
        data = with_validation(read_task_data(result.written.directory, task), 0.3, seed=0)
        train, validation, test = (
            data.splits[name].to_batches() for name in ("train", "validation", "test")
        )
        assert sum(map(len, train + validation + test)) == len(lines)
        assert not find_overlap(task, train, test).repeated
        assert not find_overlap(task, train, validation).rows["text"]


def test_rows_that_a_split_leaves_out_are_told(tmp_path: Path) -> None:
    task = toy(tmp_path, ("[settings]", '[settings]\ncreated_at = "at"'))
    (path,) = own_files(tmp_path)
    lines = path.read_text(encoding="utf-8").splitlines()
    dated = [f"{line},{at}" for line, at in zip(lines, ["at", *["2020-01-01"] * 4], strict=True)]
    later = [line.replace("2020", "2023") for line in dated[1:3]]
    path.write_text("\n".join([*dated, *later, "New,text,B,2023-01-01"]), encoding="utf-8")
    result = import_files(WorkspaceLayout(tmp_path), task, [path], QUIET, split="time:2022-01-01")
    assert {split.name: split.rows for split in result.written.splits} == {"train": 4, "test": 1}
    assert "2 dropped: their text is in another split" in str(result)
    card = (result.written.directory / "README.md").read_text(encoding="utf-8")
    assert "Rows with the same text are never on two sides" in card
    assert "2 examples of 2 groups that lay on another side were left out" in card
    assert "Near duplicates" not in card


def test_several_processes_give_the_same_rows(tmp_path: Path) -> None:
    task, (path,) = toy(tmp_path), own_files(tmp_path)
    lines = [f"a  {number},b,B\n" for number in range(5_000)]
    path.write_text("title,body,kind\n" + "".join(lines), encoding="utf-8")
    files = []
    for processes in (1, 2):
        workspace = WorkspaceLayout(tmp_path / str(processes))
        result = import_files(workspace, task, [path], QUIET, processes=processes)
        files.append((result.written.directory / "provenance.json").read_bytes())
    assert files[0] == files[1]


def test_steps_and_splits_can_be_chosen(tmp_path: Path) -> None:
    task, files = toy(tmp_path), own_files(tmp_path)
    workspace = WorkspaceLayout(tmp_path / "w")
    result = import_files(
        workspace, task, files, QUIET, steps="none", split="none", directory=tmp_path / "out"
    )
    (file,) = (tmp_path / "out").glob("data/*.parquet")
    assert file.name.startswith("test-")
    assert "A  falls\napart" in pq.read_table(file)["text"].to_pylist()
    assert result.written.directory == tmp_path / "out"
    with pytest.raises(UsageError, match="no order of steps"):
        import_files(workspace, task, files, QUIET, steps="paper")


def test_without_files_people_are_told_where_they_are(tmp_path: Path) -> None:
    workspace = WorkspaceLayout(tmp_path)
    for task in load_tasks().values():
        with pytest.raises(UsageError) as error:
            import_files(workspace, task, [], QUIET)
        message = str(error.value)
        if task.source.access == "built":
            assert f"Run goldpan build {task.source.builder}" in message
        else:
            assert task.source.url in message
            assert f"goldpan tasks import {task.name} FILE..." in message
    assert not (tmp_path / "datasets").exists()


def test_a_failed_import_leaves_what_was_there(tmp_path: Path) -> None:
    task, (path,) = toy(tmp_path), own_files(tmp_path)
    directory = imported(tmp_path / "w", task, [path])
    before = files_below(directory)
    path.write_text(path.read_text() + "x,y,Q\n")
    with pytest.raises(DatasetError, match="'Q' is not a label"):
        imported(tmp_path / "w", task, [path])
    assert files_below(directory) == before
    assert not list((tmp_path / "w" / "tmp").iterdir())


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "no-login"))
    monkeypatch.delenv("HF_TOKEN", raising=False)
    with Hub(tmp_path / "hub", {}) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        hub.create("org/toy")
        yield hub


def test_the_hub_is_asked_only_with_the_flag_and_a_commit(tmp_path: Path, hub: Hub) -> None:
    on_hub = ('files = ["toy.csv"]', 'files = ["toy.csv"]\nhub = "org/toy"')
    own_task(tmp_path / "w" / "tasks", on_hub)
    (path,) = own_files(tmp_path)
    hub.add("org/toy", "toy.csv", path.read_bytes())
    commit = (hub.repo("org/toy") or {})["head"]
    hub.add("org/toy", "toy.csv", b"something else")
    common = ("import", "toy_issues", "--workspace", tmp_path / "w")
    for arguments in ((), ("--download",), ("--download", "--revision", "main")):
        assert run(*common, *arguments)[0] == 2
    assert not hub.requests
    code, output = run(*common, "--download", "--revision", commit)
    assert (code, output["written"]["rows"], output["exact"]) == (0, 4, True)
    code, output = run(*common, "--download", "--revision", "0" * 40)
    assert (code, "has no dataset org/toy" in output["error"]["problem"]) == (1, True)
    code, output = run("import", "sentiment", "--download", "--workspace", tmp_path / "w")
    assert (code, "not on the Hugging Face Hub" in output["error"]["problem"]) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("import", "toy", "x.csv", "--download"), "There is no task"),
        (("import", "sentiment", "x.csv", "--download"), "are given"),
        (("import", "sentiment", "--revision", "0"), "says what to download"),
        (("list", "--suite", "glue"), "There is no benchmark 'glue'"),
        (("list", "--type", "vision"), "There is no task of the type 'vision'"),
        (("list", "--tasks", "nowhere"), "is not a directory"),
    ],
)
def test_wrong_use_is_told(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    code, output = run(*arguments, "--workspace", tmp_path)
    assert (code, message in output["error"]["problem"]) == (2, True)


def test_lists_and_tasks_are_shown(tmp_path: Path) -> None:
    own_task(tmp_path / "tasks")
    import_files(WorkspaceLayout(tmp_path), toy(tmp_path), own_files(tmp_path), QUIET)
    _, listed = run("list", "--suite", "toy", "--type", "multi-class", "--workspace", tmp_path)
    assert [(task["name"], task["imported"]) for task in listed] == [("toy_issues", True)]
    _, shown = run("show", "toy_issues", "--workspace", tmp_path)
    assert shown["task"]["source"]["license"] == "MIT"
    done = invoke("tasks", "show", "issue_type", "--workspace", tmp_path)
    assert "goldpan build issue-type --profile nlbse22" in done.stdout
    done = invoke("tasks", "list", "--workspace", tmp_path)
    assert "43 tasks, 1 in the workspace" in done.stdout


def test_validate_ends_with_1_where_something_is_wrong(tmp_path: Path) -> None:
    assert run("validate", "--workspace", tmp_path) == (0, {"tasks": 42, "problems": []})
    own_task(tmp_path / "mine", ('"label:wish" = 2', '"label:hope" = 2'))
    code, output = run("validate", "--tasks", tmp_path / "mine", "--workspace", tmp_path)
    assert code == 1
    assert [problem["key"] for problem in output["problems"]] == ["counts"]

"""`goldpan build crosscode` from a workspace with tasks to prompts, and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.tasks.registry import find_task
from goldpan.papers.crosscodebench.cells import percentages
from goldpan.papers.crosscodebench.importing import task_toml
from tests.console import run, sentence
from tests.crosscode_tasks import sample_rows, write_public, write_rows
from tests.invoking import Invoked, invoke
from tests.planning import TASKS, write_tasks


@pytest.fixture
def workspace(tmp_path: Path) -> WorkspaceLayout:
    """Return a workspace with the rows of some tasks."""
    write_tasks(tmp_path / "place")
    return WorkspaceLayout(tmp_path / "place")


def crosscode(*arguments: str | Path) -> Invoked:
    return invoke("build", "crosscode", *arguments)


def answer(*arguments: str | Path) -> Any:
    done = crosscode(*arguments, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def refusal(*arguments: str | Path) -> str:
    """Return what a person is told by a command that cannot be done."""
    done = crosscode(*arguments)
    assert done.exit_code
    return done.stderr


def test_tasks_go_out_are_split_and_come_back(workspace: WorkspaceLayout, tmp_path: Path) -> None:
    common = ("--workspace", workspace.root)
    out = answer("export", "--all", *common)
    assert out["instances"] == 120
    assert {task["task"] for task in out["tasks"].values()} == set(TASKS)
    assert "sentiment" in out["without_rows"]
    exported = workspace.root / "crosscode" / "tasks"

    made = answer("split", "type-qa", "--method", "2-shot", "--seed", "3", *common)["built"]
    assert {task["task"] for task in made["train"]} == set(TASKS) - {"qa"}
    prompts = pq.read_table(Path(made["directory"]) / "data" / "test-00000-of-00001.parquet")
    assert prompts.num_rows == made["evaluation"][0]["drawn"]
    assert all(text.count("\nExample ") == 2 for text in prompts["prompt"].to_pylist())

    imports = answer("import", exported, "--workspace", tmp_path / "new")
    assert len(imports) == len(TASKS)
    for imported in imports:
        assert imported["splits"] == {"train": 20, "test": 10}
        table = pq.read_table(Path(imported["directory"]) / "data" / "train-00000-of-00001.parquet")
        assert set(table["license"].to_pylist()) == {"MIT"}
        assert set(table["repo"].to_pylist()) == {None, "o/n"}


def test_people_see_what_was_done(workspace: WorkspaceLayout, tmp_path: Path) -> None:
    common = ("--workspace", workspace.root)
    done = crosscode("export", "--task", "qa", "--task", "issue_type", *common)
    assert done.exit_code == 0
    assert "task_340_goldpan_issues_question_answering" in done.stdout
    assert "60 instances written to" in done.stdout
    done = crosscode("split", "Type-QA", *common)
    assert "Type-QA: 30 prompts to train on, 30 to evaluate on" in done.stdout


def test_public_files_are_used_where_they_lie(workspace: WorkspaceLayout, tmp_path: Path) -> None:
    instances = [{"input": f"int a{at};", "output": f"a{at}: int"} for at in range(5)]
    write_public(tmp_path / "public", "task_150_trans_translation", instances, Type=["Translation"])
    common = ("--workspace", workspace.root)
    answer("export", "--all", *common)
    both = ("--source", tmp_path / "public", "--source", workspace.root / "crosscode" / "tasks")
    made = answer("split", "Type-Trans", *both, *common)["built"]
    assert [task["task"] for task in made["evaluation"]] == ["task_150_trans_translation"]
    assert len(made["train"]) == 4
    done = crosscode("import", tmp_path / "public", *common)
    assert "task_150_trans_translation" in done.stdout
    done = crosscode("export", "--task", "task_150_trans_translation", *common)
    assert "task_150_trans_translation" in done.stdout


def test_numbers_stay(workspace: WorkspaceLayout, tmp_path: Path) -> None:
    """A task that is not shipped keeps the number that it got first."""
    common = ("--workspace", workspace.root)
    own = workspace.root / "tasks"
    own.mkdir()
    shipped = find_task("issue_type")
    for name in ("zebra", "apple"):
        (own / f"{name}.toml").write_text(task_toml(shipped), encoding="utf-8")
        task = find_task(name, own)
        assert task.labels == shipped.labels
        write_rows(workspace, task, {"train": sample_rows(task)})
        out = answer("export", "--all", *common)
    numbers = {task["task"]: stem.split("_")[1] for stem, task in out["tasks"].items()}
    assert numbers["zebra"] < numbers["apple"]
    assert numbers["issue_type"] == "308"


def test_what_is_wrong_is_said_in_a_sentence(workspace: WorkspaceLayout) -> None:
    common = ("--workspace", workspace.root)
    assert "Give either --task NAME or --all" in refusal("export", *common)
    absent = refusal("export", "--task", "sentiment", *common)
    assert "no rows of sentiment" in absent
    assert "tasks import sentiment" in absent
    answer("export", "--all", *common)
    assert "did you mean Type-Trans" in refusal("split", "Type-Tran", *common)
    assert "no task for evaluation" in refusal("split", "Type-Trans", *common)
    path = workspace.root / "crosscode" / "tasks"
    (data,) = path.glob("task_340*.data.json")
    data.write_text('{"Instances": [{"\\u001b[31mred": "x", "input": "x"}]}')
    assert "Instances[0].output: is missing" in refusal("split", "Type-QA", *common)
    assert not (workspace.root / "crosscode" / "splits").exists()


def test_a_person_sees_one_line_of_error(tmp_path: Path) -> None:
    done = run("build", "crosscode", "import", tmp_path, folder=tmp_path)
    sentence(done, 1, "holds no task_NNN_DATASET_TYPE.meta.json")


def test_scores_are_percentages() -> None:
    inputs = ["def add ( a , b ) : return a - b", "def two ( ) : return 3"]
    fixed = ["def add ( a , b ) : return a + b", "def two ( ) : return 2"]
    copied = percentages(fixed, inputs)
    assert copied["EM"] == 0
    assert 60 < copied["BLEU"] < 100
    perfect = percentages(fixed, list(fixed))
    assert perfect == pytest.approx({"EM": 100, "BLEU": 100, "ROUGE-L": 100})
    labels = ["buggy", "correct"]
    example_output = percentages(labels, ["buggy", "buggy"])
    assert example_output["EM"] == 50  # as Table V's 50.00 for two balanced classes
    assert percentages(labels, [None, None])["EM"] == 0
    assert percentages([], []) == {}

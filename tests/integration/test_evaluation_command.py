"""goldpan evaluate run, as people type it."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from goldpan.core.errors import UsageError
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.evaluation.record import read_runs
from tests.comparing import split_rows, two_labels, write_rows
from tests.finetuning import example_rows
from tests.invoking import Invoked, invoke

pytest.importorskip("sklearn")


def run(root: Path, *arguments: str) -> Invoked:
    return invoke("evaluate", "run", "--workspace", str(root), *arguments)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with a task of labels and one of tags."""
    workspace = WorkspaceLayout(tmp_path)
    write_rows(workspace, two_labels())
    task, table = example_rows("se_entities")
    pairs = list(zip(table["tokens"].to_pylist(), table["tags"].to_pylist(), strict=True))
    write_rows(workspace, split_rows(task, pairs, 24))
    return tmp_path


def test_what_a_model_does_not_answer_stops_no_other_run(root: Path) -> None:
    done = run(root, "--task", "se_entities", "--task", "requirement_type", "--model", "tfidf-svm")
    assert done.exit_code == 1
    assert "does not answer se_entities" in done.stderr
    assert [result.task for result in read_runs(WorkspaceLayout(root))] == ["requirement_type"]
    alone = run(root, "--task", "se_entities", "--model", "tfidf-svm")
    assert alone.exit_code in (1, 2)


def test_a_seed_that_no_generator_takes_is_refused_before_anything_runs(root: Path) -> None:
    for seed in ("-1", str(2**32)):
        done = run(root, "--task", "requirement_type", "--model", "majority", "--seed", seed)
        assert done.exit_code == 2
    with pytest.raises(UsageError, match="no finished run"):
        read_runs(WorkspaceLayout(root))


def test_rows_that_are_not_there_are_told_with_how_to_get_them(root: Path) -> None:
    done = run(root, "--task", "issue_type", "--model", "majority")
    assert done.exit_code == 2
    assert "There are no rows of issue_type" in done.stderr
    assert "tasks import issue_type FILES" in done.stderr


def test_settings_that_make_no_sense_are_told(root: Path) -> None:
    for wrong in ("features=-1", "rounds=-1", "grid=large"):
        done = run(root, "--task", "requirement_type", "--model", "tfidf-xgboost", "--set", wrong)
        assert done.exit_code == 2


def test_results_come_as_json(root: Path) -> None:
    done = run(root, "--task", "requirement_type", "--model", "majority", "--json")
    (result,) = orjson.loads(done.stdout)
    assert result["split"] == "given"
    assert result["learning"] == {
        "chosen_on": "",
        "candidates": 0,
        "from_all": True,
        "training": "",
        "facts": {},
    }

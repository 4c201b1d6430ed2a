"""goldpan evaluate run, as people type it, and by the protocols of papers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from goldpan.core.errors import UsageError
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.tasks.registry import find_task
from goldpan.evaluation.protocol import find_protocol, in_part, settings_for
from goldpan.evaluation.record import read_runs
from goldpan.workspace.runs import RunPlan, plan_runs
from goldpan.workspace.workspace import Workspace as Lab
from tests.comparing import add_run, reported, split_rows, two_labels, write_rows
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


def test_settings_that_make_no_sense_are_told(root: Path) -> None:
    for wrong in ("features=-1", "rounds=-1", "grid=large"):
        done = run(root, "--task", "requirement_type", "--model", "tfidf-xgboost", "--set", wrong)
        assert done.exit_code == 2


def test_each_run_has_one_line_and_each_warning_stands_once(root: Path) -> None:
    options = ("--model", "majority", "--seed", "0", "--seed", "1", "--protocol", "selu-paper")
    done = run(root, "--task", "requirement_type", *options)
    assert done.exit_code == 0, done.output
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["model", "seed", "macro_f1", "accuracy", "f1", "mcc"] in lines
    of_model = [line for line in lines if line[:1] == ["majority"]]
    assert [line[1] for line in of_model] == ["0", "1", "2"], "and one line of both seeds"
    assert of_model[-1][-1] == "0.0000", "the spread"
    text = " ".join(done.stdout.split())
    assert text.count("names no settings of majority") == 1
    assert "2 runs; " in text


def test_tasks_of_other_types_have_their_own_metrics(root: Path) -> None:
    done = run(root, "--task", "se_entities", "--task", "requirement_type", "--model", "majority")
    assert done.exit_code == 0, done.output
    assert "seqeval_recall" in done.stdout
    assert "accuracy" in done.stdout


SELU = find_protocol("selu-paper")
TASK = find_task("requirement_type")
WHOLE = "stratified:0.8,0.2, seed 42"


def test_the_protocol_alone_is_the_papers_grid_and_choice(tmp_path: Path) -> None:
    write_rows(WorkspaceLayout(tmp_path), two_labels())
    lab = Lab(tmp_path)
    (planned,) = planned_by(lab, {})
    settings = planned.model.settings
    assert planned.seed == 42
    assert (settings["grid"], settings["selection"], settings["features"]) == ("paper", "paper", 0)
    (other,) = planned_by(lab, {"grid": "small"})
    assert other.model.settings["grid"] == "small"


def planned_by(lab: Lab, settings: Mapping[str, Any]) -> RunPlan:
    return plan_runs(
        lab,
        ["requirement_type"],
        None,
        models=["tfidf-xgboost"],
        seeds=(),
        settings=settings,
        protocol="selu-paper",
    )


@pytest.mark.parametrize(
    ("model", "steps", "split", "gap"),
    [
        ("tfidf-xgboost", "default", WHOLE, "texts were prepared by"),
        ("tfidf-xgboost", "selu-paper", "stratified:0.8,0.2, seed 7", "split's seed is 7"),
        ("tfidf-xgboost", "selu-paper", "random:0.5,0.5, seed 42", "not by stratified:0.8,0.2"),
        ("tfidf-svm", "selu-paper", WHOLE, "names no settings of tfidf-svm"),
        ("tfidf-xgboost", "selu-paper", WHOLE, ""),
    ],
)
def test_rows_made_otherwise_are_named(model: str, steps: str, split: str, gap: str) -> None:
    task = replace(TASK, steps=("markdown_to_text", "white_space"))
    order = {"default": task.steps, "selu-paper": ("white_space", "markdown_to_text")}
    settings = settings_for(SELU, model, {})
    gaps = in_part(SELU, task, model, settings, steps=order[steps], split=split, facts={})
    assert gap in "; ".join(gaps)
    assert bool(gaps) == bool(gap)


def test_what_is_less_is_told_by_the_run_and_the_report(tmp_path: Path) -> None:
    data = two_labels()
    write_rows(WorkspaceLayout(tmp_path), data)
    common = ["run", "--workspace", str(tmp_path), "--task", "requirement_type"]
    result = invoke("evaluate", *common, "--model", "majority", "--protocol", "selu-paper")
    assert "Protocol selu-paper in part" in result.stdout
    assert "names no settings of majority" in result.stdout
    plain = invoke("evaluate", *common, "--model", "majority")
    assert "in part" not in plain.stdout
    add_run(WorkspaceLayout(tmp_path), data, "good", 0.9, protocol="selu-paper")
    report = reported(WorkspaceLayout(tmp_path))
    assert any("selu-paper in part" in warning for warning in report.warnings)

"""A paper's protocol alone is the paper's; anything less is named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.tasks.registry import find_task
from goldpan.evaluation.models import boosted, fasttext
from goldpan.evaluation.models.finetuned import finetuned
from goldpan.evaluation.protocol import find_protocol, in_part, settings_for
from goldpan.workspace.runs import RunPlan, plan_runs
from goldpan.workspace.workspace import Workspace as Lab
from tests.comparing import add_run, reported, two_labels, write_rows
from tests.invoking import invoke
from tests.tiny_models import tiny

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
    depths, weights = boosted._GRIDS["paper"]
    assert (len(depths), len(weights)) == (8, 7)
    rates, epochs = fasttext._GRIDS["paper"]
    assert (len(rates), len(epochs)) == (6, 16)
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


@pytest.mark.nightly
def test_fine_tuning_under_the_protocol_is_the_papers_recipe() -> None:
    weights = {"weights": str(tiny("bert"))}
    model = finetuned(settings_for(SELU, "finetuned", weights))
    settings = model.settings
    assert (settings["epochs"], settings["learning_rate"]) == (3, 1e-5)
    assert settings["deepspeed"] == "zero2-offload"
    assert not in_part(SELU, TASK, model.name, settings, steps=None, split="", facts={})
    less = finetuned(settings_for(SELU, "finetuned", {**weights, "epochs": 1}))
    gaps = in_part(SELU, TASK, less.name, less.settings, steps=None, split="", facts={})
    assert gaps == ("epochs is 1, not 3",)


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

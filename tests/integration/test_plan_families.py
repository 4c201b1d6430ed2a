"""Families that need no pairs, and pairs by several rules, in one plan."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.planning import (
    OTHER_FAMILIES,
    SLUICE,
    TASKS,
    local_github,
    made,
    run,
    run_json,
    states,
    write_plan,
    write_tasks,
)
from tests.twin import Twin

FAMILIES = f"""
[repositories]
listed = ["{SLUICE}"]
[clone]
source = "{{name}}.git"
{OTHER_FAMILIES}
[pair]
rules = ["default", "unconfirmed"]
[[dataset]]
name = "edits"
family = "code-edit"
[[dataset]]
name = "more-edits"
family = "code-edit"
rules = "unconfirmed"
limit = 3
[[evaluation]]
name = "copied"
dataset = ["edits", "more-edits"]
model = ["copy-ins-input"]
"""


@pytest.fixture(scope="module")
def github(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Twin, Path]]:
    folder = tmp_path_factory.mktemp("families")
    with local_github(folder) as twin:
        write_tasks(folder / "lab")
        write_plan(folder, FAMILIES)
        yield twin, folder


def test_they_are_built_once(github: tuple[Twin, Path]) -> None:
    twin, folder = github
    first = run_json(twin, folder)
    outcomes = states(first)
    names = {f"dataset/{name}" for name in ("types", "comments", "unseen")}
    assert {name: outcomes[name] for name in names} == dict.fromkeys(names, "done")
    files = made(folder / "lab")
    ran = {unit["unit"]: unit["summary"] for unit in first["units"]}
    assert "fix pairs by rules default" in ran[f"pair/{SLUICE}"]
    assert "pairs by unconfirmed" in ran[f"filter/{SLUICE}"]
    assert ran["evaluate/copied"].count("copy-ins-input") == 2  # of each dataset, of one task
    assert len(list((folder / "lab" / "runs").rglob("result.json"))) == 2
    provenances = [
        (folder / "lab" / "datasets" / name / "provenance.json").read_text("utf-8")
        for name in ("edits", "more-edits")
    ]
    assert ["unconfirmed" in text for text in provenances] == [False, True]
    for name in ("types", "comments", "unseen"):
        assert any(path.startswith(f"datasets/{name}/") for path in files)
    again = run(twin, folder)
    assert again.out.startswith("Nothing to do: all "), again.out + again.err
    plan = folder / "plan.toml"
    plan.write_text(plan.read_text("utf-8").replace('"class", "module"', '"module"'), "utf-8")
    third = states(run_json(twin, folder))
    assert third["dataset/comments"] == "done"
    assert {third["dataset/types"], third["dataset/unseen"]} == {"fresh"}


def test_prompts_are_made_of_what_the_same_plan_builds(
    github: tuple[Twin, Path], tmp_path: Path
) -> None:
    twin, _ = github
    write_tasks(tmp_path / "lab", TASKS[1:])  # all but qa, which the plan builds under its own name
    text = f"""
[repositories]
listed = ["{SLUICE}"]
[clone]
enabled = false
[[dataset]]
name = "unseen"
family = "crosscode"
task = {list(TASKS)}
split = "Type-QA"
[[dataset]]
name = "answers"
family = "qa"
limit = 5
[[evaluation]]
name = "copied"
task = ["qa"]
model = ["copy-ins-input"]
"""
    write_plan(tmp_path, text)
    first = run_json(twin, tmp_path)
    summaries = {unit["unit"]: unit["summary"] for unit in first["units"]}
    built = [name for name in summaries if name.startswith("dataset/")]
    assert built == ["dataset/answers", "dataset/unseen"]
    assert "evaluate/copied" in summaries
    assert "5 to evaluate on" in summaries["dataset/unseen"]
    assert set(states(run_json(twin, tmp_path)).values()) == {"fresh"}
    write_plan(tmp_path, text.replace("limit = 5", "limit = 6"))
    second = run_json(twin, tmp_path)
    outcomes = states(second)
    names = {name for name, outcome in outcomes.items() if outcome == "done"}
    assert names == {"dataset/answers", "dataset/unseen", "evaluate/copied"}
    summaries = {unit["unit"]: unit["summary"] for unit in second["units"]}
    assert "6 to evaluate on" in summaries["dataset/unseen"]

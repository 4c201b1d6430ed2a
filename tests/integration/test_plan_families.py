"""Every family and every stage in one plan, and pairs by several rules."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.demo_workspace import attempt, make_demo
from tests.pages import write_requirements
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


@pytest.mark.nightly
def test_a_repository_that_lacks_is_left_out_where_the_plan_says_so(
    github: tuple[Twin, Path], tmp_path: Path
) -> None:
    twin, folder = github
    (tmp_path / "sluice.git").symlink_to(folder / "sluice.git")
    datasets = "".join(
        f'[[dataset]]\nname = "{family}-{name}"\nfamily = "{family}"\n{option}\n'
        for family in ("issue-type", "code-comments")
        for name, option in (("all", ""), ("rest", 'leave-out = true\nsplit = "none"'))
    )
    listed = f'[repositories]\nlisted = ["prospector/none", "{SLUICE}"]\n'
    stated = f'[mine]\nlicenses = {{ "{SLUICE}" = "bsd-3-clause" }}\n'
    evaluated = '[[evaluation]]\nname = "none"\ndataset = ["issue-type-rest"]\n'
    write_plan(tmp_path, f'{listed}{stated}[clone]\nsource = "{{name}}.git"\n{datasets}{evaluated}')
    result = run_json(twin, tmp_path, code=3)
    outcomes = states(result)
    assert outcomes["mine/prospector/none"] == "failed"
    assert outcomes["clone/prospector/none"] == "skipped"
    for family in ("issue-type", "code-comments"):
        assert outcomes[f"dataset/{family}-all"] == "skipped"
        assert outcomes[f"dataset/{family}-rest"] == "partial"
    lacks = {unit["unit"]: unit["missing"] for unit in result["units"]}
    assert lacks["dataset/issue-type-rest"] == ["prospector/none is left out"]
    path = tmp_path / "lab" / "datasets" / "code-comments-rest" / "provenance.json"
    provenance = json.loads(path.read_bytes())
    assert [source["repo"] for source in provenance["sources"]] == [SLUICE]
    assert [origin["license"] for origin in provenance["repositories"]] == ["BSD-3-Clause"]
    (evaluation,) = (unit for unit in result["units"] if unit["unit"] == "evaluate/none")
    assert "has no train split" in evaluation["problem"]
    assert "--split stratified:0.8,0.2" in evaluation["remedy"]


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


PLAN = f"""
workspace = "lab"
[repositories]
listed = ["{SLUICE}"]
[mine]
enabled = false
[clone]
enabled = false
[tasks.requirement_type]
files = ["promise-reclass.csv"]
split = "stratified:0.5,0.5"
[[dataset]]
name = "questions"
family = "qa"
[[export]]
name = "to-chat"
dataset = "questions"
to = "chat"
[[evaluation]]
name = "requirements"
task = "requirement_type"
model = ["majority", "tfidf-xgboost"]
[[comparison]]
name = "requirements"
task = "requirement_type"
"""


def test_tasks_exports_and_comparisons_are_units_of_a_plan(tmp_path: Path) -> None:
    make_demo(tmp_path / "lab")
    write_requirements(tmp_path, 40)
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    names = (
        *("tasks/requirement_type", "dataset/questions", "export/to-chat"),
        *("evaluate/requirements", "compare/requirements"),
    )
    planned = json.loads(attempt("run", "plan.toml", "--dry-run", "--json", cwd=tmp_path).out)
    assert {unit["unit"] for unit in planned} >= {*names}
    done = attempt("run", "plan.toml", "--json", cwd=tmp_path)
    units = {unit["unit"]: unit for unit in json.loads(done.out)["units"]}
    assert done.code == 3, "the rows of the task are fewer than its authors published"
    assert units["tasks/requirement_type"]["state"] == "partial"
    for name in names[1:]:
        assert units[name]["state"] == "done", units[name]
    lab = tmp_path / "lab"
    assert list((lab / "exports" / "to-chat").glob("*.jsonl"))
    assert (lab / "comparisons" / "requirements.html").is_file()
    again = json.loads(attempt("run", "plan.toml", "--json", cwd=tmp_path).out)["units"]
    assert {unit["unit"] for unit in again if unit["ran"]} <= {"tasks/requirement_type"}

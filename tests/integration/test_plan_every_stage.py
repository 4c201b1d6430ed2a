"""A plan holds every stage: rows of tasks, exports and comparisons beside what it builds."""

from __future__ import annotations

import json
from pathlib import Path

from tests.demo_workspace import attempt, make_demo
from tests.mining import SLUICE
from tests.pages import write_requirements

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

"""`goldpan annotate` from a built dataset through two people to a rebuilt one."""

from __future__ import annotations

import hashlib
import json
from html import unescape
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from goldpan.annotation.studio.decisions import adjudication_name
from goldpan.annotation.studio.project import open_project
from goldpan.core.storage.workspace import WorkspaceLayout
from tests.places import ROOT
from tests.studio import Annotators, Goldpan


def test_people_decide_what_is_rebuilt(
    lab: WorkspaceLayout, goldpan: Goldpan, studio: Annotators
) -> None:
    project = ("--project", "rebuild")
    form = ("--form", "fix-pair", "--dataset", lab.dataset("code-edit"))
    assert "9 subjects added, 0 already there" in goldpan("annotate", "push", *project, *form).out
    assert "0 subjects added, 9 already there" in goldpan("annotate", "push", *project, *form).out
    tasks = studio.task_numbers(lab, "rebuild")
    for number, task in tasks.items():
        studio.answer(1, task, "fixes")
        studio.answer(2, task, "not" if number == min(tasks) else "fixes")
    pulled = goldpan("annotate", "pull", *project).out
    assert "agreed: 8" in pulled
    assert "conflict: 1" in pulled
    assert "9 of 9 subjects finished" in goldpan("annotate", "status", *project).out
    agreement = goldpan("annotate", "agreement", *project).out
    assert "raw agreement 0.889" in agreement
    assert "differ on" in agreement
    assert "1 subject added" in goldpan("annotate", "adjudicate", *project).out
    refused = goldpan("build", "code-edit", "--require", "fix-pair", code=2)
    assert "holds what the project rebuild shows to annotators" in refused.err
    assert len(pq.read_table(lab.dataset("code-edit") / "data")) == 9
    beside = ("--output", lab.dataset("checked"))
    built = goldpan("build", "code-edit", "--require", "fix-pair", *beside).out
    assert "8 examples" in built
    assert "1 without an example: fix-pair" in built
    assert len(pq.read_table(lab.dataset("checked") / "data")) == 8
    assert open_project(lab, "rebuild").facts.form == "fix-pair"
    assert studio.server.token not in "".join(
        path.read_bytes().decode("latin-1")
        for path in (lab.root / "annotations").rglob("*")
        if path.is_file()
    )


def stored(*roots: Path, pattern: str = "*") -> dict[Path, str]:
    """Return the digest of every file below these directories."""
    return {
        path: hashlib.sha256(path.read_bytes()).hexdigest()
        for root in roots
        for path in sorted(root.rglob(pattern))
        if path.is_file()
    }


def test_a_paper_is_told_what_people_did(
    lab: WorkspaceLayout, goldpan: Goldpan, studio: Annotators
) -> None:
    project = ("--project", "told")
    folder = lab.root.parent / "appendix"
    report = ("annotate", "report", *project, "--output", folder)
    form = ("--form", "fix-pair", "--dataset", lab.dataset("code-edit"))
    goldpan("annotate", "push", *project, *form)
    tasks = studio.task_numbers(lab, "told")
    decided, stays, agreed, *_ = sorted(tasks)
    assert "Nothing was pulled of the project told" in goldpan(*report, code=1).err
    for number in (decided, stays, agreed):
        studio.answer(1, tasks[number], "fixes", reason="ann@example.org saw it")
        studio.answer(2, tasks[number], "fixes" if number == agreed else "partly")
    goldpan("annotate", "pull", *project)
    goldpan("annotate", "adjudicate", *project)
    name = adjudication_name("told")
    studio.answer(3, studio.task_numbers(lab, name)[decided], "not")
    goldpan("annotate", "pull", *project)

    output = goldpan(*report).out
    assert goldpan(*report).out == output
    assert "told: 9 items, 1 agreed, 1 adjudicated, 1 open conflict\n" in output
    once = stored(folder)
    assert [path.name for path in once] == ["annotation.html", "annotation.json"]
    text = unescape((folder / "annotation.html").read_text())
    appendix = json.loads((folder / "annotation.json").read_bytes())
    (round_,) = appendix["rounds"]
    counts = [round_["progress"][name] for name in ("subjects", "finished", "answers")]
    assert (counts, round_["agreed"]) == ([9, 3, 6], 1)
    ((_, answers),) = [day.values() for day in round_["days"]]
    assert sorted(answers.values()) == [3, 3]
    (agreement,) = round_["agreement"]
    (pair,) = agreement["pairs"]
    assert pair["choices"] == ["fixes", "partly"]
    assert sorted(map(sorted, pair["counts"])) in ([[0, 0], [1, 2]], [[0, 1], [0, 2]])
    assert agreement["raw"]["value"] == pytest.approx(1 / 3)
    assert agreement["alpha"]["low"] is not None
    disputed = {item["item"]: item for item in round_["disputed"]}
    assert len(disputed) == 2
    (decision,) = [item for item in disputed.values() if item["decided"] is not None]
    assert f"#{decided}+" in decision["item"]
    assert decision["title"] and decision["texts"]["issue"]
    assert any(line.startswith("+ ") for line in decision["texts"]["change"].splitlines())
    assert decision["title"] in text
    assert decision["decided"] == ["not"]
    assert sorted(decision["answers"].values()) == [["fixes"], ["partly"]]

    assert "@example.org" not in text + json.dumps(appendix)
    done = goldpan("annotate", "report", "--project", name, "--output", folder, code=2)
    assert "adjudicates told" in done.err


PLAN = """
workspace = "place"
[repositories]
listed = ["prospector/sluice"]
[mine]
enabled = false
[clone]
enabled = false
[[dataset]]
name = "edits"
family = "code-edit"
[annotate.push]
project = "planned"
form = "fix-pair"
dataset = "edits"
[[dataset]]
name = "checked"
family = "code-edit"
require = "fix-pair"
"""


def test_a_plan_stops_for_annotators_and_goes_on_with_their_decisions(
    lab: WorkspaceLayout, goldpan: Goldpan, studio: Annotators
) -> None:
    (lab.root.parent / "plan.toml").write_text(PLAN, encoding="utf-8")
    stopped = json.loads(goldpan("run", "plan.toml", "--json", code=3).out)
    units = {unit["unit"]: unit for unit in stopped["units"]}
    assert units["dataset/edits"]["state"] == "done"
    assert "goldpan annotate pull --project planned" in units["annotate/planned"]["missing"][0]
    assert units["dataset/checked"]["state"] == "skipped"
    numbers = studio.task_numbers(lab, "planned")
    for number, task in numbers.items():
        for person in (1, 2):
            studio.answer(person, task, "not" if number == min(numbers) else "fixes")
    goldpan("annotate", "pull", "--project", "planned")
    went_on = json.loads(goldpan("run", "plan.toml", "--json").out)
    units = {unit["unit"]: unit for unit in went_on["units"]}
    assert units["dataset/checked"]["state"] == "done"
    assert len(pq.read_table(lab.dataset("checked") / "data")) == 8


def test_a_form_of_a_plugin_is_pushed_and_pulled(
    lab: WorkspaceLayout, goldpan: Goldpan, studio: Annotators
) -> None:
    plugin = ("--plugin", ROOT / "examples" / "plugins" / "plain_questions")
    project = ("--project", "plain")
    form = ("--form", "plain-question", "--dataset", lab.dataset("qa"))
    assert "16 subjects added" in goldpan(*plugin, "annotate", "push", *project, *form).out
    tasks = sorted(studio.task_numbers(lab, "plain").values())
    for task in tasks:
        studio.answer(1, task, "plain")
        studio.answer(2, task, "several" if task == tasks[0] else "plain")
    pulled = goldpan(*plugin, "annotate", "pull", *project).out
    assert "agreed: 15" in pulled
    assert "conflict: 1" in pulled
    kept = pq.read_table(open_project(lab, "plain").path("verdicts.parquet"))
    assert set(kept["criterion"].to_pylist()) == {"plain-question"}
    assert kept["keep"].to_pylist().count(True) == 15

"""`goldpan annotate` from a built dataset through two people to a rebuilt one."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from goldpan.annotation.review.stored import write_reviews
from goldpan.annotation.studio.adjudicate import adjudication_name
from goldpan.annotation.studio.project import open_project
from goldpan.core.schemas import VERDICTS
from goldpan.core.workspace import Workspace
from tests.demo_workspace import make_demo
from tests.studio import Annotators, Goldpan, task_numbers

# The first test installs a server of about 1 GB and prepares its database.


@pytest.fixture
def place(tmp_path: Path) -> Workspace:
    """Return the demo's workspace with its datasets."""
    return Workspace(make_demo(tmp_path / "place"))


def test_people_decide_what_is_rebuilt(
    place: Workspace, goldpan: Goldpan, studio: Annotators
) -> None:
    project = ("--project", "rebuild")
    form = ("--form", "fix-pair", "--dataset", place.dataset("code-edit"))
    assert "9 subjects added, 0 already there" in goldpan("annotate", "push", *project, *form).out
    assert "0 subjects added, 9 already there" in goldpan("annotate", "push", *project, *form).out
    tasks = task_numbers(place, "rebuild")
    for number, task in tasks.items():
        studio.answer(1, task, "fixes")
        studio.answer(2, task, "unrelated" if number == min(tasks) else "fixes")
    pulled = goldpan("annotate", "pull", *project).out
    assert "agreed: 8" in pulled
    assert "conflict: 1" in pulled
    assert "9 of 9 subjects finished" in goldpan("annotate", "status", *project).out
    agreement = goldpan("annotate", "agreement", *project).out
    assert "raw agreement 0.889" in agreement
    assert "differ on" in agreement
    assert "1 subjects added" in goldpan("annotate", "adjudicate", *project).out
    built = goldpan("build", "code-edit", "--require", "fix-pair").out
    assert "8 examples" in built
    assert "1 without an example: fix-pair" in built
    rows = pq.read_table(place.dataset("code-edit") / "data")
    assert len(rows) == 8
    assert open_project(place, "rebuild").facts.form == "fix-pair"
    assert studio.server.token not in "".join(
        path.read_bytes().decode("latin-1")
        for path in (place.root / "annotations").rglob("*")
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


def test_a_third_person_decides_what_is_rebuilt(
    place: Workspace, goldpan: Goldpan, studio: Annotators
) -> None:
    project = ("--project", "settled")
    pull = ("annotate", "pull", *project)
    built = place.dataset("code-edit")
    before = len(pq.read_table(built / "data"))
    goldpan("annotate", "push", *project, "--form", "fix-pair", "--dataset", built)
    tasks = task_numbers(place, "settled")
    stays, goes, *_ = sorted(tasks)
    for number, task in tasks.items():
        studio.answer(1, task, "fixes")
        studio.answer(2, task, "unrelated" if number in (stays, goes) else "fixes")
    assert "conflict: 2" in goldpan(*pull).out
    assert "2 subjects added" in goldpan("annotate", "adjudicate", *project).out
    name = adjudication_name("settled")
    assert "conflict: 2" in goldpan(*pull).out
    for number, task in task_numbers(place, name).items():
        studio.answer(3, task, "fixes" if number == stays else "unrelated")

    told = goldpan(*pull).out
    assert f"{name}: 2 tasks fetched, 2 answers count, 2 of 2 subjects are done" in told
    assert "adjudicated: 2" in told
    assert "conflict" not in told
    build = ("build", "code-edit", "--require", "fix-pair")
    assert f"{before - 1} examples" in goldpan(*build).out
    issues = set(pq.read_table(built / "data")["issue"].to_pylist())
    assert issues == set(tasks) - {goes}

    tables = stored(place.root / "annotations", built, pattern="*.parquet")
    again = goldpan(*pull).out
    while again.count(": 0 tasks fetched") < 2:  # what was answered seconds ago comes twice
        again = goldpan(*pull).out
    assert f"settled: 0 tasks fetched, {2 * len(tasks)} answers count" in again
    assert f"{name}: 0 tasks fetched, 2 answers count" in again
    assert "adjudicated: 2" in again
    once = stored(place.root / "annotations", built)
    goldpan(*pull)
    goldpan(*build)
    assert stored(place.root / "annotations", built) == once
    assert stored(place.root / "annotations", built, pattern="*.parquet") == tables

    assert "0 subjects added, 2 already there" in goldpan("annotate", "adjudicate", *project).out
    told = goldpan("annotate", "pull", "--project", name).out
    assert f"{name} adjudicates settled: both are pulled" in told
    assert "adjudicated: 2" in told
    assert stored(place.root / "annotations", built) == once
    found = json.loads(goldpan(*pull, "--json").out)
    assert (found["project"], found["answers"]) == ("settled", 2 * len(tasks))
    assert found["decisions"] == {"adjudicated": 2, "agreed": len(tasks) - 2}
    (third,) = found["adjudications"]
    assert (third["project"], third["answers"], third["done"]) == (name, 2, 2)


def test_a_paper_is_told_what_people_did(
    place: Workspace, goldpan: Goldpan, studio: Annotators
) -> None:
    project = ("--project", "told")
    folder = place.root.parent / "appendix"
    export = ("annotate", "export", *project, "--output", folder)
    goldpan(
        "annotate", "push", *project, "--form", "fix-pair", "--dataset", place.dataset("code-edit")
    )
    tasks = task_numbers(place, "told")
    decided, stays, agreed, *_ = sorted(tasks)
    assert "Nothing was pulled of the project told" in goldpan(*export, code=1).err
    for number in (decided, stays, agreed):
        studio.answer(1, tasks[number], "fixes", reason="ann@example.org saw it")
        studio.answer(2, tasks[number], "fixes" if number == agreed else "partly")
    goldpan("annotate", "pull", *project)
    goldpan("annotate", "adjudicate", *project)
    name = adjudication_name("told")
    studio.answer(3, task_numbers(place, name)[decided], "unrelated")
    goldpan("annotate", "pull", *project)

    said = goldpan(*export).out
    assert "told: 9 items, 1 agreed, 1 adjudicated, 1 open conflicts" in said
    once = stored(folder)
    assert [path.name for path in once] == ["annotation.json", "annotation.md"]
    text = (folder / "annotation.md").read_text()
    assert "Fixes a part of it (partly)" in text
    assert "Say whether the change fixes the issue" in text
    found = json.loads((folder / "annotation.json").read_bytes())
    (guideline,) = found["guidelines"]
    assert guideline["questions"][0]["choices"][0]["label"] == "Fixes the issue"
    (told,) = found["rounds"]
    assert (told["items"], told["finished"], told["answers"], told["agreed"]) == (9, 3, 6, 1)
    (agreement,) = told["agreement"]
    assert agreement["raw"]["value"] == pytest.approx(1 / 3)
    assert agreement["alpha"]["low"] is not None
    (one,) = told["adjudicated"]
    assert (one["item"].partition("#")[2].partition("+")[0], one["decided"]) == (
        str(decided),
        ["unrelated"],
    )
    assert sorted(one["answers"].values()) == [["fixes"], ["partly"]]
    assert len(told["conflicts"]) == 1
    everybody, *each = told["times"]
    assert (everybody["answers"], everybody["median"]) == (6, 21.5)
    assert sorted((own["answers"], own["lower"]) for own in each) == [(3, 21.0), (3, 22.0)]
    assert [own["median"] for own in told["adjudication_times"]] == [23.0, 23.0]

    assert "was pulled without names" in goldpan(*export, "--names", code=2).err
    goldpan("annotate", "pull", *project, "--names")
    goldpan(*export)
    assert stored(folder) == once
    assert "@" not in text + json.dumps(found)
    goldpan(*export, "--names")
    assert "ann@example.org" in (folder / "annotation.json").read_text()
    asked = goldpan("annotate", "export", "--project", name, "--output", folder, code=2)
    assert "adjudicates told" in asked.err


def review_by_hand(place: Workspace) -> None:
    """Store reviews of the demo's pairs: most are kept, and three are not."""
    (repo,) = place.repositories()
    kept = pq.read_table(place.dataset("code-edit") / "data").to_pylist()
    says: list[tuple[bool | None, str | None]] = [
        (False, "partial"),
        (False, "bundled"),
        (None, "disagreement"),
    ]
    says += [(True, None)] * (len(kept) - len(says))
    rows = [
        {
            **dict.fromkeys(VERDICTS.schema.names),
            **{key: row[key] for key in ("repo", "issue", "pull")},
            "subject": "pair",
            "pull_repo": row["repo"],
            "stage": "llm",
            "criterion": "problem-solution",
            "decides": False,
            "keep": keep,
            "reason": reason,
            "value": 0.9,
            "evidence": "as it should",
            "profile": "default",
            "settings": "",
        }
        for row, (keep, reason) in zip(kept, says, strict=True)
    ]
    write_reviews(place, repo, "default", rows, ["problem-solution"], {})


def test_reviews_are_filled_in_where_somebody_wants_it(
    place: Workspace, goldpan: Goldpan, studio: Annotators
) -> None:
    form = ("--form", "fix-pair", "--dataset", str(place.dataset("code-edit")))
    push = ("annotate", "push", "--project", "seen", *form)
    asked = goldpan(*push, "--not-blind", "--profile", "faun-eval", code=1)
    assert "was not reviewed under the profile faun-eval" in asked.err
    review_by_hand(place)
    assert "7 of them are pre-filled" in goldpan(*push, "--not-blind").out
    assert "begun with blind False" in goldpan(*push, code=2).err
    number = open_project(place, "seen").number
    for task in studio.call(0, "GET", f"/api/projects/{number}/export?download_all_tasks=true"):
        shown = studio.call(1, "GET", f"/api/tasks/{task['id']}/")
        for filled_in in shown["predictions"]:
            value = filled_in["result"][0]["value"]["choices"][0]
            begun = {"parent_prediction": filled_in["id"]}
            studio.answer(1, task["id"], value, **begun)
            studio.answer(2, task["id"], "fixes", **begun)
    goldpan("annotate", "pull", "--project", "seen")
    for command in ("status", "agreement"):
        told = goldpan("annotate", command, "--project", "seen").out
        assert "Not blind" in told
        assert "left 7 of 7 suggestions as they were (100%)" in told
        assert "left 6 of 7 suggestions as they were (86%)" in told
    found = json.loads(goldpan("annotate", "agreement", "--project", "seen", "--json").out)
    assert (found["filled_in"], found["accepted"], found["dataset"]) == (14, 13, None)

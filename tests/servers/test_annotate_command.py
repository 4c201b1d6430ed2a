"""`goldpan annotate` from a built dataset through two people to a rebuilt one."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from goldpan.annotation.review.stored import write_reviews
from goldpan.annotation.studio.project import open_project
from goldpan.core.config import Settings
from goldpan.core.progress import Reporter
from goldpan.core.schemas import VERDICTS
from goldpan.core.workspace import Workspace
from goldpan.demo.pipeline import run_demo
from tests.console import run
from tests.program import Done
from tests.studio import Annotators, task_numbers

# The first test installs a server of about 1 GB and prepares its database.


Goldpan = Callable[..., Done]


@pytest.fixture
def place(tmp_path: Path) -> Workspace:
    """Return the demo's workspace with its datasets."""
    found = Workspace(tmp_path / "place")
    run_demo(Settings(workspace=found.root), Reporter(quiet=True))
    return found


@pytest.fixture
def goldpan(place: Workspace, studio: Annotators) -> Goldpan:
    """Return what runs a command on it beside the server."""

    def call(*arguments: str | Path, code: int = 0) -> Done:
        done = run(
            *arguments,
            "--workspace",
            place.root,
            folder=place.root.parent,
            PATH=os.environ["PATH"],
            LABEL_STUDIO_URL=studio.server.url,
            LABEL_STUDIO_API_KEY=studio.server.token,
        )
        assert done.code == code, done.err
        return done

    return call


def test_people_decide_what_is_rebuilt(
    place: Workspace, goldpan: Goldpan, studio: Annotators
) -> None:
    project = ("--project", "rebuild")
    form = ("--form", "fix-pair", "--dataset", place.dataset("code-edit"))
    assert "11 subjects added, 0 already there" in goldpan("annotate", "push", *project, *form).out
    assert "0 subjects added, 11 already there" in goldpan("annotate", "push", *project, *form).out
    for number, task in task_numbers(place, "rebuild").items():
        studio.answer(1, task, "fixes")
        studio.answer(2, task, "unrelated" if number == 22 else "fixes")
    pulled = goldpan("annotate", "pull", *project).out
    assert "agreed: 10" in pulled
    assert "conflict: 1" in pulled
    assert "11 of 11 subjects finished" in goldpan("annotate", "status", *project).out
    agreement = goldpan("annotate", "agreement", *project).out
    assert "raw agreement 0.909" in agreement
    assert "differ on" in agreement
    assert "1 subjects added" in goldpan("annotate", "adjudicate", *project).out
    built = goldpan("build", "code-edit", "--require", "fix-pair").out
    assert "10 examples" in built
    assert "1 without an example: fix-pair" in built
    rows = pq.read_table(place.dataset("code-edit") / "data")
    assert len(rows) == 10
    assert open_project(place, "rebuild").facts.form == "fix-pair"
    assert studio.server.token not in "".join(
        path.read_bytes().decode("latin-1")
        for path in (place.root / "annotations").rglob("*")
        if path.is_file()
    )


def review_by_hand(place: Workspace) -> None:
    """Store reviews of the demo's pairs: most are kept, and three are not."""
    (path,) = (place.root / "verdicts").glob("*/*/default.parquet")
    repo = f"{path.parent.parent.name}/{path.parent.name}"
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
    assert "9 of them are pre-filled" in goldpan(*push, "--not-blind").out
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
        assert "left 9 of 9 suggestions as they were (100%)" in told
        assert "left 8 of 9 suggestions as they were (89%)" in told
    found = json.loads(goldpan("annotate", "agreement", "--project", "seen", "--json").out)
    assert (found["filled_in"], found["accepted"], found["dataset"]) == (18, 17, None)

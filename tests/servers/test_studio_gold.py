"""Gold sets out of what people decide, and what is scored and built by them."""

from __future__ import annotations

import csv
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from goldpan.annotation.studio.decisions import adjudication_name
from goldpan.core.storage.workspace import WorkspaceLayout
from tests.console import run
from tests.reviewing import workspace
from tests.studio import Annotators, Goldpan


@pytest.fixture
def lab(tmp_path: Path) -> WorkspaceLayout:
    """Return a filtered workspace of five answered issues."""
    return workspace(tmp_path / "place", 5)


def test_what_people_decide_on_answers_is_a_gold_set(
    lab: WorkspaceLayout, goldpan: Goldpan, studio: Annotators
) -> None:
    project = ("--project", "answers")
    built, gold = lab.dataset("qa"), lab.root.parent / "gold.csv"
    build = ("build", "qa", "--profile", lab.root / "own.toml", "--answer")
    goldpan(*build, "first")
    rows = {row["issue"]: row for row in pq.read_table(built / "data").to_pylist()}
    goldpan("annotate", "push", *project, "--form", "question-answer", "--dataset", built)
    export = ("annotate", "export", *project)
    assert "--gold" in goldpan(*export, code=2).err
    tasks = studio.task_numbers(lab, "answers")
    settled, stays, wrong, *_ = sorted(tasks)
    for number, task in tasks.items():
        verdict = "other-reply" if number == wrong else "answers"
        studio.answer(1, task, verdict)
        studio.answer(2, task, "partly" if number in (settled, stays) else verdict)
    goldpan("annotate", "pull", *project)
    goldpan("annotate", "adjudicate", *project)
    studio.answer(3, studio.task_numbers(lab, adjudication_name("answers"))[settled], "partly")
    goldpan("annotate", "pull", *project)

    output = goldpan(*export, "--gold", gold).out
    assert f"{len(rows) - 1} items (answers {len(rows) - 3}, not 1, partly 1)" in output
    assert "Not decided yet: 1. Adjudicate" in output
    labels = {int(row["issue"]): row for row in csv.DictReader(gold.read_text().splitlines())}
    assert set(labels) == set(rows) - {stays}
    assert all(
        int(row["comment_id"]) == rows[number]["answer_comment_id"]
        for number, row in labels.items()
    )
    assert sorted([labels[settled]["first"], labels[settled]["second"]]) == ["answers", "partly"]
    assert (labels[settled]["label"], labels[wrong]["label"]) == ("partly", "not")
    once = gold.read_bytes()
    goldpan(*export, "--gold", gold)
    assert gold.read_bytes() == once
    labels_of_kinds = ("annotate", "push", "--project", "kinds", "--form", "issue-type")
    goldpan(*labels_of_kinds, "--dataset", built)
    done = goldpan("annotate", "export", "--project", "kinds", "--gold", gold, code=2)
    assert "A gold set cannot be made of issue-type. Choose a project of fix-pair or" in done.err
    score = run("evaluate", "labels", built, "--gold", gold, folder=lab.root.parent)
    assert f"answers {len(rows) - 3}, partly 1, not 1" in score.out, score.err

    built = lab.dataset("confirmed")
    goldpan(*build, "reviewed", "--require", "question-answer", "--output", built)
    rebuilt = pq.read_table(built / "data").to_pylist()
    people = {row["issue"]: row["answer_comment_id"] for row in rebuilt if row["issue"] in labels}
    assert people == {
        number: int(row["comment_id"])
        for number, row in labels.items()
        if row["label"] == "answers"
    }

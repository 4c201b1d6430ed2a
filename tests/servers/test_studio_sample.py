"""A sample of rows that people judge in Label Studio, and the card that says so."""

from __future__ import annotations

import csv
import shlex

import pytest

from goldpan.core.storage.workspace import WorkspaceLayout
from tests.studio import Annotators, Goldpan

VERDICTS = {
    "qa": ("answers", "no-question", "cannot-tell", "answers 1, partly 0, not 0"),
    "issue-resolution": ("fixes", "not", "cannot-tell", "fixes 1, partly 0, not 0"),
    "fault-localization": ("right", "wrong", "cannot-tell", "right 1, wrong 0"),
}


@pytest.mark.parametrize("family", VERDICTS)
def test_annotators_judge_a_sample(
    lab: WorkspaceLayout, goldpan: Goldpan, studio: Annotators, family: str
) -> None:
    right, wrong, unsure, counts = VERDICTS[family]
    name = f"read-{family}"
    words = ("evaluate", "labels", family, "--sample", "3", "--studio", name)
    begun = goldpan(*words).out
    assert "Nothing is judged yet" in begun
    assert "Annotators read at http" in begun
    tasks = list(studio.task_numbers(lab, name).values())
    assert len(tasks) == 3
    studio.answer(1, tasks[0], right, reason="it says so")
    studio.answer(2, tasks[0], right)
    studio.answer(1, tasks[1], unsure)
    told = " ".join(goldpan(*words).out.split())
    assert "sample of 3 rows, seed 0; read by" in told
    assert "agree on 1 of 1 row" in told
    assert "1 not read by anyone yet" in told
    assert "1 not counted: nobody could judge them" in told
    assert counts in told
    studio.answer(2, tasks[2], wrong)
    goldpan(*words)
    file = lab.dataset(f"{family}.readings.csv")
    kept = list(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))
    assert [row["note"] for row in kept if row["note"]] == ["it says so"]
    assert len(kept) == 4
    again = file.read_bytes()
    goldpan(*words)
    assert file.read_bytes() == again
    command = told[told.index(f"goldpan build {family}") :].split(" Annotators read")[0]
    given = shlex.split(command)[1:]
    place = given.index("--workspace")
    assert given[place + 1] == str(lab.root)
    goldpan(*given[:place], *given[place + 2 :])  # which names the workspace itself
    card = (lab.dataset(family) / "README.md").read_text(encoding="utf-8")
    assert "rows drawn with seed 0, 3 were read by" in card.partition("## Use")[0]

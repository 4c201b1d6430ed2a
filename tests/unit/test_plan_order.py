"""The units of a plan come in order, and wait for people."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldpan.core.errors import UsageError
from goldpan.core.result import blocks_of
from goldpan.plan.record import PlanResult, StepResult
from tests.unit.test_plan import units_of

PROVED = """
[[dataset]]
name = "proved"
family = "issue-resolution"
require = "verified"
[[dataset]]
name = "fixes"
family = "issue-resolution"
[[verify]]
dataset = "fixes"
[[export]]
name = "out"
dataset = "fixes"
to = "chat"
"""


def test_units_come_after_what_they_need_and_else_as_they_stand(tmp_path: Path) -> None:
    names = list(units_of(tmp_path, PROVED))
    order = ["dataset/fixes", "verify/fixes", "export/out", "dataset/proved"]
    assert names[-4:] == order
    circle = PROVED.replace('name = "fixes"', 'name = "fixes"\nrequire = "verified"')
    with pytest.raises(UsageError, match="dataset/proved, dataset/fixes, verify/fixes wait for"):
        units_of(tmp_path, circle)


def test_what_comes_after_annotations_waits_for_them(tmp_path: Path) -> None:
    text = """
[[dataset]]
name = "rows"
family = "qa"
[[dataset]]
name = "gold"
family = "qa"
require = "question-answer"
[dataset.publish]
repo-id = "a/b"
[annotate.push]
project = "round"
dataset = "rows"
form = "question-answer"
"""
    units = units_of(tmp_path, text)
    assert [*units][-4:] == ["dataset/rows", "annotate/round", "dataset/gold", "publish/gold"]
    assert "annotate/round" in units["dataset/gold"].needs


def test_a_plan_that_waits_for_people_says_so_and_ends_with_3() -> None:
    pushed = StepResult(
        unit="annotate/round",
        stage="annotate",
        subject="round",
        state="partial",
        ran=True,
        missing=("people annotate",),
    )
    skipped = StepResult(
        unit="dataset/gold", stage="dataset", subject="gold", state="skipped", because=pushed.unit
    )
    assert pushed.stops_others
    result = PlanResult("plan", Path("lab"), (), (pushed, skipped), 1.0)
    assert result.exit_code == 3
    texts = [getattr(block, "text", "") for block in blocks_of(result)]
    assert "annotate/round partial: people annotate. Skipped for it: 1 unit." in texts

"""What a paper is told of annotation, without a server."""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from goldpan.annotation.agreement import Rating, agree
from goldpan.annotation.studio.configuration import CONFIGURATIONS, load, parse
from goldpan.annotation.studio.gold import GoldItem, GoldSet
from goldpan.annotation.studio.summary import Adjudicated, AnnotationTimes, Conflict, Round, Summary
from goldpan.annotation.studio.summary_markdown import render, write_summary
from goldpan.core.errors import UsageError

HOSTILE = "a|b <script>alert(1)</script> [x](http://evil) `c`\n# d"
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def a_round(items: int = 1) -> Round:
    ratings = [Rating("1", "ann", ("fixes",)), Rating("1", "ben", ("partly",))]
    answers = {"ann": ("fixes",), "ben": (HOSTILE,)}
    return Round(
        project="round1",
        form="fix-pair",
        configuration="0" * 16,
        blind=False,
        filled_in=4,
        accepted=3,
        wanted=2,
        items=items,
        finished=1,
        answers=2,
        not_counted={"skipped": 2},
        first_at=NOON,
        last_at=None,
        agreed=0,
        adjudicated=tuple(
            Adjudicated(f"item {number} {HOSTILE}", answers, ("fixes",), "cleo", False)
            for number in range(items)
        ),
        conflicts=(Conflict("item", answers),),
        agreement=(agree("verdict", ratings),),
        times=(
            AnnotationTimes(None, 1, 1.0, 1234.5, 2.0),
            AnnotationTimes("ann", 0, None, None, None),
        ),
        adjudication_times=(),
    )


@pytest.mark.parametrize("name", CONFIGURATIONS.names())
def test_a_guideline_holds_every_word_of_its_form(name: str) -> None:
    guideline = load(name)
    assert all(question.words or question.field == "doubt" for question in guideline.questions)
    text = render(Summary((guideline,), ()))
    for question in guideline.questions:
        for choice in question.choices:
            assert choice.label in text
            assert choice.hint is None or choice.hint in text


def test_what_somebody_wrote_above_a_form_is_told() -> None:
    xml = load("fix-pair").xml.replace(
        "<View>", '<View><Header value="Read both"/><Text name="t" value="$note"/>', 1
    )
    guideline = parse("fix-pair", xml)
    assert guideline.statements == ("Read both",)
    assert "> Read both" in render(Summary((guideline,), ()))


def test_texts_of_others_stay_texts() -> None:
    text = render(Summary((), (a_round(),)))
    assert "<script>" not in text
    assert "[x](" not in text
    assert "\n# d" not in text
    lines = [line for line in text.splitlines() if line.startswith("| round1 | item")]
    assert len(lines) == 2
    assert "3 of 4 suggestions were left as they were" in text
    assert "| round1 | all | 1 | 1.0 | 1234.5 | 2.0 |" in text
    assert "| round1 | ann | 0 | - | - | - |" in text


def test_long_lists_say_how_much_they_leave_out(tmp_path: Path) -> None:
    summary = Summary((), (a_round(130),))
    markdown, data = write_summary(summary, tmp_path / "deep" / "appendix")
    assert "30 more are in annotation.json." in markdown.read_text()
    assert len(json.loads(data.read_bytes())["rounds"][0]["adjudicated"]) == 130
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot be written"):
        write_summary(summary, tmp_path / "file")


def test_a_gold_set_has_a_column_for_each_of_many_annotators() -> None:
    items = [
        GoldItem(("octo/gem", 1, 11), "octo/gem", "fixes", (*["fixes"] * 9, "partly")),
        GoldItem(("octo/gem", 2, 12), "octo/gem", "not", ("not",)),
    ]
    many, one = csv.DictReader(GoldSet("pull", tuple(items), 0).as_csv().decode().splitlines())
    assert (many["label"], many["annotator 10"], one["label"]) == ("fixes", "partly", "not")
    assert (one["first"], one["second"], set(many) == set(one)) == ("not", "", True)

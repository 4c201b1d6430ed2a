"""What a paper is told of annotation, without a server."""

from __future__ import annotations

import csv

from goldpan.annotation.studio.forms import find_form, make_task
from goldpan.annotation.studio.gold import gold_csv
from goldpan.annotation.studio.panels import text_of_panel
from goldpan.datasets.gold import Item
from goldpan.report.annotation_page import page_of
from tests.annotated_round import a_round
from tests.studio import DIFF


def test_texts_of_others_stay_texts() -> None:
    text = page_of([a_round()])
    assert "<script>" not in text
    assert "&lt;script&gt;" in text
    assert "<b>1</b> in open conflict" in text
    assert '<td class="n">12</td>' in text
    assert 'Alpha of fixes (ratings: 1)</th><td class="n">1</td>' in text


def test_long_lists_say_how_much_they_leave_out() -> None:
    assert "More in decisions.parquet: 31." in page_of([a_round(230)])


def test_panels_are_read_as_text() -> None:
    form = find_form("fix-pair")
    row = {
        "repo": "octo/gem",
        "issue": 1,
        "pull": 2,
        "title": "A <b>leak</b>",
        "body": "One\n\nTwo",
        "pull_title": "Mend",
        "pull_body": "",
        "path": "src/pan.py",
        "diff": DIFF,
    }
    panels = make_task(form, row).panels
    assert text_of_panel(panels["issue_panel"]) == "Issue\nA <b>leak</b>\nOne\n\nTwo"
    change = text_of_panel(panels["change_panel"])
    assert "-     return sieve.shake(gravel, times=3)\n+     return sieve" in change
    assert "\n  def wash(gravel):\n" in change


def test_a_gold_set_has_a_column_for_each_of_many_annotators() -> None:
    items: dict[Item, list[str]] = {
        ("octo/gem", 1, 11): ["octo/gem", "fixes", *["fixes"] * 9, "partly"],
        ("octo/gem", 2, 12): ["octo/gem", "not", "not"],
    }
    many, one = csv.DictReader(gold_csv("pull", items).decode().splitlines())
    assert (many["label"], many["annotator 10"], one["label"]) == ("fixes", "partly", "not")
    assert (one["first"], one["second"], set(many) == set(one)) == ("not", "", True)

"""Comments that somebody hid are known as hidden, with the reason, and answer nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from tests import filtering
from tests.backups import issue, read, take_entries
from tests.filtering import comment, judge
from tests.mining import mine_twin, rows
from tests.twin import Editor, Twin, forum_world
from tests.twin.writing import VISITOR

REASONS = ("abuse", "off-topic", "outdated", "resolved", "duplicate", "spam", "low-quality")
ADVERTISED = (
    "Buy the new automatic pan in our shop: it keeps the gold in by itself, it is cheap, and you "
    "will never have to turn a pan over again."
)
HELPED = (
    "Turn it slowly under water: gold is heavier than sand, so it stays at the bottom while the "
    "sand is washed over the edge of the pan."
)
ASKED = "When I turn the pan over the gold falls out with the sand, how do I keep it in?"


@pytest.mark.parametrize("via", ["graphql", "rest"])
def test_both_apis_tell_which_comments_are_hidden(
    tmp_path: Path, via: Literal["graphql", "rest"]
) -> None:
    world = forum_world()
    editor = Editor(world, start="2024-03-01T09:00:00Z")
    number = editor.issue("How do I empty the pan?", ASKED, author=VISITOR)
    for reason in REASONS:
        editor.hide_comment(editor.comment(number, ADVERTISED), reason)
    editor.comment(number, HELPED)
    with Twin(world) as twin:
        mine_twin(twin, tmp_path, via)
    said = [row for row in rows(tmp_path, "comments") if row["number"] == number]
    assert [row["minimized_reason"] for row in said] == [*REASONS, None]
    assert [row["minimized"] for row in said] == [True] * len(REASONS) + [False]
    assert not rows(tmp_path, "unknown")


def test_reviews_and_their_comments_can_be_hidden(tmp_path: Path) -> None:
    world = forum_world()
    editor = Editor(world, start="2024-03-01T09:00:00Z")
    number = editor.pull("Deeper pans", "See the drawing.")
    editor.hide_comment(editor.review(number, "COMMENTED", "Nonsense."), "abuse")
    editor.review(number, "COMMENTED", "Good.", [("pan.py", "Too deep?")])
    editor.hide_comment(next(editor.entry(number).review_comments()).id, "resolved")
    with Twin(world) as twin:
        mine_twin(twin, tmp_path)
    said = [row for row in rows(tmp_path, "comments") if row["number"] == number]
    told = {(row["kind"], row["body"]): row["minimized_reason"] for row in said}
    assert told == {
        ("review", "Nonsense."): "abuse",
        ("review", "Good."): None,
        ("review_comment", "Too deep?"): "resolved",
    }


def test_an_older_server_does_not_tell(tmp_path: Path) -> None:
    kinds = ("IssueComment", "PullRequestReview", "PullRequestReviewComment")
    fields = ("isMinimized", "minimizedReason")
    lacks = frozenset((kind, name) for kind in kinds for name in fields)
    with Twin(forum_world(), lacks=lacks) as twin:
        assert mine_twin(twin, tmp_path).failure is None
    assert {row["minimized"] for row in rows(tmp_path, "comments")} == {None}


def test_a_backup_tells_what_it_holds(tmp_path: Path) -> None:
    entry = issue()
    told = {"spam": {"reason": "spam"}, "shown": None}
    said = [event for event in entry["events"] if event["event"] == "commented"]
    entry["events"] += [
        {**said[0], "id": 100 + index, "minimized": minimized}
        for index, minimized in enumerate(told.values())
    ]
    entry["issue"]["comments"] += len(told)
    take_entries(tmp_path, entry)
    values = [(row["minimized"], row["minimized_reason"]) for row in read(tmp_path, "comments")]
    assert values == [(None, None), (True, "spam"), (False, None)]


@pytest.mark.parametrize("reason", REASONS)
@pytest.mark.parametrize("choice", ["best", "first", "all"])
def test_a_hidden_reply_is_no_answer(tmp_path: Path, choice: str, reason: str) -> None:
    member = {"author_association": "member"}
    hidden = comment(1, ADVERTISED, "mallory", minimized=True, minimized_reason=reason, **member)
    shown = comment(1, HELPED, "erin", minimized=False, **member)
    asked = filtering.issue(1, ASKED, title="How do I empty the pan?")
    workspace = filtering.build(tmp_path, [asked], [hidden, shown])
    (verdict,) = judge(workspace, "answer", choice=choice, least=0).values()
    assert verdict["evidence"].startswith(f"comment {shown['comment_id']}")


@pytest.mark.parametrize("criterion", ["answer", "answered"])
def test_an_issue_whose_only_reply_is_hidden_has_no_reply(tmp_path: Path, criterion: str) -> None:
    hidden = comment(1, ADVERTISED, minimized=True, minimized_reason="spam")
    workspace = filtering.build(tmp_path, [filtering.issue(1)], [hidden])
    (verdict,) = judge(workspace, criterion).values()
    assert (verdict["keep"], verdict["reason"]) == (False, "no-reply")


def test_a_link_in_a_hidden_comment_sends_no_reader_there(tmp_path: Path) -> None:
    hidden = comment(1, "See https://pans.example.io/shop", minimized=True, author=None)
    workspace = filtering.build(tmp_path, [filtering.issue(1)], [hidden])
    (verdict,) = judge(workspace, "external-check").values()
    assert verdict["keep"]

"""Discussions are mined as issues are: whole, anew where they changed, and predicted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from goldpan.core.errors import UsageError
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.miners.coverage import measure_coverage
from goldpan.miners.mine import MineResult
from tests.mining import (
    PACE,
    SLUICE,
    TOKEN,
    Notes,
    Watched,
    assert_same,
    copy_mined_once,
    coverage_of,
    gaps_of,
    keys_kept_twice,
    mine_twin,
    operations,
    predict,
    rows,
    table_bytes,
    twin_settings,
)
from tests.program import MINE, Running, goldpan, start
from tests.twin import Fault, Faults, Forum, Twin, World, forum_world, hold_long, talk

ALL = ("discussions",)


def mined(twin: Twin, workspace: Path) -> MineResult:
    return mine_twin(twin, workspace, include=ALL)


def talking() -> tuple[World, Forum, dict[str, int]]:
    world = forum_world()
    forum = Forum(world)
    return world, forum, talk(forum)


def copy_talked(workspace: Path) -> None:
    """Make a workspace in which the discussions of `talking` were mined before."""
    copy_mined_once(workspace, "mined-talking", lambda: talking()[0], include=ALL)


def stored(result: MineResult) -> dict[str, int]:
    return {count.kind: count.stored for count in coverage_of(result).counts}


def test_everything_of_a_discussion_is_in_the_tables(tmp_path: Path) -> None:
    world, forum, numbers = talking()
    number = numbers["by_maintainer"]
    forum.change(number, closed_at="2024-03-01T00:00:00Z", state_reason="resolved", locked=True)
    forum.change(number, upvotes=4, reactions=3)
    with Twin(world) as twin:
        result = mined(twin, tmp_path)
    assert result.failure is None
    assert coverage_of(result).complete
    assert (stored(result)["discussions"], stored(result)["replies"]) == (8, 2)
    entry = {row["number"]: row for row in rows(tmp_path, "entries")}[number]
    facts = (entry["kind"], entry["state"], entry["state_reason"], entry["locked"])
    assert facts == ("discussion", "closed", "resolved", True)
    assert entry["participants"] == ["ferry-n", "marlow-k"]
    discussion = {row["number"]: row for row in rows(tmp_path, "discussions")}[number]
    reply = world.main.discussions[number].comments[1]
    assert discussion == {
        "repo": SLUICE,
        "number": number,
        "category_id": discussion["category_id"],
        "category": "Q&A",
        "category_slug": "q-a",
        "is_answerable": True,
        "is_answered": True,
        "answer_id": reply.id,
        "answer_chosen_at": discussion["answer_chosen_at"],
        "answer_chosen_by": "wheelwright",
        "answer_chosen_by_type": "user",
        "upvotes": 4,
        "reactions": 3,
    }
    said = [row for row in rows(tmp_path, "comments") if row["number"] == number]
    assert [(row["kind"], row["reply_to"], row["author"]) for row in said] == [
        ("discussion_comment", None, "ferry-n"),
        ("discussion_comment", said[0]["comment_id"], "ferry-n"),
    ]
    hidden = [row for row in rows(tmp_path, "comments") if row["minimized"]]
    told = [(row["number"], row["minimized_reason"]) for row in hidden]
    assert told == [(numbers["minimized"], "spam")]
    by_ghosts = {row["number"]: row for row in rows(tmp_path, "entries")}[numbers["ghosts"]]
    assert (by_ghosts["author"], by_ghosts["author_type"]) == (None, None)


def test_they_are_left_out_where_nobody_asks(tmp_path: Path) -> None:
    with Twin(talking()[0]) as twin:
        result = mine_twin(twin, tmp_path)
        assert not any("Discussions" in name for name in operations(twin.requests))
    assert "discussions" not in stored(result)
    assert not rows(tmp_path, "discussions")
    assert {row["kind"] for row in rows(tmp_path, "entries")} == {"issue"}


def test_long_discussions_are_read_to_their_end_and_predicted(tmp_path: Path) -> None:
    world = forum_world()
    forum = Forum(world)
    number = hold_long(forum, 45, 130)
    for _ in range(30):
        hold_long(forum, 3, 1)
    with Twin(world) as twin:
        settings = twin_settings(twin, tmp_path / "new", "graphql", include=ALL)
        estimate = predict(settings, SLUICE, Notes(), PACE)
        assert not (tmp_path / "new").exists()
        twin.requests.clear()
        result = mined(twin, tmp_path)
        assert twin.points == result.points
        assert twin.count == result.requests
    assert coverage_of(result).complete
    assert result.predicted.requests == pytest.approx(result.requests, abs=4)
    assert result.predicted.points == pytest.approx(result.points, abs=6)
    assert estimate.requests == pytest.approx(result.requests, abs=4)
    said = [row for row in rows(tmp_path, "comments") if row["number"] == number]
    assert len(said) == 45 + 130
    ledger = [row for row in rows(tmp_path, "ledger") if row["number"] == number]
    counts = {row["part"]: (row["announced"], row["stored"]) for row in ledger}
    assert counts["comments"] == (45, 45)
    assert counts["replies"] == (130, 130)


def test_only_what_changed_is_read_again(tmp_path: Path) -> None:
    world, forum, numbers = talking()
    copy_talked(tmp_path)
    with Twin(world) as twin:
        mined(twin, tmp_path)
        assert not any(name in ("Discussions", "Issues") for name in operations(twin.requests))
        answer = forum.say(numbers["open"], "By now there is: `sluice.dropped`.")
        forum.accept(numbers["open"], answer)
        forum.delete(numbers["idea"])
        twin.requests.clear()
        result = mined(twin, tmp_path)
        assert operations(twin.requests)["Discussions"] == 1
        mined(twin, tmp_path / "fresh")
    assert stored(result)["discussions"] == 7
    updated, fresh = table_bytes(tmp_path), table_bytes(tmp_path / "fresh")
    assert_same(updated, fresh)
    assert numbers["idea"] not in {row["number"] for row in rows(tmp_path, "discussions")}


def test_a_later_run_without_them_takes_nothing_away(tmp_path: Path) -> None:
    copy_talked(tmp_path)
    before = table_bytes(tmp_path)
    with Twin(talking()[0]) as twin:
        mine_twin(twin, tmp_path)
        assert_same(table_bytes(tmp_path), before)
        mine_twin(twin, tmp_path, "rest")
    assert len(rows(tmp_path, "discussions")) == 8


def test_a_repository_with_discussions_turned_off(tmp_path: Path) -> None:
    """There is nothing to mine, which is said; what was mined while they were on stays."""
    notes = Notes()
    with Twin(forum_world()) as twin:
        result = mine_twin(twin, tmp_path / "never", include=ALL, notes=notes)
    assert "discussions turned off" in notes
    assert coverage_of(result).complete
    (row,) = [row for row in rows(tmp_path / "never", "ledger") if row["part"] == "discussions"]
    assert (row["announced"], row["stored"], row["state"]) == (0, 0, "complete")
    assert row["reason"] == "discussions are turned off in this repository"
    world, forum, _ = talking()
    copy_talked(tmp_path)
    with Twin(world) as twin:
        forum.turn_off()
        result = mined(twin, tmp_path)
    assert stored(result)["discussions"] == 8
    assert coverage_of(result).complete


def test_what_fails_is_missing_and_asked_for_again(tmp_path: Path) -> None:
    world, _, numbers = talking()
    broken = Fault("502", "Discussions", numbers["open"])
    with Twin(world, Faults(chosen=[broken])) as twin:
        result = mined(twin, tmp_path)
    assert gaps_of(result) == [(numbers["open"], "entry", "failed")]
    with Twin(world) as twin:
        assert mined(twin, tmp_path).coverage == measure_coverage(WorkspaceLayout(tmp_path), SLUICE)
    copy_talked(tmp_path / "whole")
    assert_same(table_bytes(tmp_path), table_bytes(tmp_path / "whole"))


def test_a_list_that_cannot_be_had_is_missing(tmp_path: Path) -> None:
    world, _, numbers = talking()
    copy_talked(tmp_path)
    with Twin(world, Faults(chosen=[Fault("502", "SweepDiscussions")])) as twin:
        result = mined(twin, tmp_path)
    assert gaps_of(result) == [(None, "discussions", "failed")]
    assert len(rows(tmp_path, "discussions")) == len(numbers)


def test_killed_it_goes_on_and_pays_for_nothing_twice(tmp_path: Path) -> None:
    world, forum, _ = talking()
    hold_long(forum, 30, 6)
    environment = {**os.environ, "GITHUB_TOKEN": TOKEN}
    running: list[Running] = []
    with Twin(world) as twin:
        options = ["--repo", SLUICE, "--workspace", str(tmp_path / "killed")]
        options += ["--api-url", twin.url, "--include", "discussions"]
        for more in (5, 3, 2):
            last = twin.count + more

            def kill(count: int, last: int = last) -> None:
                if running and count >= last:
                    running.pop().kill()

            twin.requests = Watched(kill, twin.requests)
            with start(*options, environment=environment, program=MINE) as miner:
                running.append(miner)
                miner.wait()
            running.clear()
        done = goldpan(*options, environment=environment, program=MINE)
        assert done.code == 0, done.err
        assert keys_kept_twice(tmp_path / "killed") == []
        mined(twin, tmp_path / "whole")
    assert_same(table_bytes(tmp_path / "killed"), table_bytes(tmp_path / "whole"))


@pytest.mark.parametrize("tokens", [(), (TOKEN,)])
def test_rest_does_not_offer_them(tokens: tuple[str, ...], tmp_path: Path) -> None:
    with Twin(forum_world()) as twin:
        settings = twin_settings(twin, tmp_path, "rest", include=ALL, tokens=tokens)
        with pytest.raises(UsageError, match="REST API does not offer discussions") as told:
            predict(settings, SLUICE, Notes(), PACE)
        assert twin.count == 0
    assert ("GITHUB_TOKEN" in told.value.remedy) == (not tokens)


def test_a_server_that_does_not_offer_them_is_named(tmp_path: Path) -> None:
    lacks = [("Repository", "discussions"), ("Repository", "discussion")]
    with Twin(forum_world(), lacks=lacks) as twin:
        with pytest.raises(UsageError, match="does not offer discussions"):
            mined(twin, tmp_path)
        settings = twin_settings(twin, tmp_path, "graphql", include=ALL)
        with pytest.raises(UsageError, match="does not offer discussions"):
            predict(settings, SLUICE, Notes(), PACE)
        mine_twin(twin, tmp_path)
    assert len(rows(tmp_path, "entries")) == 2


def test_nulls_cost_their_fields_alone(tmp_path: Path) -> None:
    world, _, numbers = talking()
    fields = ["author", "answer", "answerChosenBy", "isAnswered", "stateReason", "lastEditedAt"]
    nulls = [("Discussion", name) for name in fields]
    nulls += [("DiscussionComment", name) for name in ("author", "minimizedReason")]
    with Twin(world, null_fields=nulls) as twin:
        result = mined(twin, tmp_path)
    assert coverage_of(result).complete
    assert len(rows(tmp_path, "discussions")) == len(numbers)

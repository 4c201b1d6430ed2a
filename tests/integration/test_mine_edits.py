"""The edits of texts are mined over GraphQL, of those alone that were edited."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.lineage.check import check_workspace
from tests.mining import (
    Notes,
    assert_same,
    copy_mined_once,
    coverage_of,
    gaps_of,
    keys_kept_twice,
    mine_twin,
    operations,
    rows,
    table_bytes,
)
from tests.twin import Editor, Fault, Faults, Forum, Twin, World, workload_world
from tests.twin.editing import MAINTAINER, VISITOR
from tests.twin.world import Repository

AT = "2024-03-0{}T00:00:00Z"


def edited_world() -> tuple[World, dict[str, int]]:
    """Return a repository with an issue, a pull request and a discussion, all of them edited."""
    world = World(
        Repository(
            owner="prospector",
            name="sluice",
            id=61_000_001,
            created_at="2024-01-01T00:00:00Z",
            pushed_at="2024-05-01T00:00:00Z",
        )
    )
    editor = Editor(world, start="2024-02-01T00:00:00Z")
    issue = editor.issue("It fails", "It stops.", author=VISITOR)
    remark = editor.comment(issue, "Which one?")
    editor.comment(issue, "Never edited.")
    pull = editor.pull("Do not stop", "Fixes #1.")
    review = editor.review(pull, "APPROVED", "Fine.", [("sluice.py", "Why?")])
    (on_line,) = editor.entry(pull).review_comments()
    editor.edit_entry(issue, body="It stops at once.", by=VISITOR, at=AT.format(1))
    editor.edit_entry(issue, body="Solved by `go_on()`.", by=MAINTAINER, at=AT.format(2))
    editor.edit_entry(issue, title="It stops", at=AT.format(3))
    editor.edit_comment(remark, "Which version?", at=AT.format(4))
    editor.edit_comment(review, "Fine now.", at=AT.format(5))
    editor.edit_comment(on_line.id, "Why not?", at=AT.format(6))
    editor.edit_entry(pull, body="Fixes #1 for good.", by=None, at=AT.format(7))
    forum = Forum(world)
    question = forum.ask("How?", "Tell me.")
    said = forum.say(question, "So.")
    answer = forum.say(question, "And so.", to=said)
    forum.revise(question, "Tell me how.")
    forum.revise(question, "So it is.", comment=said)
    forum.revise(question, "And so on.", comment=answer)
    numbers = {"issue": issue, "remark": remark, "pull": pull, "review": review}
    return world, {**numbers, "line": on_line.id, "question": question, "said": said, "to": answer}


def copy_edited(workspace: Path) -> None:
    """Make a workspace in which the texts of `edited_world` were mined before."""
    copy_mined_once(workspace, "mined-edited", lambda: edited_world()[0])


def test_every_version_of_a_text_is_there(tmp_path: Path) -> None:
    world, made = edited_world()
    with Twin(world) as twin:
        mined = mine_twin(twin, tmp_path, include=("discussions",))
        assert mined.predicted.requests == pytest.approx(twin.count, abs=2)
    assert coverage_of(mined).complete
    edits = rows(tmp_path, "edits")
    assert [
        (row["kind"], row["comment_id"], row["editor"], row["text"])
        for row in edits
        if row["number"] == made["issue"]
    ] == [
        ("comment", made["remark"], "wheelwright", "Which one?"),
        ("comment", made["remark"], "wheelwright", "Which version?"),
        ("issue", None, "marlow-k", "It stops."),
        ("issue", None, "marlow-k", "It stops at once."),
        ("issue", None, "wheelwright", "Solved by `go_on()`."),
    ]
    assert {(row["kind"], row["comment_id"]) for row in edits} == {
        ("issue", None),
        ("comment", made["remark"]),
        ("pull", None),
        ("review", made["review"]),
        ("review_comment", made["line"]),
        ("discussion", None),
        ("discussion_comment", made["said"]),
        ("discussion_comment", made["to"]),
    }
    newest = [row for row in edits if row["edited_at"] == AT.format(7)]
    assert [(row["editor"], row["editor_type"]) for row in newest] == [(None, None)]
    entries = {row["number"]: row for row in rows(tmp_path, "entries")}
    assert entries[made["issue"]]["last_edited_at"] == AT.format(2)
    comments = {row["comment_id"]: row["last_edited_at"] for row in rows(tmp_path, "comments")}
    assert comments.pop(made["remark"]) == AT.format(4)
    assert [at for at in comments.values() if at] == [
        *(AT.format(day) for day in (5, 6)),
        *(row["edited_at"] for row in edits if row["text"] in ("So it is.", "And so on.")),
    ]
    ledger = {(row["number"], row["part"]): row for row in rows(tmp_path, "ledger")}
    told = ledger[made["issue"], "edits"]
    assert (told["announced"], told["stored"], told["state"]) == (5, 5, "complete")
    assert check_workspace(WorkspaceLayout(tmp_path), Notes()).damaged == ()


def test_a_deleted_version_keeps_its_place_without_its_text(tmp_path: Path) -> None:
    world, made = edited_world()
    Editor(world).delete_edit(made["issue"], 1, at="2024-04-01T00:00:00Z")
    with Twin(world) as twin:
        assert mine_twin(twin, tmp_path).coverage is not None
    edits = [row for row in rows(tmp_path, "edits") if row["kind"] == "issue"]
    assert [(row["text"], row["deleted_at"]) for row in edits] == [
        ("It stops.", None),
        (None, "2024-04-01T00:00:00Z"),
        ("Solved by `go_on()`.", None),
    ]


def test_a_long_history_is_read_to_its_end(tmp_path: Path) -> None:
    world, made = edited_world()
    editor = Editor(world)
    for turn in range(50):
        editor.edit_entry(made["issue"], body=f"Turn {turn}.")
    with Twin(world) as twin:
        mine_twin(twin, tmp_path)
    assert len([row for row in rows(tmp_path, "edits") if row["kind"] == "issue"]) == 53


def test_an_update_reads_the_edits_of_what_changed_alone(tmp_path: Path) -> None:
    world, made = edited_world()
    copy_edited(tmp_path)
    with Twin(world) as twin:
        mine_twin(twin, tmp_path)
        assert "Continuations" not in operations(twin.requests)
        Editor(world).edit_entry(made["pull"], body="Fixes #1, and more.")
        mine_twin(twin, tmp_path)
        mine_twin(twin, tmp_path / "fresh")
    assert not keys_kept_twice(tmp_path)
    assert_same(table_bytes(tmp_path), table_bytes(tmp_path / "fresh"))


def test_rest_tells_of_none_and_says_so(tmp_path: Path) -> None:
    world, made = edited_world()
    with Twin(world) as twin:
        mine_twin(twin, tmp_path / "rest", "rest")
        copy_edited(tmp_path / "both")
        Editor(world).comment(made["issue"], "Still there?")
        mine_twin(twin, tmp_path / "both", "rest")
        updated = {row["number"] for row in rows(tmp_path / "both", "edits")}
        assert updated == {made["pull"]}
        mine_twin(twin, tmp_path / "both")
        mine_twin(twin, tmp_path / "fresh")
    assert not rows(tmp_path / "rest", "edits")
    states = {row["state"] for row in rows(tmp_path / "rest", "ledger") if row["part"] == "edits"}
    assert states == {"unseen"}
    assert rows(tmp_path / "both", "edits") == rows(tmp_path / "fresh", "edits")


def test_a_text_that_fails_costs_its_edits_alone(tmp_path: Path) -> None:
    world, made = edited_world()
    broken = Fault("502", "Continuations", made["issue"])
    with Twin(world, Faults(chosen=[broken])) as twin:
        mined = mine_twin(twin, tmp_path)
    assert gaps_of(mined) == [(made["issue"], "edits", "failed")]
    with Twin(world) as twin:
        mine_twin(twin, tmp_path)
    copy_edited(tmp_path / "whole")
    assert_same(table_bytes(tmp_path), table_bytes(tmp_path / "whole"))


@pytest.mark.nightly
def test_edits_cost_a_tenth_more_at_most(tmp_path: Path) -> None:
    """With every sixth text edited."""
    points = []
    for edited in (0, 6):
        with Twin(workload_world(300, 300, edited=edited)) as twin:
            mined = mine_twin(twin, tmp_path / str(edited))
            assert mined.predicted.requests == pytest.approx(twin.count, rel=0.05)
            points.append(twin.points)
    assert points[1] <= 1.1 * points[0]
    assert len(rows(tmp_path / "6", "edits", "workload/mill")) == 2 * 700

"""A second run fetches only what changed, and its tables equal a fresh mining."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from goldpan.miners.github.announced import Path as Via
from goldpan.miners.mine import MineResult
from tests.mining import (
    BOTH,
    Notes,
    Tables,
    archive,
    assert_alike,
    assert_current,
    copy_mined,
    coverage_of,
    graphql_daily,
    mine_twin,
    operations,
    rest_daily,
    rows,
    rows_of,
    table_bytes,
    undisturbed,
)
from tests.twin import Editor, Twin, World, synthetic_world
from tests.twin.asking import titled
from tests.twin.world import Ref, Review

both = pytest.mark.parametrize("via", BOTH)


def by_turns(cases: Sequence[Callable[..., object]]) -> list[object]:
    """Return each case with each path: with one by turns daily, with the other nightly."""
    return [
        pytest.param(
            via,
            case,
            marks=() if turn % 2 == (via == "rest") else pytest.mark.nightly,
            id=f"{case.__name__}-{via}",
        )
        for turn, case in enumerate(cases)
        for via in BOTH
    ]


SWEEP = {"Dialect": 1, "Repository": 1, "SweepIssues": 1, "SweepPulls": 1}
LISTS = 4  # issues, pulls, comments, review comments


def people(world: World) -> Editor:
    """Return an editor whose edits happen from now on, after all that was mined."""
    newest = max(entry.updated_at for entry in world.main.entries.values())
    return Editor(world, start=max(newest, datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")))


def fresh(twin: Twin, workspace: Path, via: Via) -> Tables:
    mined = mine_twin(twin, workspace / "fresh", via)
    assert coverage_of(mined).complete
    return table_bytes(workspace / "fresh")


def fetched(workspace: Path) -> set[int]:
    """Return the entries that the newest run fetched."""
    store = archive(workspace)
    return {
        number
        for record in store.records
        if record.run == store.runs and record.meta["part"] == "entries"
        for _, number, _ in record.meta["nodes"]
    }


def asked_about(twin: Twin, part: str) -> set[int]:
    """Return the entries of which REST was asked for a part, such as their timelines."""
    return {int(r.path.split("/")[-2]) for r in twin.requests if f"/{part}" in r.path}


def whole(mined: MineResult) -> bool:
    return mined.coverage is not None and coverage_of(mined).complete


def test_graphql_asks_for_nothing_but_the_sweep(tmp_path: Path) -> None:
    notes = Notes()
    copy_mined(tmp_path)
    with Twin(synthetic_world()) as twin:
        mined = mine_twin(twin, tmp_path, notes=notes)
        assert operations(twin.requests) == SWEEP
        assert twin.points == mined.points == mined.predicted.points == 4
    assert "60 entries; 0 to fetch, 60 known" in notes
    assert whole(mined)
    assert_current(table_bytes(tmp_path), undisturbed("graphql"))


def test_rest_asks_for_nothing_but_the_sweep_and_what_changed_in_its_lists(tmp_path: Path) -> None:
    copy_mined(tmp_path, "rest")
    with Twin(synthetic_world()) as twin:
        mined = mine_twin(twin, tmp_path, "rest")
        assert twin.count == mined.predicted.requests == 1 + len(SWEEP) + LISTS
        assert not asked_about(twin, "timeline")
    assert whole(mined)
    assert_current(table_bytes(tmp_path), undisturbed("rest"))


def new_comment(editor: Editor) -> set[int]:
    number = titled(editor.world, "Sort stably")
    editor.comment(number, "Still wrong for me, see GH-3.")
    return {number}


def edited_comment(editor: Editor) -> set[int]:
    number = titled(editor.world, "What should 1.0 contain?")
    editor.edit_comment(editor.entry(number).comments[70].id, "A better idea: #1.")
    return {number}


def deleted_comment(editor: Editor) -> set[int]:
    number = titled(editor.world, "What should 1.0 contain?")
    editor.delete_comment(editor.entry(number).comments[2].id)
    return {number}


def new_entries(editor: Editor) -> set[int]:
    issue = editor.issue("Brand new", "Read #3.", labels=["bug"])
    return {issue, editor.pull("Newer still", f"Nothing to do with #{issue}.")}


def new_cross_reference(editor: Editor) -> set[int]:
    number = titled(editor.world, "No body at all")
    before = editor.entry(number).updated_at
    editor.refer(number, Ref("prospector/pan", 2))
    assert editor.entry(number).updated_at == before
    return {number}


def changed_labels(editor: Editor) -> set[int]:
    many, bug = titled(editor.world, "Labelled by an eager hand"), 1
    editor.unlabel(many, "area/07")
    editor.label(many, "big")
    editor.unlabel(bug, "bug")
    return {many, bug}


def merged(editor: Editor) -> set[int]:
    pull, issue = titled(editor.world, "Still open"), titled(editor.world, "HTTPS support")
    editor.merge(pull, closes=[issue])
    return {pull, issue}


def reviewed(editor: Editor) -> set[int]:
    pull = titled(editor.world, "Still open")
    review = editor.review(pull, "CHANGES_REQUESTED", "No.", [("a.py", "Why?"), ("b.py", "Hm.")])
    first = next(
        comment for comment in editor.entry(pull).review_comments() if comment.review == review
    )
    editor.reply(pull, first.id, "Because.")
    editor.edit_comment(review, "No, thanks.")
    return {pull}


def renamed_and_locked(editor: Editor) -> set[int]:
    number = titled(editor.world, "Windows line ends")
    editor.edit_entry(number, title="CRLF", body="See #2, not #1.")
    editor.lock(number)
    editor.close(number, reason="not_planned")
    return {number}


COMMENTED = (new_comment, edited_comment, deleted_comment)
CHANGED = (new_entries, new_cross_reference, changed_labels, merged, reviewed, renamed_and_locked)
EDITS = (*COMMENTED, *CHANGED)


@pytest.mark.parametrize(("via", "edit"), by_turns(EDITS))
def test_one_edit(via: Via, edit: Callable[[Editor], set[int]], tmp_path: Path) -> None:
    world = synthetic_world()
    copy_mined(tmp_path, via)
    with Twin(world) as twin:
        before = table_bytes(tmp_path)
        touched = edit(people(world))
        mined = mine_twin(twin, tmp_path, via)
        if via == "graphql":
            assert fetched(tmp_path) == touched
            assert twin.count <= len(SWEEP) + 1 + 2 + 2
        else:
            assert asked_about(twin, "timeline") == touched
            assert asked_about(twin, "files") <= touched
        assert whole(mined)
        tables = table_bytes(tmp_path)
        assert tables != before
        assert_current(tables, fresh(twin, tmp_path, via))


def late_comment(editor: Editor, number: int) -> None:
    editor.comment(number, "One more thing.")


def late_review(editor: Editor, number: int) -> None:
    editor.review(number, "APPROVED", "Fine after all.")


def late_review_comment(editor: Editor, number: int) -> None:
    first = next(iter(editor.entry(number).review_comments()))
    editor.reply(number, first.id, "A late reply.")


def late_event(editor: Editor, number: int) -> None:
    editor.label(number, "late")
    editor.unlabel(number, "late")


LATE = (late_comment, late_review, late_review_comment, late_event)


@pytest.mark.parametrize(("via", "late"), by_turns(LATE))
def test_what_comes_late_is_seen_though_the_entry_is_not_updated(
    via: Via, late: Callable[[Editor, int], None], tmp_path: Path
) -> None:
    world = synthetic_world()
    copy_mined(tmp_path, via)
    entry = next(entry for entry in world.main.entries.values() if any(entry.review_comments()))
    with Twin(world) as twin:
        editor = people(world)
        late(editor, entry.number)
        world.put(replace(editor.entry(entry.number), updated_at=entry.updated_at))
        assert whole(mine_twin(twin, tmp_path, via))
        assert_current(table_bytes(tmp_path), fresh(twin, tmp_path, via))


@both
def test_all_edits_together_then_one_by_one(via: Via, tmp_path: Path) -> None:
    world = synthetic_world()
    copy_mined(tmp_path, via)
    with Twin(world) as twin:
        for turn in range(3):
            editor = people(world)
            for edit in EDITS[turn % 2 :: 2]:
                if edit is not renamed_and_locked or not turn:
                    edit(editor)
            assert whole(mine_twin(twin, tmp_path, via))
        assert_current(table_bytes(tmp_path), fresh(twin, tmp_path, via))


def deleted(editor: Editor) -> None:
    editor.delete_entry(titled(editor.world, "Odd characters"))


def transferred(editor: Editor) -> None:
    editor.transfer_out(titled(editor.world, "Odd characters"), Ref("prospector/pan", 7))


def deleted_review_comment(editor: Editor) -> None:
    number = titled(editor.world, "Last words")
    entry = editor.entry(number)
    timeline = tuple(
        replace(item, comments=()) if isinstance(item, Review) else item for item in entry.timeline
    )
    editor.world.put(replace(entry, timeline=timeline))
    editor.event(number, "comment_deleted")


@graphql_daily
@pytest.mark.parametrize("goes", [deleted, transferred, deleted_review_comment])
def test_what_is_gone_vanishes(via: Via, goes: Callable[[Editor], None], tmp_path: Path) -> None:
    world = synthetic_world()
    copy_mined(tmp_path, via)
    with Twin(world) as twin:
        goes(people(world))
        assert whole(mine_twin(twin, tmp_path, via))
        assert_current(table_bytes(tmp_path), fresh(twin, tmp_path, via))


@rest_daily
def test_a_deleted_entry_takes_its_links_along(via: Via, tmp_path: Path) -> None:
    world = synthetic_world()
    number = titled(world, "Crash on an empty stream")
    copy_mined(tmp_path, via)
    with Twin(world) as twin:
        people(world).delete_entry(number)
        mine_twin(twin, tmp_path, via)
        links = [row for row in rows(tmp_path, "references") if row["evidence"]["where"] != "body"]
        gone = (world.main.full_name, number)
        ends = (("repo", "number"), ("target_repo", "target_number"))
        left = [row for row in links for end in ends if tuple(row[name] for name in end) == gone]
        assert left == []


@pytest.mark.nightly
def test_the_paths_in_turns_tell_what_both_see(tmp_path: Path) -> None:
    world = synthetic_world()
    steps: tuple[tuple[Via, tuple[Callable[[Editor], set[int]], ...]], ...] = (
        ("rest", ()),
        ("graphql", (new_comment, merged)),
        ("rest", (new_entries, new_cross_reference, edited_comment)),
        ("graphql", (changed_labels, reviewed)),
        ("rest", (deleted_comment, new_comment)),
    )
    with Twin(world) as twin:
        for index, (via, edits) in enumerate(steps):
            for edit in edits:
                edit(people(world))
            assert whole(mine_twin(twin, tmp_path, via))
            assert_alike(table_bytes(tmp_path), fresh(twin, tmp_path / str(index), "graphql"))


def test_graphql_after_rest_is_as_graphql_alone(tmp_path: Path) -> None:
    copy_mined(tmp_path, "rest")
    with Twin(synthetic_world()) as twin:
        assert whole(mine_twin(twin, tmp_path, "graphql"))
        tables = table_bytes(tmp_path)
    expected = undisturbed("graphql")
    assert_current({**tables, "files": b""}, {**expected, "files": b""})
    assert_alike(tables, expected)


def test_a_rest_run_loses_nothing_that_graphql_saw(tmp_path: Path) -> None:
    copy_mined(tmp_path, "graphql")
    with Twin(synthetic_world()) as twin:
        mine_twin(twin, tmp_path, "rest")
    seen = [row["signal"] for row in rows(tmp_path, "references")]
    expected = [row["signal"] for row in rows_of(undisturbed("graphql"), "references")]
    assert set(seen) == set(expected)
    assert seen.count("will_close") == expected.count("will_close") > 0


@both
def test_since(via: Via, tmp_path: Path) -> None:
    world = synthetic_world()
    text = sorted(entry.updated_at for entry in world.main.entries.values())[30]
    since = datetime.fromisoformat(text)
    expected = {n for n, entry in world.main.entries.items() if entry.updated_at >= text}
    assert 10 < len(expected) < 50
    with Twin(world) as twin:
        mined = mine_twin(twin, tmp_path, via, since=since)
        assert whole(mined)
        assert coverage_of(mined).since == text
        if via == "rest":
            assert asked_about(twin, "timeline") == expected
    clean = undisturbed(via)
    for name in ("entries", "comments", "commits", "files"):
        part = [row for row in rows_of(clean, name) if row["number"] in expected]
        assert rows(tmp_path, name) == part


@rest_daily
def test_everything_after_since(via: Via, tmp_path: Path) -> None:
    """A limited run hides nothing from the unlimited one that follows, nor loses anything."""
    with Twin(synthetic_world()) as twin:
        since = datetime(2023, 1, 6, tzinfo=UTC)
        mine_twin(twin, tmp_path, via, since=since)
        assert whole(mine_twin(twin, tmp_path, via))
        assert_current(table_bytes(tmp_path), undisturbed(via))
        mine_twin(twin, tmp_path, via, since=since)
    assert_current(table_bytes(tmp_path), undisturbed(via))


def test_what_a_flawed_run_left_open_is_read_anew(tmp_path: Path) -> None:
    """An entry that is fetched again needs its further pages again as well."""
    world = synthetic_world()
    with Twin(world, null_fields={("Issue", "labels"), ("PullRequest", "labels")}) as twin:
        assert not whole(mine_twin(twin, tmp_path))
    with Twin(world) as twin:
        assert whole(mine_twin(twin, tmp_path))
    assert_current(table_bytes(tmp_path), undisturbed("graphql"))


def test_a_cross_reference_that_is_taken_back_vanishes(tmp_path: Path) -> None:
    """The entry then looks as it did once, but what is stored is what came in between."""
    world = synthetic_world()
    target, source = 1, 3
    before = world.main.entries[target]
    copy_mined(tmp_path)
    expected = table_bytes(tmp_path)
    with Twin(world) as twin:
        people(world).refer(target, Ref(world.main.full_name, source))
        mine_twin(twin, tmp_path)
        assert table_bytes(tmp_path)["references"] != expected["references"]
        world.put(before)
        mine_twin(twin, tmp_path)
    assert_current(table_bytes(tmp_path), expected)

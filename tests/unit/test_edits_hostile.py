"""Edits of files whose lines are nearly all the same: small, exact, within the work allowed."""

from __future__ import annotations

from itertools import takewhile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldpan.code.edits import diff, find
from goldpan.code.edits.apply import apply_edits, as_characters, number_lines, split_lines
from goldpan.code.edits.diff import diff_lines
from goldpan.code.edits.find import Repeats, find_edits
from tests.drawing import examples
from tests.hostile_edits import changed_by_git, changed_lines, edited

FEW = st.text("abc", max_size=14)
LINES = st.lists(st.sampled_from(["a\n", "b\n", "ba\n", "\n"]), max_size=25)


def shared(first: str, second: str) -> int:
    alike = (left == right for left, right in zip(first, second, strict=False))
    return sum(takewhile(bool, alike))


@examples(300)
@given(FEW, FEW)
def test_what_repeats_is_what_a_search_finds(before: str, after: str) -> None:
    repeats = Repeats(before, after)
    for at in range(len(before)):
        own = [shared(before[at:], before[start:]) for start in range(len(before)) if start != at]
        other = sorted(
            (shared(before[at:], after[start:]) for start in range(len(after))), reverse=True
        )
        assert repeats.own[at] == max(own, default=0)
        assert [repeats.other[at], repeats.twice[at]] == [*other, 0, 0][:2]
        length, start = repeats.other[at], repeats.where[at]
        assert before[at : at + length] == after[start : start + length]


@examples(300)
@given(LINES, LINES)
def test_edits_hold_their_laws_where_repeats_are_known(before: list[str], after: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(find, "_WORK_BEFORE_REPEATS", -1)
        old, new = "".join(before), "".join(after)
        edits = find_edits(old, new)
        assert apply_edits(old, edits) == new
        text = old
        for edit in edits:
            assert text.count(edit.search) == 1 or not old
            assert old.count(edit.search) == 1 or not old
            text = text.replace(edit.search, edit.replace, 1)
        assert text == new


def test_what_uniqueness_alone_takes() -> None:
    """Why blocks cannot be as small as `git diff -U0`, which names lines by their numbers."""
    (edit,) = find_edits("x\n" * 200, "x\n" * 201)
    assert all(("x\n" * 200).count("x\n" * lines) > 1 for lines in range(1, 100))
    assert (edit.search, edit.replace) == ("x\n" * 200, "x\n" * 201)
    numbered = "".join(f"{number:04}\n" for number in range(200))
    (edit,) = find_edits(numbered, numbered.replace("0050\n", "0050\nnew\n"))
    assert edit.search.count("\n") + edit.replace.count("\n") == 3


@pytest.mark.parametrize("kinds", [2, 300])
def test_blocks_hold_no_more_than_the_shortest_unique_runs(kinds: int) -> None:
    before, after = edited(4_000, kinds, 40)
    lines, new = split_lines(before), split_lines(after)
    characters = number_lines(lines, new)
    old = as_characters(lines, characters)
    own = Repeats(old, as_characters(new, characters)).own
    fewest = 0
    for hunk in diff_lines(old, as_characters(new, characters)):
        runs = (
            max(start + own[start] + 1, hunk.end, start + 1) - start
            for start in range(max(0, hunk.start - 100), min(hunk.start, len(old) - 1) + 1)
            if max(start + own[start] + 1, hunk.end) <= len(old)
        )
        changed = (hunk.new_end - hunk.new_start) - (hunk.end - hunk.start)
        fewest += 2 * min(runs) + changed
    edits = find_edits(before, after)
    held = sum(edit.search.count("\n") + edit.replace.count("\n") for edit in edits)
    assert held <= fewest


@examples(300)
@given(st.text("ab", max_size=60), st.text("ab", max_size=60))
def test_texts_too_large_to_compare_at_once_are_compared_in_parts(before: str, after: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(diff, "_MOST_CELLS", 30)
        patch.setattr(diff, "_RUN", 4)
        made, at = "", 0
        for hunk in diff_lines(before, after):
            made += before[at : hunk.start] + after[hunk.new_start : hunk.new_end]
            at = hunk.end
        assert made + before[at:] == after


@pytest.mark.parametrize("kinds", [2, pytest.param(10, marks=pytest.mark.nightly), 300])
def test_many_changes_among_near_equal_lines(tmp_path: Path, kinds: int) -> None:
    before, after = edited(10_000, kinds, 150)
    edits = find_edits(before, after)
    assert apply_edits(before, edits) == after
    assert changed_lines(before, after) <= 1.25 * changed_by_git(tmp_path, before, after)
    written = sum(edit.search.count("\n") + edit.replace.count("\n") for edit in edits)
    assert written < 7_500  # with the context that it takes; the file as one block has 20,000


def test_more_cells_than_are_compared_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diff, "_MOST_CELLS", 1_000_000)
    before, after = edited(5_000, 2, 100)
    assert changed_lines(before, after) <= 1.25 * changed_by_git(tmp_path, before, after)

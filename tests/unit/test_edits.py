"""Edits between two versions of a file: exact, at one place each, with the least context."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from goldpan.code.edits import apply as lines_module
from goldpan.code.edits import diff
from goldpan.code.edits import find as find_module
from goldpan.code.edits.apply import Edit, apply_edits, as_characters, number_lines, split_lines
from goldpan.code.edits.diff import diff_lines
from goldpan.code.edits.find import find_edits
from tests.drawing import examples
from tests.hostile_edits import changed_by_git, changed_lines, edited

FEW = ["a\n", "b\n", "xa\n", "\n", " a\n"]
ENDS = ["a\n", "a\r\n", "a\r", "\r", "\n", "\r\n", "a\u2028b\n", "\x0c\n", "\x85"]
NO_END = "\\ No newline at end of file\n"
MARKERS = ["<<<<<<< SEARCH\n", "=======\n", ">>>>>>> REPLACE\n", NO_END, "a\n"]
CODE = ["def f():\n", "    x = 1\n", "    return x\n", "\n", "def g():\n", "é\n", "🎉\n"]


def texts(lines: Sequence[str]) -> st.SearchStrategy[str]:
    """Return texts of few different lines, some of which lack the end of the last one."""
    return st.tuples(
        st.lists(st.sampled_from(lines), max_size=12).map("".join),
        st.sampled_from(["", "", "a", "x", "\r"]),
    ).map("".join)


ALPHABETS = (FEW, FEW[:1], FEW[:2], ENDS, MARKERS, CODE)
PAIRS = st.sampled_from(ALPHABETS).flatmap(lambda lines: st.tuples(texts(lines), texts(lines)))
ANY = st.text(st.sampled_from("ab\r\n \u2028") | st.characters(), max_size=40)
VERSIONS = PAIRS | st.tuples(ANY, ANY)


@examples(400)
@given(VERSIONS)
@example(("", ""))
@example(("a", "a\n"))
@example(("a\n", "a"))
@example(("", "a"))
@example(("a", ""))
@example(("a\r", "a\r\n"))
@example(("a\nb\na\nb\n", "a\nb\na\nb\na\nb\n"))
def test_edits_give_the_file_after_in_any_order(versions: tuple[str, str]) -> None:
    before, after = versions
    edits = find_edits(before, after)
    assert apply_edits(before, edits) == after
    assert apply_edits(before, edits[::-1]) == after
    assert bool(edits) == (before != after)
    reached = -1
    for edit in edits:
        assert before.index(edit.search) > reached, "in order, and none touches the next"
        reached = before.index(edit.search) + len(edit.search)


@examples(400)
@given(VERSIONS)
def test_tools_that_replace_plain_text_one_by_one_come_to_the_same(
    versions: tuple[str, str],
) -> None:
    before, after = versions
    text = before
    for edit in find_edits(before, after):
        assert occurrences(before, edit.search) == 1 or edit.search == before == ""
        assert occurrences(text, edit.search) == 1 or edit.search == text == ""
        text = text.replace(edit.search, edit.replace)
    assert text == after


@examples(300)
@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=20), st.data())
def test_no_window_has_less_context(letters: list[str], data: st.DataObject) -> None:
    lines = [f"{letter}\n" for letter in letters]
    at = data.draw(st.integers(0, len(lines) - 1))
    before = "".join(lines)
    (edit,) = find_edits(before, "".join([*lines[:at], "new\n", *lines[at + 1 :]]))
    unique = [
        end - start
        for start in range(at + 1)
        for end in range(at + 1, len(lines) + 1)
        if occurrences(before, "".join(lines[start:end])) == 1
    ]
    assert len(split_lines(edit.search)) == min(unique)


@pytest.mark.parametrize(
    ("before", "after", "edits"),
    [
        ("a\nb\nc\n", "a\nB\nc\n", [("b\n", "B\n")]),
        ("a:\n go\n\nb:\n go\n", "a:\n go\n\nb:\n stop\n", [("b:\n go\n", "b:\n stop\n")]),
        ("  x = 1\nx = 1\n", "  x = 1\nx = 2\n", [("  x = 1\nx = 1\n", "  x = 1\nx = 2\n")]),
        ("use a\nuse b\n\nrun\n", "use a\nuse b\nuse c\n\nrun\n", [("use b\n", "use b\nuse c\n")]),
        ("a\nb\nc\nd\ne\n", "0\na\nb\nc\nd\ne\n1\n", [("a\n", "0\na\n"), ("e\n", "e\n1\n")]),
        ("x\ny\nx\ny\nx\n", "x\n1\nx\n2\nx\n", [("y\nx\ny\n", "1\nx\n2\n")]),
    ],
    ids=["unique", "repeated", "in-a-longer-line", "inserted", "at-both-ends", "near-each-other"],
)
def test_a_block_has_the_context_that_it_needs(
    before: str, after: str, edits: list[tuple[str, str]]
) -> None:
    assert find_edits(before, after) == tuple(Edit(*edit) for edit in edits)


def test_a_large_file_with_few_changes_gives_small_blocks() -> None:
    dice = random.Random(7)
    words = [f"{'    ' * dice.randint(0, 3)}word{dice.randint(0, 9_000)}\n" for _ in range(50_000)]
    changed = list(words)
    for number in (3, 20_000, 20_003, 49_990):
        changed[number] = f"changed {number}\n"
    del changed[30_000]
    changed.insert(40_000, "\n")
    start = time.process_time()
    edits = find_edits("".join(words), "".join(changed))
    assert time.process_time() - start < 10
    assert apply_edits("".join(words), edits) == "".join(changed)
    assert len(edits) == 6
    assert sum(len(split_lines(edit.search)) for edit in edits) < 20


EQUAL = "a\n" * 50_000
NUMBERED = [f"{number}\n" for number in range(50_000)]
SHUFFLED = ["".join(random.Random(seed).choices(["a\n", "b\n"], k=2_000)) for seed in (1, 2)]


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(EQUAL, EQUAL[:50_000] + "b\n" + EQUAL[50_000:], id="equal, one between"),
        pytest.param(EQUAL, EQUAL[:-14], id="equal, shorter"),
        pytest.param(EQUAL, ("b\n" + "a\n" * 99) * 500, id="equal, every hundredth"),
        pytest.param("".join(NUMBERED), "".join(NUMBERED[::-1]), id="reversed"),
        pytest.param("".join(NUMBERED) * 2, "".join(NUMBERED) + "".join(NUMBERED[1:]), id="twice"),
        pytest.param(*SHUFFLED, id="two lines in another order"),
        pytest.param("\n".join(NUMBERED[:9_000]), "".join(NUMBERED[:9_000]), id="no blank lines"),
        pytest.param("a" * 3_000_000, "a" * 2_999_999, id="one line"),
    ],
)
def test_hostile_files_take_seconds_at_most(before: str, after: str) -> None:
    start = time.process_time()
    edits = find_edits(before, after)
    assert time.process_time() - start < 30
    assert apply_edits(before, edits) == after


@given(VERSIONS)
def test_more_different_lines_than_characters(versions: tuple[str, str]) -> None:
    before, after = versions
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines_module, "MOST_CHARACTERS", 2)
        patch.setattr(find_module, "MOST_CHARACTERS", 2)
        assert apply_edits(before, find_edits(before, after)) == after


@given(VERSIONS)
def test_lines_that_share_a_character_are_told_apart(versions: tuple[str, str]) -> None:
    before, after = versions
    edits = find_edits(before, after)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines_module, "MOST_CHARACTERS", 2)
        assert apply_edits(before, edits) == after


def occurrences(text: str, search: str) -> int:
    """Return at how many places a search stands, overlapping ones included."""
    return sum(text.startswith(search, at) for at in range(len(text) - len(search) + 1))


@examples(300)
@given(st.text("ab", max_size=60), st.text("ab", max_size=60))
def test_gaps_too_large_to_compare_are_replaced(before: str, after: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(diff, "_MOST_LINES", 5)
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


@examples(300)
@given(VERSIONS)
@example(("b\na\na\nb\nc\na\nc\na\nc\na\na\na\n", "a\nc\nc\na\na\n"))
@example(("b\nb\nb\na\nx\nx\nx\nx\nb\na\na\na\n", "x\nb\nb\nx\nb\nx\n"))
def test_no_line_of_context_can_go(versions: tuple[str, str]) -> None:
    before, after = versions
    text = before
    for edit in find_edits(before, after):
        search, replace = split_lines(edit.search), split_lines(edit.replace)
        shorter = []
        if search[:1] == replace[:1]:
            shorter.append("".join(search[1:]))
        if search[-1:] == replace[-1:]:
            shorter.append("".join(search[:-1]))
        for less in shorter:
            assert not less or max(occurrences(before, less), occurrences(text, less)) > 1
        text = text.replace(edit.search, edit.replace)


@given(st.text("abc", max_size=14), st.text("abcd", max_size=14))
def test_a_diff_without_anchors_keeps_as_much_as_can_be(before: str, after: str) -> None:
    doubled = [text + text[::-1] for text in (before, after)]  # no line stands once
    common = len(doubled[0]) - sum(hunk.end - hunk.start for hunk in diff_lines(*doubled))
    assert common == longest_common(*doubled)


def longest_common(before: str, after: str) -> int:
    lengths = [0] * (len(after) + 1)
    for line in before:
        above = list(lengths)
        for column, other in enumerate(after):
            lengths[column + 1] = (
                above[column] + 1 if line == other else max(above[column + 1], lengths[column])
            )
    return lengths[-1]


def end_of_unique(text: str, start: int) -> int:
    """Return where the shortest run from a place ends that stands nowhere else; 0 for none."""
    ends = range(start + 1, len(text) + 1)
    return next((end for end in ends if text.find(run := text[start:end]) == text.rfind(run)), 0)


@pytest.mark.parametrize("kinds", [2, 300])
def test_blocks_hold_no_more_than_the_shortest_unique_runs(kinds: int) -> None:
    before, after = edited(4_000, kinds, 40)
    lines, new = split_lines(before), split_lines(after)
    characters = number_lines(lines, new)
    old = as_characters(lines, characters)
    fewest = 0
    for hunk in diff_lines(old, as_characters(new, characters)):
        runs = (
            max(end, hunk.end) - start
            for start in range(max(0, hunk.start - 100), min(hunk.start, len(old) - 1) + 1)
            if (end := end_of_unique(old, start))
        )
        changed = (hunk.new_end - hunk.new_start) - (hunk.end - hunk.start)
        fewest += 2 * min(runs) + changed
    edits = find_edits(before, after)
    held = sum(edit.search.count("\n") + edit.replace.count("\n") for edit in edits)
    assert held <= fewest

"""Applying edits: exact places, and errors that say what is wrong and where."""

from __future__ import annotations

import pickle
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldpan.code.edits.apply import (
    AmbiguousError,
    Edit,
    EditError,
    NoMatchError,
    OverlapError,
    apply_edits,
)
from goldpan.code.edits.find import find_edits

FILE = "def f():\n    x = 1\n    return x\n\n\ndef g():\n    x = 1\n    return x\n"


def test_nothing_to_do() -> None:
    assert apply_edits(FILE, []) == FILE


def test_blocks_in_any_order() -> None:
    edits = [Edit("def g():\n", "def h():\n"), Edit("def f():\n", "def g():\n")]
    assert apply_edits(FILE, edits) == FILE.replace("g():", "h():").replace("f():", "g():")


def test_blocks_may_touch() -> None:
    assert apply_edits("a\nb\n", [Edit("b\n", "2\n"), Edit("a\n", "1\n")]) == "1\n2\n"


def test_all_blocks_match_the_file_before() -> None:
    with pytest.raises(NoMatchError, match="Block 2 of 2 does not match"):
        apply_edits("a\n", [Edit("a\n", "b\n"), Edit("b\n", "c\n")])


def test_only_whole_lines_match() -> None:
    with pytest.raises(NoMatchError):
        apply_edits("    x = 1\n", [Edit("x = 1\n", "x = 2\n")])
    with pytest.raises(NoMatchError):
        apply_edits("a\r\n", [Edit("a\r", "b\r")])
    with pytest.raises(NoMatchError):
        apply_edits("ab\n", [Edit("a", "c")])
    assert apply_edits("xa\na\n", [Edit("a\n", "b\n")]) == "xa\nb\n"


def test_a_miss_names_the_nearest_lines() -> None:
    search = "def g():\n    x = 2\n    return x\n"
    with pytest.raises(NoMatchError) as caught:
        apply_edits(FILE, [Edit("def f():\n", ""), Edit(search, "")])
    assert caught.value.problem == (
        "Block 2 of 2 does not match: its SEARCH (3 lines) occurs nowhere in the file; the most "
        "alike are from line 6 on, but at line 7 the file has '    x = 1\\n' where SEARCH has "
        "'    x = 2\\n'"
    )


def test_a_miss_by_white_space_shows_it() -> None:
    with pytest.raises(NoMatchError, match=r"at line 2 the file has 'b \\n' where SEARCH has 'b"):
        apply_edits("a\nb \nc\n", [Edit("a\nb\nc\n", "")])


def test_a_miss_at_the_end_of_the_file() -> None:
    with pytest.raises(NoMatchError, match=r"at line 3 the file has ended where SEARCH has 'c"):
        apply_edits("a\nb\n", [Edit("b\nc\n", "")])


def test_a_miss_without_anything_alike() -> None:
    with pytest.raises(NoMatchError, match=r"\(1 line\) occurs nowhere in the file\. Copy"):
        apply_edits("a\n", [Edit("z\n", "")])


def test_an_ambiguous_block_names_its_lines() -> None:
    with pytest.raises(AmbiguousError) as caught:
        apply_edits(FILE, [Edit("    x = 1\n    return x\n", "")])
    assert caught.value.problem == "Block 1 of 1 is ambiguous: its SEARCH matches at lines 2, 7"
    with pytest.raises(AmbiguousError, match="lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and more"):
        apply_edits("a\n" * 30, [Edit("a\na\n", "")])


def test_blocks_that_overlap() -> None:
    edits = [Edit("b\nc\n", ""), Edit("z\n", "y\n"), Edit("a\nb\n", "")]
    with pytest.raises(OverlapError, match="Blocks 3 and 1 of 3 overlap at line 2 of the file"):
        apply_edits("a\nb\nc\nz\n", edits)
    with pytest.raises(OverlapError, match="Blocks 1 and 2 of 2 overlap at line 1 of the file"):
        apply_edits("a\n", [Edit("a\n", "b\n")] * 2)


def test_an_empty_search_is_for_an_empty_file() -> None:
    assert apply_edits("", [Edit("", "a\n")]) == "a\n"
    with pytest.raises(NoMatchError, match=r"Block 1 of 1 has an empty SEARCH.*has 8 lines"):
        apply_edits(FILE, [Edit("", "a\n")])
    with pytest.raises(OverlapError):
        apply_edits("", [Edit("", "a\n"), Edit("", "b\n")])


def test_errors_travel_between_processes() -> None:
    with pytest.raises(EditError) as caught:
        apply_edits("a\n", [Edit("b\n", "")])
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (type(copy), str(copy)) == (NoMatchError, str(caught.value))


@pytest.mark.parametrize(
    ("before", "search", "replace", "after"),
    [
        ("a  \nb\n", "a\n", "c\n", "c\nb\n"),
        ("a\n\t\nb\n", "a\n\nb\n", "c\n", "c\n"),
        ("a\r\nb\r\n", "a\nb\n", "c\nd\n", "c\r\nd\r\n"),
        ("a\nb\n", "a\r\nb\r\n", "c\r\nd\r\n", "c\nd\n"),
        ("a\nb", "b\n", "c\nd\n", "a\nc\nd"),
        ("a\nb", "b\n", "", "a\n"),
        ("a\n\nb \n", "\nb\n", "\n", "a\n\n"),
        ("a\nb\n", "b", "c", "a\nc\n"),
        ("a \na\n", "a\n", "b\n", "a \nb\n"),
    ],
)
def test_lenient(before: str, search: str, replace: str, after: str) -> None:
    assert apply_edits(before, [Edit(search, replace)], lenient=True) == after


def test_lenient_keeps_indentation_and_one_place() -> None:
    with pytest.raises(NoMatchError):
        apply_edits("  a\n", [Edit("a\n", "b\n")], lenient=True)
    with pytest.raises(AmbiguousError, match="lines 1, 2"):
        apply_edits("a \na  \n", [Edit("a\n", "b\n")], lenient=True)


LINES = st.lists(st.sampled_from(["a\n", "a \n", "b\n", "\n", "\t\n"]), max_size=8).map("".join)


@given(LINES, LINES)
def test_lenient_is_exact_where_exact_edits_are(before: str, after: str) -> None:
    assert apply_edits(before, find_edits(before, after), lenient=True) == after


@pytest.mark.parametrize(
    ("before", "search"),
    [
        ("a\n" * 60_000, "a\n" * 30_000),
        ("a\n" * 60_000, "a\n" * 30_000 + "b\n"),
        ("a\nba\n" * 30_000, "a\n" + "ba\n" * 15_000),
        ("a" * 3_000_000, "a" * 1_000_000 + "\n"),
        ("\n" * 500_000, "\n" * 100_000 + "x\n"),
    ],
)
def test_hostile_files_take_seconds_at_most(before: str, search: str) -> None:
    start = time.process_time()
    with pytest.raises(EditError):
        apply_edits(before, [Edit(search, "")] * 20, lenient=True)
    assert time.process_time() - start < 10

"""Applying edits: exact places, line ends, and errors that say what is wrong and where."""

from __future__ import annotations

import pickle
import re
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldpan.code.edits.apply import (
    AmbiguousError,
    Edit,
    EditError,
    FileError,
    MalformedError,
    NoMatchError,
    OverlapError,
    apply_edits,
)
from goldpan.code.edits.files import Applied, apply_patch_files
from goldpan.code.edits.find import find_edits
from goldpan.code.edits.parse import format_edits
from tests.drawing import examples
from tests.invoking import invoke

FILE = "def f():\n    x = 1\n    return x\n\n\ndef g():\n    x = 1\n    return x\n"


def test_blocks_are_applied_in_any_order_and_may_touch() -> None:
    assert apply_edits(FILE, []) == FILE
    edits = [Edit("def g():\n", "def h():\n"), Edit("def f():\n", "def g():\n")]
    assert apply_edits(FILE, edits) == FILE.replace("g():", "h():").replace("f():", "g():")
    assert apply_edits("a\nb\n", [Edit("b\n", "2\n"), Edit("a\n", "1\n")]) == "1\n2\n"


def test_a_line_decides_among_places_alone() -> None:
    before = "a\nb\na\n"
    assert apply_edits(before, [Edit("a\n", "c\n", 3)]) == "a\nb\nc\n"
    assert apply_edits(before, [Edit("b\n", "c\n", 3)]) == "a\nc\na\n"
    with pytest.raises(AmbiguousError):
        apply_edits(before, [Edit("a\n", "c\n", 2)])


def test_a_line_and_an_empty_file_are_found() -> None:
    assert apply_edits("xa\na\n", [Edit("a\n", "b\n")]) == "xa\nb\n"
    assert apply_edits("", [Edit("", "a\n")]) == "a\n"


NEAREST = (
    "Block 2 of 2 does not match: its SEARCH (3 lines) occurs nowhere in the file; the most alike "
    "are from line 6 on, but at line 7 the file has '    x = 1\\n' where SEARCH has '    x = 2\\n'"
)
OVERLAPPING = [Edit("b\nc\n", ""), Edit("z\n", "y\n"), Edit("a\nb\n", "")]


@pytest.mark.parametrize(
    ("before", "edits", "error", "problem"),
    [
        ("a\n", [Edit("a\n", "b\n"), Edit("b\n", "c\n")], NoMatchError, "Block 2 of 2 does not"),
        ("    x = 1\n", [Edit("x = 1\n", "x = 2\n")], NoMatchError, "occurs nowhere"),
        ("a\r\n", [Edit("a\r", "b\r")], NoMatchError, "occurs nowhere"),
        ("ab\n", [Edit("a", "c")], NoMatchError, "occurs nowhere"),
        (FILE, [Edit("def f():\n", ""), Edit("def g():\n    x = 2\n    return x\n", "")],
         NoMatchError, NEAREST),
        ("a\nb \nc\n", [Edit("a\nb\nc\n", "")], NoMatchError,
         r"at line 2 the file has 'b \n' where SEARCH has 'b"),
        ("a\nb\n", [Edit("b\nc\n", "")], NoMatchError,
         "at line 3 the file has ended where SEARCH has 'c"),
        ("a\n", [Edit("z\n", "")], NoMatchError, "(1 line) occurs nowhere in the file. Copy"),
        (FILE, [Edit("", "a\n")], NoMatchError, "Block 1 of 1 has an empty SEARCH"),
        (FILE, [Edit("", "a\n")], NoMatchError, "the file has 8 lines"),
        (FILE, [Edit("    x = 1\n    return x\n", "")], AmbiguousError,
         "Block 1 of 1 is ambiguous: its SEARCH matches at lines 2, 7. "),
        ("a\n" * 30, [Edit("a\na\n", "")], AmbiguousError,
         "lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and more"),
        ("a\nb\nc\nz\n", OVERLAPPING, OverlapError,
         "Blocks 3 and 1 of 3 overlap at line 2 of the file"),
        ("a\n", [Edit("a\n", "b\n")] * 2, OverlapError,
         "Blocks 1 and 2 of 2 overlap at line 1 of the file"),
        ("", [Edit("", "a\n"), Edit("", "b\n")], OverlapError, "overlap"),
    ],
)  # fmt: skip
def test_what_does_not_apply_is_told(
    before: str, edits: list[Edit], error: type[EditError], problem: str
) -> None:
    with pytest.raises(error, match=re.escape(problem)):
        apply_edits(before, edits)


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


BEFORE = "one\ntwo\nthree\nfour\nfive\n"
AFTER = "one\n2\n2b\nthree\nfour\nfive\n"
BLOCKS = format_edits("a.txt", [Edit("two\n", "2\n2b\n")])


def crlf(text: str) -> str:
    return text.replace("\n", "\r\n")


def diff(root: Path, before: bytes, after: bytes, name: str = "a.txt") -> str:
    """Return what git says of two versions."""
    for side, data in (("a", before), ("b", after)):
        (root / side).mkdir(parents=True, exist_ok=True)
        (root / side / name).write_bytes(data)
    command = ("git", "diff", "--no-index", "--no-prefix", "--no-color", "a", "b")
    return subprocess.run(command, cwd=root, capture_output=True, check=False).stdout.decode()


def apply(root: Path, patch: str, before: bytes, *, lenient: bool = False) -> tuple[bytes, Applied]:
    root.mkdir(exist_ok=True)
    (root / "a.txt").write_bytes(before)
    done = apply_patch_files(patch, root, write=True, lenient=lenient)
    return (root / "a.txt").read_bytes(), done


@pytest.fixture
def unified(tmp_path: Path) -> str:
    return diff(tmp_path / "git", BEFORE.encode(), AFTER.encode())


@pytest.mark.parametrize("patch_ends", ["LF", "CRLF"])
@pytest.mark.parametrize("file_ends", ["LF", "CRLF"])
@pytest.mark.parametrize("kind", ["blocks", "unified"])
def test_a_patch_of_either_line_end_applies_to_a_file_of_either(
    tmp_path: Path, unified: str, kind: str, file_ends: str, patch_ends: str
) -> None:
    patch = BLOCKS if kind == "blocks" else unified
    patch = crlf(patch) if patch_ends == "CRLF" else patch
    before, after = (crlf(text) if file_ends == "CRLF" else text for text in (BEFORE, AFTER))
    content, done = apply(tmp_path / "x", patch, before.encode())
    assert content == after.encode()
    # Carriage returns at every line of a patch are its own: what counts is the file.
    note = "block 1: line ends" if kind == "blocks" else "line ends"
    forgiven = (note,) if file_ends == "CRLF" else ()
    assert done.files[0].forgiven == forgiven


def test_a_diff_of_a_crlf_file_as_git_writes_it(tmp_path: Path) -> None:
    patch = diff(tmp_path / "git", crlf(BEFORE).encode(), crlf(AFTER).encode())
    content, done = apply(tmp_path / "x", patch, crlf(BEFORE).encode())
    assert (content, done.files[0].forgiven) == (crlf(AFTER).encode(), ())
    content, done = apply(tmp_path / "x", patch, BEFORE.encode())
    assert (content, done.files[0].forgiven) == (AFTER.encode(), ("line ends",))


def test_lines_that_stay_keep_their_ends_in_a_file_of_several(tmp_path: Path) -> None:
    patch = format_edits("a.txt", [Edit("one\ntwo\nthree\n", "one\n2\nthree\n")])
    content, _ = apply(tmp_path / "x", patch, b"one\r\ntwo\r\nthree\nfour\n")
    assert content == b"one\r\n2\r\nthree\nfour\n"


def test_a_patch_that_changes_line_ends_does_that(tmp_path: Path) -> None:
    patch = format_edits("a.txt", [Edit("two\r\n", "two\n")])
    assert apply(tmp_path / "x", patch, b"one\r\ntwo\r\n")[0] == b"one\r\ntwo\n"


def test_white_space_is_forgiven_where_that_is_asked_for(tmp_path: Path, unified: str) -> None:
    before = BEFORE.replace("two\n", "two  \n").replace("three", "three\t").encode()
    spaces = "white space at the ends of lines"
    ends = f"block 1: {spaces}"
    for patch, problem, note in ((BLOCKS, "two", ends), (unified, "a.txt:1", spaces)):
        with pytest.raises(NoMatchError, match=problem):
            apply(tmp_path / "x", patch, before)
        content, done = apply(tmp_path / "x", patch, before, lenient=True)
        assert content == AFTER.replace("three", "three\t").encode()
        assert done.files[0].forgiven == (note,)


def test_the_program_says_what_it_forgave(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\r\ntwo \r\n")
    (tmp_path / "patch").write_text(BLOCKS)
    command = ["apply-edit", str(tmp_path / "patch"), "--root", str(tmp_path)]
    refused = invoke(*command)
    assert refused.exit_code == 1
    assert "Block 1 of 1 does not match" in refused.output
    done = invoke(*command, "--lenient")
    assert done.exit_code == 0
    assert "block 1: white space at the ends of lines" in done.output
    assert (tmp_path / "a.txt").read_bytes() == b"one\r\n2\r\n2b\r\n"


def test_a_diff_without_the_lines_of_git(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(BEFORE)
    patch = (
        "--- a.txt\t2024-01-01 10:00\n+++ a.txt\t2024-01-02 10:00\n"
        "@@ -1,3 +1,4 @@\n one\n-two\n+2\n+2b\n three\n"
        "--- /dev/null\n+++ c/new.txt\n@@ -0,0 +1 @@\n+new\n"
    )
    apply_patch_files(patch, tmp_path, write=True)
    assert (tmp_path / "a.txt").read_text() == AFTER
    assert (tmp_path / "c" / "new.txt").read_text() == "new\n"


@pytest.mark.parametrize(
    ("patch", "error", "problem"),
    [
        ("--- a.txt\n+++ a.txt\n@@ -2 +2 @@\n-too\n+2\n", NoMatchError, "patch failed: a.txt:2"),
        ("--- a.txt\n+++ a.txt\n@@ -2 +2 @@\n-two\n+2\n", NoMatchError, "patch failed: a.txt:2"),
        (
            "--- a.txt\n+++ a.txt\n@@ -2,3 +2,3 @@\n-two\n",
            MalformedError,
            "corrupt patch at line 5",
        ),
        ("--- no.txt\n+++ no.txt\n@@ -1 +1 @@\n-two\n+2\n", FileError, "no.txt: No such file"),
        ("--- /dev/null\n+++ a.txt\n@@ -0,0 +1 @@\n+2\n", FileError, "a.txt: already exists"),
        ("--- x/../../a\n+++ x/../../a\n@@ -1 +1 @@\n-two\n+2\n", FileError, "leads out of"),
        (
            "diff --git a/a.txt b/a.txt\nindex 1234567..89abcde 100644\n"
            "Binary files a/a.txt and b/a.txt differ\n",
            NoMatchError,
            "without full index line",
        ),
        ("Nothing at all", FileError, "no block"),
    ],
)
def test_diffs_that_do_not_apply(
    tmp_path: Path, patch: str, error: type[EditError], problem: str
) -> None:
    (tmp_path / "a.txt").write_text(BEFORE)
    with pytest.raises(error, match=problem):
        apply_patch_files(patch, tmp_path, write=True)
    assert (tmp_path / "a.txt").read_text() == BEFORE


TEXTS = st.lists(st.sampled_from(["a", "b", "- x", "+ y", " c", "\\ z", "@@ -1 +1 @@"]), max_size=8)


@examples(25)
@given(TEXTS, TEXTS, st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_what_git_writes_applies(
    tmp_path_factory: pytest.TempPathFactory, old: list[str], new: list[str], end: str, last: bool
) -> None:
    root = tmp_path_factory.mktemp("diff")
    before, after = (
        (end.join(lines) + (end if last and lines else "")).encode() for lines in (old, new)
    )
    patch = diff(root / "git", before, after)
    if patch:
        assert apply(root / "x", patch, before)[0] == after

"""Edits as text: what is written is read back, and what models write is read."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from goldpan.code.edits.apply import Edit, FileEdits, MalformedError
from goldpan.code.edits.parse import format_edits, parse_edits
from goldpan.code.paths import quote_path, unquote_path
from tests.drawing import examples

BLOCK = "<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n"
EDIT = Edit("old\n", "new\n")

PIECES = st.sampled_from(
    [
        *("<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE", ">>>>>>> DELETE", "<<<<<<<SEARCH"),
        *("<<<<<<<< SEARCH", "========", ">>>>>>>> REPLACE", "=========", "=======  ", "======"),
        *("\\ No newline at end of file", "\\\\ No newline at end of file", "\\"),
        *("a", " ", "\n", "\n", "\r", "\r\n", "\t", "```", "b.py", "\u2028", "\ufeff", "\0"),
    ]
)
CONTENT = st.lists(PIECES, max_size=8).map("".join) | st.text(max_size=20)
EDITS = st.lists(st.builds(Edit, CONTENT, CONTENT), min_size=1, max_size=3)
NAMES = st.sampled_from(
    [
        *("a.py", "src/a.py", "Makefile", "with space.py", " lead.py", "trail.py ", "a b/c d"),
        *("# a.py", "`a.py`", "**a.py**", "File: a.py", "a.py:", "- a.py", "1. a.py", "a/b."),
        *("```python", "```a.py", "=======", ">>>>>>>REPLACE", '"a"', 'a"b', "a\\b", "\\101"),
        *("a\nb", "a\rb", "\ta", "\x1b[31m", "\u202ea", "\udcff.py", "\udcc3\udcff", "é.py"),
        *("", ".", "…", "a\u2028b", "\x85", "\xa0a", "x`y`", "<a>", "'a'", "a,", "a`b/c`"),
    ]
)
PATHS = NAMES | st.text(max_size=12)


@examples(400)
@given(PATHS | st.none(), EDITS)
@example("p", [Edit("", "")])
@example("p", [Edit("\r", "\r\n")])
@example("p", [Edit("=======", "\\ No newline at end of file")])
@example("p", [Edit("a\n\\ No newline at end of file\n", "")])
def test_what_is_written_is_read_back(path: str | None, edits: list[Edit]) -> None:
    assert parse_edits(format_edits(path, edits)) == (FileEdits(path, tuple(edits)),)


@given(st.lists(st.tuples(PATHS, EDITS), max_size=4, unique_by=lambda file: file[0]))
def test_several_files_in_one_text(files: list[tuple[str, list[Edit]]]) -> None:
    text = "\n".join(format_edits(path, edits) for path, edits in files)
    assert parse_edits(text) == tuple(FileEdits(path, tuple(edits)) for path, edits in files)


@given(PATHS, CONTENT)
def test_a_removed_file(path: str, content: str) -> None:
    text = format_edits(path, [Edit(content, "")], removes=True)
    assert parse_edits(text) == (FileEdits(path, (Edit(content, ""),), removes=True),)


@given(NAMES | st.binary(max_size=12).map(lambda raw: raw.decode("utf-8", "surrogateescape")))
def test_quoted_paths(path: str) -> None:
    for always in (False, True):
        quoted = quote_path(path, always=always)
        assert unquote_path(quoted) == path
        assert quoted.isprintable() or "\xa0" in path or not path.isprintable()
        assert "\n" not in quoted
    quote_path(path).encode()


@pytest.mark.parametrize(
    ("path", "quoted"),
    [
        ("é.py", "é.py"),
        ("a\nb", '"a\\nb"'),
        ("\x1b", '"\\033"'),
        ('"', '"\\""'),
        ("\u202e", '"\\342\\200\\256"'),
    ],
)
def test_paths_are_quoted_as_git_quotes(path: str, quoted: str) -> None:
    assert quote_path(path) == quoted


def test_the_text() -> None:
    edits = [EDIT, Edit("last", "last\n")]
    assert format_edits("src/a.py", edits) == (
        "src/a.py\n"
        "<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n"
        "<<<<<<< SEARCH\nlast\n\\ No newline at end of file\n=======\nlast\n>>>>>>> REPLACE\n"
    )
    assert format_edits("Makefile", [EDIT]).startswith("Makefile\n<")
    assert format_edits("a b.py", [EDIT]).startswith('"a b.py"\n<')
    assert format_edits("a.py", []) == ""


def test_longer_markers_around_what_looks_like_them() -> None:
    assert format_edits(None, [Edit("Title\n=======\n", "x")]) == (
        "<<<<<<<< SEARCH\nTitle\n=======\n========\n"
        "x\n\\\\ No newline at end of file\n>>>>>>>> REPLACE\n"
    )


MAKEFILE = (
    *("Makefile\n", "Makefile\n```make\n", "File: Makefile\n"),
    "<path>Makefile</path>\n<diff>\n",
)
"""Any word right above a block or its fence, or called a path."""
NO_PATH = (
    "",
    "Here is the change:\n",
    "**Explanation**:\n",
    "File: the second one\n",
    "```python\n",
    "Done\n\n",
    "## Changes\n",
    "...\n",
)
ABOVE = [
    *("src/a.py\n", "src/a.py\n```python\n", "```python\nsrc/a.py\n"),
    *("```python\n### src/a.py\n", "```python\n# src/a.py\n", "```python src/a.py\n"),
    *("```python:src/a.py\n", '```python title="src/a.py"\n', "`src/a.py`\n\n```\n"),
    *("**src/a.py**\n~~~\n", "**`src/a.py`:**\n", "### `src/a.py`\n\n```python\n"),
    *("File: src/a.py\n", "**File:** `src/a.py`\n", "1. src/a.py:\n"),
    "src/a.py\n\nThe loop never ends.\nSo it has to go:\n\n```python\n",
    "In `src/a.py`, the loop has to go:\n",
    "1. **src/a.py** (modified)\n",
    '"src/a.py"\n',
    *("<!-- src/a.py -->\n", "src\\a.py\n", "**src\\a.py**\n"),
    "Sure! Here it is.\n\n---\n\nsrc/a.py\n",
    *("<path>src/a.py</path>\n<diff>\n", '<file path="src/a.py">\n', "src/a.py:12\n"),
    "<file>\n<path>src/a.py</path>\n<diff>\n<content><![CDATA[\n",
]


@pytest.mark.parametrize(
    ("above", "path"),
    [
        *((above, "src/a.py") for above in ABOVE),
        *((above, "Makefile") for above in MAKEFILE),
        ("Updated `a.py`\n\n", "a.py"),
        *((above, None) for above in (*NO_PATH, "`x.attr`, say\n")),
    ],
)
def test_paths_as_models_write_them(above: str, path: str | None) -> None:
    assert parse_edits(f"{above}{BLOCK}```\n\nThat is all.") == (FileEdits(path, (EDIT,)),)


def test_several_files_and_prose() -> None:
    text = (
        f"First:\n\na.py\n```python\n{BLOCK}```\n\nand then\n```python\n{BLOCK}```\n"
        f"Now the other file.\n\nb.py\n```python\n{BLOCK}```\n\na.py\n```\n{BLOCK}```\nDone."
    )
    assert parse_edits(text) == (FileEdits("a.py", (EDIT, EDIT, EDIT)), FileEdits("b.py", (EDIT,)))


TWO = format_edits("a.py", [EDIT, Edit("x", "")])


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("<<<<<<<SEARCH  \nold\n======= \t\nnew\n>>>>>>>REPLACE   ", [FileEdits(None, (EDIT,))]),
        ("<<<<<<< search:\nold\n=======\nnew\n>>>>>>> Replace:\n", [FileEdits(None, (EDIT,))]),
        (TWO.replace("\n", "\r\n"), [FileEdits("a.py", (EDIT, Edit("x", "")))]),
        ("<<<<<< SEARCH\nold\n======\nnew\n>>>>>> REPLACE\n", [FileEdits(None, (EDIT,))]),
        ("------- SEARCH\nold\n=======\nnew\n+++++++ REPLACE\n", [FileEdits(None, (EDIT,))]),
        ("<<<<<<< ORIGINAL\nold\n=======\nnew\n>>>>>>> UPDATED\n", [FileEdits(None, (EDIT,))]),
        *(
            (
                f"<<<<<<< SEARCH{behind}\nold\n=======\nnew\n>>>>>>> REPLACE{end}\n",
                [FileEdits("src/a.py", (EDIT,))],
            )
            for behind in (" src/a.py", ": src\\a.py", "> `src/a.py`")
            for end in ("", " src/a.py", "```")
        ),
        *(
            (
                f"<<<<<<< SEARCH\n:start_line:{header}old\n=======\nnew\n>>>>>>> REPLACE\n",
                [FileEdits(None, (Edit("old\n", "new\n", 7),))],
            )
            for header in ("7\n", " 7 \n-------\n", "7\n:end_line:9\n-------\n", "7\r\n-------\r\n")
        ),
        (
            "<<<<<<< SEARCH\n:start_line:1\n-------\n\\=======\n=======\n\\<<<<<<< a\n\\b\n"
            ">>>>>>> REPLACE",
            [FileEdits(None, (Edit("=======\n", "<<<<<<< a\n\\b\n", 1),))],
        ),
        ("", []),
        ("Title\n=======\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> main\n", []),
    ],
    ids=[
        "white-space-or-none",
        "small-letters",
        "crlf",
        "short",
        "cline",
        "gptme",
        *(f"behind-{number}" for number in range(9)),
        *(f"roo-{number}" for number in range(4)),
        "escaped",
        "nothing",
        "git-conflict",
    ],
)
def test_markers_as_others_write_them(text: str, files: list[FileEdits]) -> None:
    assert parse_edits(text) == tuple(files)


OPEN, MIDDLE, END = "<<<<<<< SEARCH\n", "=======\n", ">>>>>>> REPLACE\n"
DELETE = ">>>>>>> DELETE\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"a\n{OPEN}old\n", "Line 2 .*lacks its line of 7 '='"),
        (f"{OPEN}old\n{MIDDLE}new\n", "Line 1 .*lacks its line of 7 '>'"),
        (f"{OPEN}old\n={MIDDLE}new\n{END}", "Line 5 .*>>>>>>> REPLACE stands inside"),
        (f"{OPEN}a\n{MIDDLE}b\n{MIDDLE}c\n{END}", "Line 5 .*======= stands inside"),
        (f"{OPEN}old\n{MIDDLE}new\n\n{BLOCK}", "Line 6 .*stands inside the block of line 1"),
        (f"a\n{OPEN[1:]}old\n{MIDDLE}new\n{END}", "Line 2 .*lacks its line of 6"),
        (f"a\n{OPEN[3:]}old\n{MIDDLE}new\n{END}", "Line 6 .*ends no block"),
        (f"a\n{OPEN}x\n{MIDDLE}y\n{DELETE}", "Line 6 .*DELETE takes one block"),
        (f"{OPEN}x\n{MIDDLE}:start_line:7\n{END}", "Line 4 .*:start_line:7 stands inside"),
        (f"{BLOCK}{OPEN}x\n{MIDDLE}{DELETE}", "Line 9 .*DELETE takes one block"),
        (f"{OPEN}x\n{MIDDLE}{DELETE}{BLOCK}", "Line 9 .*DELETE takes one block"),
    ],
)
def test_malformed_text_names_the_line(text: str, problem: str) -> None:
    with pytest.raises(MalformedError, match=f"{problem}.*Write a block as"):
        parse_edits(text)


def test_only_one_whole_edit_removes_a_file() -> None:
    for edits in ([], [Edit("a", "b")], [Edit("a", ""), Edit("b", "")]):
        with pytest.raises(MalformedError):
            format_edits("a.py", edits, removes=True)


@given(st.lists(PIECES, max_size=30).map("".join))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        parse_edits(text)
    except MalformedError as error:
        assert str(error).startswith("Line ")


@pytest.mark.parametrize(
    "piece",
    ["<", "=", ">", "\\", "*", "`", "#", "a/", '"', "\\1", "**`", "- ", "\n", " ", "<<<<<<<"],
)
def test_hostile_texts_take_linear_time(piece: str) -> None:
    start = time.process_time()
    long = piece * (100_000 // len(piece))
    parse_edits(f"{long}\n{BLOCK}")
    parse_edits(f'"{long}"\n{BLOCK}' * 2)
    content = f"{piece * 99}\n" * 1_000
    assert parse_edits(format_edits(long, [Edit(content, long)]))[0].path == long
    assert time.process_time() - start < 3

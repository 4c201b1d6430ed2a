"""What the report is made of: visible text, diffs side by side, trees, numbers, plots."""

from __future__ import annotations

import re
import subprocess
import sys
import time
import unicodedata
from difflib import unified_diff
from pathlib import Path
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldpan.code.patch import DiffLine, side_by_side
from goldpan.core.errors import UsageError, WorkspaceError
from goldpan.core.sanitize import line, visible
from goldpan.core.schemas.stages import VERDICTS
from goldpan.core.storage.parquet import connect
from goldpan.datasets.examples import FAMILIES
from goldpan.filters.funnel import Funnel, FunnelRow
from goldpan.report.distributions import percent, share, short
from goldpan.report.examples import draw_examples
from goldpan.report.plots import plot_funnel
from goldpan.text.markdown import excerpt

FUNNEL = Funnel(
    "issue",
    100,
    40,
    (
        FunnelRow("length", True, 30, 0, 10, 70, {"too-short": 30}),
        FunnelRow("$x^2 <b>", True, 50, 1, 5, 40, {"alone": 50}),
        FunnelRow("tone", False, 3, 0, 0, None, {"rude": 3}),
    ),
)
EMPTY = Funnel("pair", 0, 0, ())


@given(st.text(st.characters(codec=None)))
def test_nothing_unseen_is_left(text: str) -> None:
    seen = visible(text)
    assert visible(seen) == seen
    unseen = ("Cc", "Cs", "Zl", "Zp")
    assert {char for char in seen if unicodedata.category(char) in unseen} <= {"\n", "\t"}
    assert not any(unicodedata.bidirectional(char) in ("RLO", "LRO", "RLE", "LRI") for char in seen)
    if not any(unicodedata.category(char)[0] in "CMZ" for char in text):
        blank = "[\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0]"
        assert seen == re.sub(blank, lambda match: visible(match[0]), text)


def test_a_line_is_one_and_short() -> None:
    assert line(" a\n\n b\tc ") == "a b c"
    assert line("x" * 300) == "x" * 199 + "…"
    assert line("x" * 200) == "x" * 200
    assert len(line("a " + " " * 10**6 + "b")) <= 200


WORDS = st.text(st.sampled_from("ab \n`~#"), max_size=200)


@given(WORDS, st.integers(1, 80))
def test_an_excerpt_loses_no_words(text: str, room: int) -> None:
    cut = excerpt(text, room, 1000)
    assert cut.left_out == 0
    joined = "".join(block.info + block.text for block in (*cut.shown, *cut.more))
    lost = re.sub(r"(?m)^ {0,3}(`{3,}|~{3,})", "", text)
    for letter in "ab#":
        assert joined.count(letter) == lost.count(letter)


def test_an_excerpt_is_cut_at_a_line_and_says_what_it_leaves_out() -> None:
    text = "".join(f"line {n}\n" for n in range(1000))
    cut = excerpt(text, 100, 500)
    assert cut.shown[0].text.endswith("line 12")
    assert cut.more[0].text.startswith("line 13\n")
    assert cut.left_out == len(text) - 500
    hostile = excerpt("\u202e" * 1000, 100, 500)
    assert hostile.left_out == 500 + 500 * len("⟨U+202E⟩") - 1000


def test_fences_make_blocks() -> None:
    cut = excerpt("Look:\r\n```c\r\nint x;\r\n```\r\nSo.\n~~~\nopen")
    blocks = [(block.text, block.code, block.info) for block in cut.shown]
    assert blocks[:2] == [("Look:", False, ""), ("int x;", True, "c")]
    assert blocks[2:] == [("So.", False, ""), ("open", True, "")]
    assert [block.code for block in excerpt("`` a ``\n```x``` b").shown] == [False]


LINES = st.lists(
    st.sampled_from(["", "a = f(1, 2)", "a = f(1, 3)", "return", "  b", "-- x", "++ y", "@@ z"]),
    max_size=14,
)


def text_of(line: DiffLine) -> str:
    return "".join(piece.text for piece in line.pieces)


def unchanged(line: DiffLine) -> str:
    return "".join(piece.text for piece in line.pieces if not piece.changed)


@given(LINES, LINES, st.integers(0, 3))
def test_a_diff_side_by_side_tells_both_versions(
    before: list[str], after: list[str], context: int
) -> None:
    diff = "\n".join(unified_diff(before, after, "a/f", "b/f", lineterm="", n=context))
    sides = side_by_side(diff)
    for lines, drawn in (
        (before, [row.left for row in sides.rows if row.left]),
        (after, [row.right for row in sides.rows if row.right]),
    ):
        numbers = [shown.number for shown in drawn]
        assert numbers == sorted(set(numbers))
        assert [text_of(shown) for shown in drawn] == [lines[number - 1] for number in numbers]
    body = diff.split("\n")[2:]
    assert sides.deleted == sum(text.startswith("-") for text in body)
    assert sides.inserted == sum(text.startswith("+") for text in body)
    changed = [row for row in sides.rows if row.kind == "changed"]
    assert len([row for row in changed if row.left]) == sides.deleted
    assert len([row for row in changed if row.right]) == sides.inserted
    for row in changed:
        if row.left and row.right and any(piece.changed for piece in row.left.pieces):
            assert unchanged(row.left) == unchanged(row.right)


def test_versions_of_a_line_stand_side_by_side_with_their_differences() -> None:
    diff = "@@ -1,2 +1,3 @@\n-x = foo(1, 2)\n-y = 1\n+x = foo(1, 3)\n+import os\n+pass\n"
    rows = side_by_side(diff).rows
    numbers = [(row.left and row.left.number, row.right and row.right.number) for row in rows]
    assert numbers == [(1, 1), (2, 2), (None, 3)]
    lines = [line for row in rows for line in (row.left, row.right) if line]
    assert [p.text for line in lines for p in line.pieces if p.changed] == ["2", "3"]


def test_line_ends_are_told() -> None:
    crlf = side_by_side("@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\r\n")
    assert text_of(crlf.rows[0].left or DiffLine(0, ())) == "a"
    mixed = side_by_side("@@ -1,2 +1,2 @@\n a\n-b\r\n+c\n")
    assert text_of(mixed.rows[1].left or DiffLine(0, ())) == "b⟨U+000D⟩"
    last = side_by_side("@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n").rows[0]
    assert last.left and last.right
    assert (last.left.ends, last.right.ends) == (False, True)


@pytest.mark.parametrize(
    "diff", ["", "no diff", "@@ -1 +1 @@", "@@ -9,99 +1,99 @@\nx", "@@ -0,0 +1 @@\n+a", "\0" * 99]
)
def test_what_is_no_diff_does_no_harm(diff: str) -> None:
    assert len(side_by_side(diff).rows) <= 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a b " * 40, "b a " * 40),
        ("x" * 300, "y" * 300),
        ("(" * 400, ")" * 400),
        ("same", "same!"),
        ("a" * 200_000, "a " * 100_000),
    ],
)
def test_hostile_diffs_take_little_time(old: str, new: str) -> None:
    count = max(1, 1_000_000 // len(old))
    diff = f"@@ -1,{count} +1,{count} @@\n" + f"-{old}\n" * count + f"+{new}\n" * count
    start = time.process_time()
    sides = side_by_side(diff)
    assert time.process_time() - start < 10
    assert len(sides.rows) <= 160
    assert (sides.deleted, sides.inserted) == (count, count)
    assert len(sides.rows) + sides.left_out // 2 == count
    assert all(len(text_of(row.left)) <= 400 for row in sides.rows if row.left)


def test_a_patch_that_is_no_git_diff_is_shown_as_it_is(tmp_path: Path) -> None:
    schema = FAMILIES["issue-resolution"].schema
    row = {"id": "x:1", "repo": "o/n", "issue": 1, "patch": "<<< a", "test_patch": ""}
    rows = pa.Table.from_pylist([{**dict.fromkeys(schema.names), **row}], schema=schema)
    (tmp_path / "data").mkdir()
    pq.write_table(rows, tmp_path / "data" / "test-00000-of-00001.parquet")
    with connect() as connection:
        connection.register("verdicts", VERDICTS.schema.empty_table())
        drawn = draw_examples(connection, tmp_path, 0, 1, UsageError("It was not audited", "Do"))
    (example,) = drawn.examples
    assert (example["edit"]["path"], "<<< a" in str(example["edit"]["patch"])) == ("", True)


def test_numbers_for_people() -> None:
    shortened = [short(n) for n in (0, 999, 1000, 1200, 9_960, 34_400, 999_600, 5_600_000)]
    assert shortened == ["0", "999", "1k", "1.2k", "10k", "34k", "1.0M", "5.6M"]
    percents = [percent(*pair) for pair in ((0, 3), (1, 3), (3, 3), (1, 10**6), (0, 0))]
    assert percents == ["0%", "33.3%", "100%", "0.0%", "–"]
    shares = [share(*pair) for pair in ((0, 9), (9, 9), (1, 4), (1, 10**6))]
    assert shares == ["0", "100", "25", "1"]


@pytest.mark.parametrize("kind", ["svg", "PNG", "html"])
def test_plots_are_the_same_each_time(tmp_path: Path, kind: str) -> None:
    (tmp_path / "a").mkdir()
    paths = [tmp_path / "a" / f"one.{kind}", tmp_path / f"two.{kind}"]
    for path in paths:
        plot_funnel([FUNNEL, EMPTY], path)
    first, second = (path.read_bytes() for path in paths)
    assert first == second
    assert len(first) > 2000
    assert first.startswith(b"\x89PNG") == (kind == "PNG")


def test_an_svg_holds_its_text(tmp_path: Path) -> None:
    path = tmp_path / "funnel.svg"
    plot_funnel([FUNNEL], path)
    texts = [node.text for node in ElementTree.parse(path).iter() if node.tag.endswith("}text")]
    assert {"mined", "length", "$x^2 <b>", "100", "70", "40", "−30"} <= set(texts)
    assert "tone" not in texts
    assert b"<dc:date>" not in path.read_bytes()


def test_a_plot_that_cannot_be_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--output .*funnel\.pdf has no known format"):
        plot_funnel([FUNNEL], tmp_path / "funnel.pdf")
    (tmp_path / "file").write_text("")
    for kind in ("svg", "html"):
        nowhere = r"cannot be written: there is no folder .*file\. Create"
        with pytest.raises(UsageError, match=nowhere):
            plot_funnel([FUNNEL], tmp_path / "file" / f"funnel.{kind}")
        with pytest.raises(WorkspaceError, match="files cannot be created in /proc"):
            plot_funnel([FUNNEL], Path("/proc") / f"funnel.{kind}")


def test_matplotlib_is_loaded_only_to_draw() -> None:
    code = (
        "import goldpan.report.plots, goldpan.report.page, sys; "
        "assert not [name for name in sys.modules if name.startswith('matplotlib')]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)

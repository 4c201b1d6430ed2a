"""Folder trees: pruned as the paper says, drawn as `tree` draws."""

from __future__ import annotations

import random
import re
import time
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from goldpan.builders.fault_localization import draw_tree, prune
from goldpan.code.paths import unquote_path
from tests.drawing import examples

CODE = frozenset({".py", ".c", ".ts"})
PATHS = ("setup.py", "docs/conf.py", "src/core/a.c", "src/core/b.c", "src/main.c")
DRAWN = """\
.
├── docs
│   └── conf.py
├── setup.py
└── src
    ├── core
    │   ├── a.c
    │   └── b.c
    └── main.c

3 directories, 5 files
"""


def read_back(drawn: str) -> list[str]:
    """Return the paths of a drawing's files; a name with nothing below it is one."""
    lines = (re.fullmatch(r"((?:[│ ] {3})*+)[├└]── (.+)", line) for line in drawn.split("\n")[1:-3])
    entries = [(len(line[1]) // 4, unquote_path(line[2])) for line in lines if line]
    paths: list[str] = []
    above: list[str] = []
    for (depth, name), (following, _) in pairwise([*entries, (0, "")]):
        above[depth:] = [name]
        if following <= depth:
            paths.append("/".join(above))
    return paths


def test_drawing() -> None:
    assert draw_tree(PATHS) == draw_tree(reversed(PATHS)) == (DRAWN, 3)
    assert tuple(read_back(DRAWN)) == prune(PATHS, CODE)


def test_counts_in_the_singular() -> None:
    assert draw_tree(["a/b"]) == (".\n└── a\n    └── b\n\n1 directory, 1 file\n", 1)
    assert draw_tree([]) == (".\n\n0 directories, 0 files\n", 0)


def test_prune_keeps_code_that_is_not_hidden() -> None:
    code = ("A.PY", "a/b.c", "a-b/c.c", "tests/x.d.ts", "with space/…/x.py")
    left_out = (
        *("README.md", "Makefile", "py", ".py", ".hidden.py", ".github/a.py", "a/.b/c.py"),
        *("a/.c.py", "x.py/readme", "x.pyc", "x.py.", "a/" * 2_500 + "deep.py", "empty/.gitkeep"),
    )
    pruned = prune([*left_out, *code, *code], CODE)
    assert sorted(pruned) == sorted(code)
    assert list(pruned) == read_back(draw_tree(pruned)[0])
    assert prune(reversed(code), CODE) == pruned


def test_names_that_would_break_a_line_are_quoted() -> None:
    paths = ("a\nb.py", '"q".py', "back\\slash.py", "\x1b[2J.py", "\u2028.py", "\udcff.py")
    drawn, _ = draw_tree(paths)
    assert '── "a\\nb.py"\n' in drawn
    assert "\x1b" not in drawn
    assert len(drawn.splitlines()) == len(paths) + 3
    assert sorted(read_back(drawn)) == sorted(paths)
    drawn.encode()


NAMES = st.sampled_from(
    [
        *("a", "b", "├── a", "│   a", "    a", "└──", " ", "a "),
        *("\xa0", "│", '"', '"a"', "\\n", "\n", "é"),
    ]
) | st.text(
    st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=5
)
FILES = st.lists(st.lists(NAMES, min_size=1, max_size=5).map("/".join), max_size=12)


@examples(500)
@given(FILES)
def test_a_drawing_is_read_back(paths: list[str]) -> None:
    files = {path for path in paths if not any(other.startswith(f"{path}/") for other in paths)}
    drawn, directories = draw_tree(files)
    assert read_back(drawn) == sorted(files, key=lambda path: path.split("/"))
    assert f"\n\n{directories} director" in drawn
    assert directories == len(
        {path[:at] for path in files for at, sign in enumerate(path) if sign == "/"}
    )


def test_100_000_paths_take_seconds_at_most() -> None:
    dice = random.Random(3)
    paths = [
        "/".join(f"folder{dice.randrange(12)}" for _ in range(dice.randint(0, 6)))
        + f"/f{number}.py"
        for number in range(100_000)
    ]
    paths = [path.lstrip("/") for path in paths]
    start = time.process_time()
    pruned = prune(paths, CODE)
    drawn, directories = draw_tree(pruned)
    assert time.process_time() - start < 10
    assert drawn.endswith(f"\n{directories} directories, 100000 files\n")


def test_a_deep_path_takes_no_recursion() -> None:
    path = "/".join("a" * 2_000)
    assert read_back(draw_tree([path])[0]) == [path]


@given(FILES)
def test_pruning_twice_is_pruning_once(paths: list[str]) -> None:
    coded = [f"{path}.py" for path in paths]
    once = prune(coded, CODE)
    assert prune(once, CODE) == once
    assert all(not name.startswith(".") for path in once for name in path.split("/"))

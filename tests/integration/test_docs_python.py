"""Python on a page does what the commands beside it do, on the same workspace."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

import goldpan
from goldpan import Workspace
from goldpan.commands.program import commands
from goldpan.core.errors import UsageError
from goldpan.workspace.options import options_of
from tests import program
from tests.demo_workspace import make_demo, offline
from tests.page_walks import HERE, HISTORIES, LAB
from tests.pages import PAGES, blocks, run_python
from tests.twin import Twin
from tests.twin.synthetic import demo_world

PLACES = {**HERE, "s3://lab-bucket/faun": LAB}
"""What stands here for what pages name."""
FEW = 9
"""Rows of a small dataset."""
SHARES = "random:0.8,0.1,0.1"
METHODS = {
    name: command.method for name, command in commands(Workspace()).items() if command.method
}
TIMED = re.compile(r"(.*/)?(raw|tmp|cache|locks)/|.*\.(json|py)$")
"""Files that are no result, or that tell when something was done."""


def words_of(text: str) -> Iterator[list[str]]:
    """Yield the commands that a program calls as methods of `lab`, in its order."""
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    for node in sorted(calls, key=lambda call: call.lineno):
        root, *path = ast.unparse(node.func).split(".")
        if root != "lab":
            continue
        given = [ast.literal_eval(value) for value in node.args]
        if path == ["build"]:
            path.append(given.pop(0))
        name = " ".join(path).replace("_", "-")
        if name in METHODS:
            named = {str(key.arg): ast.literal_eval(key.value) for key in node.keywords}
            yield [*name.split(), *_given(name, given), *_options(name, named)]


def _given(name: str, values: list[str]) -> list[str]:
    takes_repos = any(option.name == "repos" for option in options_of(METHODS[name]))
    return [f"--repo={value}" for value in values] if takes_repos else values


def _options(name: str, named: dict[str, object]) -> Iterator[str]:
    words = {option.name: option.word for option in options_of(METHODS[name])}
    for key, value in named.items():
        for one in value if isinstance(value, list) else [value]:
            yield f"--{words[key]}={one}"


PYTHON = {
    name: [block.text for block in blocks(name, PLACES) if block.language == "python"]
    for name in PAGES
}
CALLING = [name for name, texts in PYTHON.items() if any(map(list, map(words_of, texts)))]


def files_of(folder: Path) -> dict[str, bytes]:
    """Return the results that lie in a folder, by name."""
    paths = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*.*")}
    return {
        name: path.read_bytes()
        for name, path in paths.items()
        if path.is_file() and not TIMED.match(name)
    }


def test_pages_call_methods() -> None:
    assert {"README.md", "docs/python.md", "docs/workspaces.md"} <= set(CALLING)


def test_the_readme_calls_the_commands_that_stand_above() -> None:
    (typed,) = (
        block.commands for block in blocks("README.md", PLACES) if "goldpan pair" in block.commands
    )
    called = [f"goldpan {shlex.join(words)}" for words in words_of(PYTHON["README.md"][0])]
    same = [command.replace("=", " ") for command in called]
    assert same == [command for command in typed if command.startswith("goldpan")]


@pytest.mark.parametrize(
    ("name", "rows"), [*((name, None) for name in CALLING), ("README.md", FEW)]
)
def test_python_makes_what_its_commands_make(name: str, rows: int | None, tmp_path: Path) -> None:
    texts = [
        text.replace("lab.clone()", f"lab.clone(source={str(HISTORIES)!r})").replace(
            '"qa"', f'"qa", limit={rows}' if rows else '"qa"'
        )
        for text in PYTHON[name]
    ]
    lab = "demo-workspace" if "demo-workspace" in texts[0] else LAB
    for side in ("typed", "called"):
        make_demo(tmp_path / side / lab)
    with Twin(demo_world()) as twin:
        ours = offline(GITHUB_TOKEN="token-of-a-test", GOLDPAN_API_URL=twin.url)
        for words in (words for text in texts for words in words_of(text)):
            done = program.goldpan(
                *words, "--workspace", lab, folder=tmp_path / "typed", environment=ours
            )
            assert "Traceback" not in done.err, words
            assert done.code in (0, 3) or done.err.rstrip(), words
        page = [block for block in blocks(name) if block.language == "python"]
        run_python(
            [block._replace(text=text) for block, text in zip(page, texts, strict=True)],
            tmp_path / "called",
            **ours,
        )
    typed, called = files_of(tmp_path / "typed"), files_of(tmp_path / "called")
    assert {name for name in {**typed, **called} if typed.get(name) != called.get(name)} == set()


def test_a_split_without_rows_names_the_one_that_has_some(tmp_path: Path) -> None:
    lab = goldpan.Workspace(make_demo(tmp_path / "lab"))
    data = lab.build("qa", limit=FEW, split=SHARES)
    said = "--split stratified:0.8,0.1,0.1 deals few rows evenly"
    assert said in str(data)
    with pytest.raises(UsageError, match=f"no split 'test'.*{said}"):
        data.to_pandas("test")
    dealt = lab.build("qa", limit=FEW, split=SHARES.replace("random", "stratified"))
    assert set(dealt.splits) == {"train", "validation", "test"}

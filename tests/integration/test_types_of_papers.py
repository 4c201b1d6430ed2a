"""Type checkers know the parameters of the methods that papers add."""

from __future__ import annotations

import re
from pathlib import Path

from mypy import api

from docs.generate.papers import ADDED, CONTENTS, added, contents
from tests.places import ROOT

SNIPPET = """
from goldpan import Workspace

lab = Workspace("lab")
reveal_type(lab.build.code_comments("a/b", language="python"))
lab.build.issue_type("a/b", source="mined", seed=1)
lab.build.crosscode(task="qa", split="Type-QA")
lab.build.issue_type(sed=1)
lab.build.issue_type(source="mind")
lab.build.crosscode.split("Type-QA", seed="x")
"""


def test_methods_of_papers_have_their_parameters(tmp_path: Path) -> None:
    file = tmp_path / "snippet.py"
    file.write_text(SNIPPET)
    # The cache is that of `make check`, as nothing else makes this quick.
    settings = ("--config-file", str(ROOT / "pyproject.toml"))
    cache = ("--cache-dir", str(ROOT / ".mypy_cache"))
    out, err, _ = api.run(["--strict", *settings, *cache, str(file)])
    said = [re.sub(r".*?snippet\.py:(\d+): ", r"\1 ", line) for line in out.splitlines()]
    assert said[0] == '5 note: Revealed type is "goldpan.operations.dataset.Dataset"', out + err
    assert [line.partition(":")[0] for line in said[1:-1]] == ["8 error", "9 error", "10 error"]
    assert 'did you mean "seed"?' in said[1]


def test_what_papers_bring_is_written_down() -> None:
    """`python -m docs.generate` writes both."""
    assert ADDED.read_text(encoding="utf-8") == added()
    assert CONTENTS.read_text(encoding="utf-8") == contents()

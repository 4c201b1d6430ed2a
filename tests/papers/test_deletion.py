"""Without a paper's folder everything else works, and what it brought is told by its name."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import pytest

import goldpan
from goldpan.commands.program import commands
from goldpan.core.plugins.loading import names_of, source_of
from goldpan.core.plugins.parts import Kind
from tests.demo_workspace import make_demo, offline

SOURCE = Path(goldpan.__file__).parent
PARTS: dict[str, dict[str, list[str]]] = {}
"""The names of the parts that each paper brings, by kind."""
for _kind in get_args(Kind):
    for _name in names_of(_kind, ships=True):
        _paper = source_of(_kind, _name)
        assert _paper is not None
        PARTS.setdefault(_paper.name, {}).setdefault(_kind, []).append(_name)
RECIPES = {name for kinds in PARTS.values() for name in kinds.get("recipe", ())}
PLAN = """
workspace = "lab"
[repositories]
listed = ["prospector/sluice"]
[mine]
enabled = false
[clone]
source = "sluice.bundle"
[review]
model = "demo-reviewer"
settings = { concurrency = 1 }
[[dataset]]
name = "qa"
family = "qa"
require = ["question-answer"]
[[dataset]]
name = "fault-localization"
family = "fault-localization"
[[dataset]]
name = "code-edit"
family = "code-edit"
[[dataset]]
name = "issue-resolution"
family = "issue-resolution"
profile = "verified"
[[evaluation]]
name = "answers"
dataset = ["qa"]
model = ["copy-ins-input", "copy-ex-output"]
[[comparison]]
name = "answers"
[[export]]
name = "samples"
dataset = "qa"
to = "inspect"
"""
PROGRAM = """
import contextlib, io, json, sys
from goldpan.cli import main
from goldpan.commands.program import commands
from goldpan import Workspace

def run(words):
    sys.argv, code = ["goldpan", *words], 0
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            code = end.code
    return code, out.getvalue(), err.getvalue()

asked = json.loads(sys.argv[1])
helped = [name for name in commands(Workspace()) if not run([*name.split(), "-h"])[0]]
print(json.dumps([helped, [run(words) for words in asked]]))
"""
"""Asks for all help, then runs commands one after the other."""


def ran(site: Path, *commands: Sequence[str], at: Path) -> tuple[set[str], list[list[Any]]]:
    """Return what has help, and how each command ends, with a copy of the package that is first."""
    environment = offline(PYTHONPATH=os.pathsep.join([str(site), str(SOURCE.parents[1])]))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(commands)],
        cwd=at,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    helped, ends = json.loads(done.stdout)
    return set(helped), ends


def without(folder: Path, papers: Sequence[str]) -> Path:
    """Return a folder with a copy of the package, bytecode and all, that lacks these papers."""
    shutil.copytree(SOURCE, folder / "goldpan")
    for paper in papers:
        shutil.rmtree(folder / "goldpan" / "papers" / paper)
    return folder


ASKED = {
    "recipe": ("reproduce",),
    "task": ("tasks", "show"),
    "protocol": ("evaluate", "run", "--task", "qa", "--model", "majority", "--protocol"),
    "profile": ("filter", "--workspace", "lab", "--profile"),
    "rules": ("pair", "--workspace", "lab", "--rules"),
    "builder": ("build",),
}
"""The command that takes the name of a part."""


@pytest.mark.parametrize("paper", PARTS)
def test_one_paper_less_takes_away_what_it_brought_alone(tmp_path: Path, paper: str) -> None:
    site = without(tmp_path / "site", [paper])
    make_demo(tmp_path / "at" / "lab")
    brought: Mapping[str, Sequence[str]] = PARTS[paper]
    asked = [(*words, brought[kind][0]) for kind, words in ASKED.items() if brought.get(kind)]
    helped, ends = ran(site, ("reproduce",), *asked, at=tmp_path / "at")
    assert helped == set(commands(goldpan.Workspace())) - set(brought.get("command", ()))
    names = {word for line in ends[0][1].splitlines() for word in line.split()[:1]}
    assert names & RECIPES == RECIPES - set(brought.get("recipe", ()))
    for (*_, name), (code, _, said) in zip(asked, ends[1:], strict=True):
        assert code == 2 and f" {name!r}" in " ".join(said.split()), said


def test_without_any_paper_the_main_job_runs(tmp_path: Path) -> None:
    site = without(tmp_path / "site", list(PARTS))
    lab = make_demo(tmp_path / "demo")
    for kept in ("raw", "reviews"):
        shutil.copytree(lab / kept, tmp_path / "lab" / kept)
    shutil.copy(SOURCE / "demo" / "sluice.bundle", tmp_path)
    (tmp_path / "plan.toml").write_text(PLAN)
    (tmp_path / "reports.csv").write_text(
        "body,urgent\n" + "".join(f"It stops {n},yes\nIt is slow {n},no\n" for n in range(30))
    )
    own = ("--workspace", "lab")
    _, ends = ran(
        site,
        ("run", "plan.toml"),
        ("tasks", "add", "urgent", "reports.csv", "--text", "body", "--label", "urgent", *own),
        ("tasks", "import", "urgent", "reports.csv", *own),
        ("evaluate", "run", "--task", "urgent", "--model", "majority", *own),
        ("publish", "qa", "--repo-id", "lab/qa", "--dry-run", *own),
        at=tmp_path,
    )
    assert not any(code for code, *_ in ends), ends
    for name in ("qa", "fault-localization", "code-edit", "issue-resolution"):
        assert (tmp_path / "lab" / "datasets" / name / "provenance.json").is_file()

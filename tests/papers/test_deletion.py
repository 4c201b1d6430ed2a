"""Without a paper's folder everything else works, and what it brought is told by its name."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

import goldpan
from goldpan.core.plugins import shipped_parts
from goldpan.operations.table import every_command
from tests.demo_workspace import make_demo, offline
from tests.invoking import Invoked
from tests.places import ROOT

SOURCE = Path(goldpan.__file__).parent
PARTS = shipped_parts()
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
RUN_ALL = """
import json, sys
from dataclasses import astuple
import goldpan
from tests.invoking import invoke
commands = json.loads(sys.argv[1])
print(json.dumps([goldpan.__file__, *(astuple(invoke(*words)) for words in commands)]))
"""


def run_all(site: Path, *commands: Sequence[str], at: Path) -> list[Invoked]:
    """Run commands with a copy of the package that stands before the installed one.

    They run one after another in one process, which imports it once.
    """
    path = os.pathsep.join(map(str, (site, SOURCE.parents[1], ROOT)))
    done = subprocess.run(
        [sys.executable, "-c", RUN_ALL, json.dumps(commands)],
        cwd=at,
        env=offline(PYTHONPATH=path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    where, *ended = json.loads(done.stdout)
    assert Path(where).is_relative_to(site)
    return [Invoked(*said) for said in ended]


def without(folder: Path, papers: Sequence[str]) -> Path:
    """Return a folder with a copy of the package that lacks these papers."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(SOURCE, folder / "goldpan", ignore=ignored)
    for paper in papers:
        shutil.rmtree(folder / "goldpan" / "papers" / paper)
    return folder


@pytest.mark.parametrize("paper", PARTS)
def test_one_paper_less_takes_away_what_it_brought_alone(tmp_path: Path, paper: str) -> None:
    site = without(tmp_path / "site", [paper])
    make_demo(tmp_path / "at" / "lab")
    brought: Mapping[str, Sequence[str]] = PARTS[paper]
    asked = {
        "recipe": ("reproduce",),
        "task": ("tasks", "show"),
        "protocol": ("evaluate", "run", "--task", "qa", "--model", "majority", "--protocol"),
        "profile": ("filter", "--workspace", "lab", "--profile"),
        "rules": ("pair", "--workspace", "lab", "--rules"),
        "builder": ("build",),
    }
    missing = [(*asked[kind], names[0]) for kind, names in brought.items() if kind in asked]
    helped = [(*name.split(), "--help") for name in every_command()]
    own = set(brought.get("command", ()))
    done = run_all(site, ("reproduce", "--list"), *missing, *helped, at=tmp_path / "at")
    listed = {line.partition(":")[0] for line in done[0].stdout.splitlines()}
    assert listed & RECIPES == RECIPES - set(brought.get("recipe", ()))
    for words, said in zip(missing, done[1:], strict=False):
        told = f"{words[-1]}' comes with the paper {paper}, which is not installed."
        assert said.exit_code == 2
        assert told in " ".join(said.stderr.split()), said.stderr
    for words, said in zip(helped, done[1 + len(missing) :], strict=True):
        assert (said.exit_code == 0) == (" ".join(words[:-1]) not in own), said.output


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
    commands = (
        ("run", "plan.toml"),
        ("tasks", "add", "urgent", "reports.csv", "--text", "body", "--label", "urgent"),
        ("tasks", "import", "urgent", "reports.csv"),
        ("evaluate", "run", "--task", "urgent", "--model", "majority"),
        ("publish", "qa", "--repo-id", "lab/qa", "--dry-run"),
    )
    places = [() if words[0] == "run" else ("--workspace", "lab") for words in commands]
    typed = [(*words, *place) for words, place in zip(commands, places, strict=True)]
    for words, done in zip(commands, run_all(site, *typed, at=tmp_path), strict=True):
        assert done.exit_code == 0, f"{words}\n{done.output}"
    for name in ("qa", "fault-localization", "code-edit", "issue-resolution"):
        assert (tmp_path / "lab" / "datasets" / name / "provenance.json").is_file()

"""Without a paper's folder everything else works, and what it brought is told by its name."""

from __future__ import annotations

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
HELP = """
from goldpan.operations.program import command_help, program_help
from goldpan.operations.program import program
from goldpan.operations.signature import read_operation
from goldpan.operations.table import every_command
print(program_help(read_operation(program)))
for name in every_command():
    command_help(name.split())
    print("helped:", name)
"""


def python(site: Path, *words: str, at: Path) -> subprocess.CompletedProcess[str]:
    """Run Python with a copy of the package that stands before the installed one."""
    environment = offline(PYTHONPATH=os.pathsep.join([str(site), str(SOURCE.parents[1])]))
    return subprocess.run(
        [sys.executable, *words],
        cwd=at,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


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
    done = python(site, "-c", HELP, at=tmp_path / "at")
    helped = {line.partition(": ")[2] for line in done.stdout.splitlines() if "helped:" in line}
    assert helped == set(every_command()) - set(brought.get("command", ())), done.stderr
    listed = python(site, "-m", "goldpan", "reproduce", "--list", at=tmp_path / "at").stdout
    names = {line.partition(":")[0] for line in listed.splitlines()}
    assert names & RECIPES == RECIPES - set(brought.get("recipe", ()))
    asked = {
        "recipe": ("reproduce",),
        "task": ("tasks", "show"),
        "protocol": ("evaluate", "run", "--task", "qa", "--model", "majority", "--protocol"),
        "profile": ("filter", "--workspace", "lab", "--profile"),
        "rules": ("pair", "--workspace", "lab", "--rules"),
        "builder": ("build",),
    }
    for kind, words in asked.items():
        for name in brought.get(kind, ())[:1]:
            done = python(site, "-m", "goldpan", *words, name, at=tmp_path / "at")
            said = f"{name}' comes with the paper {paper}, which is not installed."
            assert done.returncode == 2
            assert said in " ".join(done.stderr.split()), done.stderr


def test_without_any_paper_the_main_job_runs(tmp_path: Path) -> None:
    site = without(tmp_path / "site", list(PARTS))
    lab = make_demo(tmp_path / "demo")
    for kept in ("raw", "reviews"):
        shutil.copytree(lab / kept, tmp_path / "lab" / kept)
    shutil.copy(SOURCE / "demo" / "sluice.bundle", tmp_path)
    (tmp_path / "plan.toml").write_text(PLAN)
    done = python(site, "-m", "goldpan", "run", "plan.toml", at=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    for name in ("qa", "fault-localization", "code-edit", "issue-resolution"):
        assert (tmp_path / "lab" / "datasets" / name / "provenance.json").is_file()
    (tmp_path / "reports.csv").write_text(
        "body,urgent\n" + "".join(f"It stops {n},yes\nIt is slow {n},no\n" for n in range(30))
    )
    for words in (
        ("tasks", "add", "urgent", "reports.csv", "--text", "body", "--label", "urgent"),
        ("tasks", "import", "urgent", "reports.csv"),
        ("evaluate", "run", "--task", "urgent", "--model", "majority"),
        ("publish", "qa", "--repo-id", "lab/qa", "--dry-run"),
    ):
        done = python(site, "-m", "goldpan", *words, "--workspace", "lab", at=tmp_path)
        assert done.returncode == 0, f"{words}\n{done.stdout}{done.stderr}"

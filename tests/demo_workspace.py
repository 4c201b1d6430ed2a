"""A workspace in which the demo ran, for tests of what stands on all stages."""

from __future__ import annotations

import json
import os
import shutil
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

from goldpan import Workspace
from goldpan.demo.pipeline import REPO, replies_of
from tests import program
from tests.program import Done
from tests.screens import run_on_screen
from tests.shared_folder import made_once

TASK, MODELS = "nlbse23_issue_type", ("majority", "tfidf-xgboost")
"""What the demo's plan evaluates."""
PROGRAM = Path(sys.executable).with_name("goldpan")
_WORKSPACE = "work space"


def goldpan(*arguments: str, cwd: Path | None = None, **environment: str) -> str:
    """Run the program where every request would fail; return what it prints."""
    done = attempt(*arguments, cwd=cwd, **environment)
    assert done.code == 0, f"{arguments}\n{done.out}{done.err}"
    return done.out


def goldpan_json(*arguments: str, cwd: Path | None = None, **environment: str) -> Any:
    """Run the program where every request would fail; return its JSON."""
    return json.loads(goldpan(*arguments, "--json", cwd=cwd, **environment))


def attempt(*arguments: str, cwd: Path | None = None, **environment: str) -> Done:
    """Run the program, whatever comes of it."""
    return program.goldpan(*arguments, folder=cwd, environment=offline(**environment))


def offline(**environment: str) -> dict[str, str]:
    """Return an environment in which every request would fail."""
    ours = {"GOLDPAN_API_URL": "http://127.0.0.1:9", "COLUMNS": "120"}
    return {**os.environ, **ours, **environment}


def make_demo(root: Path) -> Path:
    """Make a directory the workspace of a demo, which runs once for all tests; return it."""
    return shutil.copytree(run_demo()[0], root, dirs_exist_ok=True)


def make_sluice(root: Path) -> Path:
    """Make a directory the workspace of a demo without what it mined of its other repository."""
    make_demo(root)
    for folder in root.glob("*/prospector/assay*"):
        shutil.rmtree(folder)
    return root


def make_tables(root: Path) -> Workspace:
    """Make a workspace of the demo's replies and their tables alone; return it."""
    replies = root / "raw" / REPO
    replies.mkdir(parents=True)
    shipped = files("goldpan.demo") / replies_of(REPO)
    (replies / "run-0001.zst").write_bytes(shipped.read_bytes())
    lab = Workspace(root)
    lab.normalize()
    return lab


def run_demo() -> tuple[Path, str]:
    """Return the workspace in which the demo ran, not to be changed, and what was shown of it."""
    made = made_once("demo", _run_demo)
    return made / _WORKSPACE, (made / "printed.txt").read_text(encoding="utf-8")


def _run_demo(folder: Path) -> None:
    command = (PROGRAM, "demo", "--workspace", _WORKSPACE)
    shown = run_on_screen(command, 160, {**offline(), "PATH": _path_without_goldpan()}, folder)
    (folder / "printed.txt").write_text("\n".join(shown), encoding="utf-8")


def _path_without_goldpan() -> str:
    """Return a search path that does not find `goldpan`, as that of a shell beside a clone."""
    folders = os.environ["PATH"].split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if not (Path(folder) / "goldpan").exists())

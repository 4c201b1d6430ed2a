"""Goldpan as `pip install` brings it: a wheel of this checkout in an empty environment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.places import ROOT

_ALL: tuple[str, ...] = (
    *("matplotlib", "openai", "sklearn", "xgboost", "torch", "transformers", "deepspeed", "ray"),
)
_ALL += ("obstore", "spacy", "openpyxl", "uv", "tree_sitter_kotlin")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a wheel of what git has, built as the Dockerfile builds it."""
    folder: Path = tmp_path_factory.mktemp("wheel")
    run("git", "clone", "--quiet", str(ROOT), str(folder / "source"))
    build = ("-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation")
    run(sys.executable, *build, "--wheel-dir", str(folder), str(folder / "source"))
    (path,) = folder.glob("*.whl")
    return path


def run(*words: str, folder: Path | None = None) -> str:
    """Run a program without caches and with a home of its own; it must succeed."""
    home = folder or Path.cwd()
    done = subprocess.run(
        words,
        cwd=folder,
        env={**os.environ, "HOME": str(home), "PIP_NO_CACHE_DIR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4_000:] + done.stderr[-4_000:]
    return done.stdout


def installed(folder: Path, *requirements: str) -> Path:
    """Return the programs of an empty environment with these packages."""
    run(sys.executable, "-m", "venv", str(folder / "venv"))
    programs = folder / "venv" / "bin"
    run(str(programs / "python"), "-m", "pip", "install", "--quiet", *requirements, folder=folder)
    return programs


def test_the_wheel_alone_runs_the_demo(wheel: Path, tmp_path: Path) -> None:
    programs = installed(tmp_path, str(wheel))
    assert "304 issues and 76 pull requests, nothing missing" in run(
        str(programs / "goldpan"), "demo", folder=tmp_path
    )
    assert "Turn GitHub history" in run(str(programs / "python"), "-m", "goldpan", "-h")


@pytest.mark.timeout(3_600)
def test_all_extras_install_without_the_locks(wheel: Path, tmp_path: Path) -> None:
    """With torch as the lock has it, of which a folder of wheels may hold a build without CUDA."""
    lock = (ROOT / "requirements" / "torch.txt").read_text(encoding="utf-8")
    (torch,) = (line.split()[0] for line in lock.splitlines() if line.startswith("torch=="))
    programs = installed(tmp_path, f"{wheel}[all]", torch)
    run(str(programs / "python"), "-c", f"import {', '.join(_ALL)}", folder=tmp_path)
    demo = run(str(programs / "goldpan"), "demo", folder=tmp_path)
    assert "is not installed" not in demo
    run(str(programs / "python"), "-m", "pip", "check", folder=tmp_path)

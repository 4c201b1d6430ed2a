"""Which Python a project gets, and what says what its tests need."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import goldpan
from goldpan.core.config import load_settings
from goldpan.core.errors import GoldpanError, UsageError
from goldpan.doctor import examine
from goldpan.execution.isolation import NoIsolation
from goldpan.execution.python_env import (
    EnvironmentBuildError,
    Finder,
    choose_python,
    declared,
    find_pythons,
)
from goldpan.execution.recipe import load_recipes


@pytest.fixture
def find(tmp_path: Path) -> Finder:
    """A uv that finds Python 3.11 alone."""
    path = tmp_path / "uv"
    path.write_text(f'#!/bin/sh\ncase "$*" in *" 3.11") echo {sys.executable};; *) exit 2;; esac\n')
    path.chmod(0o755)
    return find_pythons(NoIsolation(), str(path))


def test_the_newest_python_of_half_a_year_is_wanted_and_the_nearest_taken(
    tmp_path: Path, find: Finder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "none"))
    ideal, version, _ = choose_python(tmp_path, "2023-01-03T20:00:00Z", find, tmp_path / "log")
    assert (ideal, version) == ("3.10", "3.11")  # 3.11 was out for ten weeks
    ideal, version, _ = choose_python(tmp_path, "2026-01-01T00:00:00Z", find, tmp_path / "log")
    assert (ideal, version) == ("3.13", "3.11")


def test_what_the_project_admits_is_held(
    tmp_path: Path, find: Finder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "none"))
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\nrequires-python = ">=3.12"\n')
    with pytest.raises(EnvironmentBuildError):
        choose_python(tmp_path, "2024-01-01T00:00:00Z", find, tmp_path / "log")
    assert ">=3.12" in (tmp_path / "log").read_text()


def test_the_versions_of_pyenv_are_found(
    tmp_path: Path, find: Finder, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "pyenv" / "versions" / "3.10.13" / "bin"
    home.mkdir(parents=True)
    (home / "python").symlink_to(sys.executable)
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    ideal, version, _ = choose_python(tmp_path, "2023-01-03T20:00:00Z", find, tmp_path / "log")
    assert (ideal, version) == ("3.10", "3.10")


def test_extras_groups_and_files_named_after_tests_are_taken(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "x"\n[project.optional-dependencies]\ntest = []\ndocs = []\n'
        "[dependency-groups]\ndev = []\nlint = []\n"
    )
    (tmp_path / "setup.cfg").write_text("[options.extras_require]\ntesting =\n  pytest\n")
    (tmp_path / "requirements-dev.txt").write_text("pytest\n")
    python = next(recipe for recipe in load_recipes() if recipe.name == "python")
    extras, groups, files = declared(python, tmp_path)
    assert extras == ("test", "testing")
    assert groups == ("dev",)
    assert files == ("requirements-dev.txt",)


def test_without_uv_nothing_is_read_and_doctor_tells(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    lab = goldpan.Workspace(tmp_path)
    with pytest.raises(
        GoldpanError, match=r'uv, which is not installed\. Run pip install ".*verif'
    ):
        lab.verify(tmp_path / "nothing")
    with pytest.raises(GoldpanError, match="uv, which is not installed"):
        lab.evaluate.resolved(tmp_path / "nothing", predictions=tmp_path / "none.jsonl")
    with pytest.raises(UsageError, match="There is no directory"):
        lab.verify(tmp_path / "nothing", sandbox=goldpan.Sandbox(recipe=[tmp_path / "own.toml"]))
    settings = load_settings({"api_url": "http://127.0.0.1:9"})
    (finding,) = (one for one in examine(settings, {}) if one.name == "uv")
    assert (finding.level, "goldpan verify needs it" in finding.message) == ("note", True)
    assert "pip install" in finding.remedy

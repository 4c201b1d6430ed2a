"""Python environments of a project's tests: which Python, and what the project declares."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import goldpan
from goldpan.core.errors import GoldpanError, UsageError
from goldpan.core.settings.config import load_settings
from goldpan.doctor import examine
from goldpan.execution.declarations import declared
from goldpan.execution.isolation import NoIsolation
from goldpan.execution.python_env import EnvironmentBuildError, Finder, choose_python, find_pythons
from goldpan.execution.recipe import load_recipes


@pytest.fixture
def find(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Finder:
    """A uv that finds Python 3.11 alone, beside a pyenv in a folder of the test."""
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    path = tmp_path / "uv"
    path.write_text(f'#!/bin/sh\ncase "$*" in *" 3.11") echo {sys.executable};; *) exit 2;; esac\n')
    path.chmod(0o755)
    return find_pythons(NoIsolation(), str(path))


def test_the_newest_python_of_half_a_year_is_wanted_and_the_nearest_taken(
    tmp_path: Path, find: Finder
) -> None:
    ideal, version, _ = choose_python(tmp_path, "2023-01-03T20:00:00Z", find, tmp_path / "log")
    assert (ideal, version) == ("3.10", "3.11")  # 3.11 was out for ten weeks
    ideal, version, _ = choose_python(tmp_path, "2026-01-01T00:00:00Z", find, tmp_path / "log")
    assert (ideal, version) == ("3.13", "3.11")


def test_what_the_project_admits_is_held(tmp_path: Path, find: Finder) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\nrequires-python = ">=3.12"\n')
    with pytest.raises(EnvironmentBuildError):
        choose_python(tmp_path, "2024-01-01T00:00:00Z", find, tmp_path / "log")
    assert ">=3.12" in (tmp_path / "log").read_text()


@pytest.mark.parametrize("line", [">=3.{}".format("9" * 5_000), "PYTHON", ">=3.11"])
def test_a_version_that_is_none_or_endless_admits_all(
    tmp_path: Path, find: Finder, line: str
) -> None:
    (tmp_path / "setup.cfg").write_text(f"[options]\npython_requires = {line}\n")
    _, version, _ = choose_python(tmp_path, "2024-01-01T00:00:00Z", find, tmp_path / "log")
    assert version == "3.11"


def test_the_versions_of_pyenv_are_found(tmp_path: Path, find: Finder) -> None:
    for patch in ("3.10.9", "3.10.13"):
        home = tmp_path / "pyenv" / "versions" / patch / "bin"
        home.mkdir(parents=True)
        (home / "python").touch()
    ideal, version, path = choose_python(tmp_path, "2023-01-03T20:00:00Z", find, tmp_path / "log")
    assert (ideal, version) == ("3.10", "3.10")
    assert path == str(home / "python")


def test_extras_groups_and_files_named_after_tests_are_taken(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "x"\n[project.optional-dependencies]\ntest = []\ndocs = []\n'
        "[dependency-groups]\ndev = []\nlint = []\n"
    )
    (tmp_path / "setup.cfg").write_text("[options.extras_require]\ntesting =\n  pytest\n")
    (tmp_path / "requirements-dev.txt").write_text("pytest\n")
    python = next(recipe for recipe in load_recipes() if recipe.name == "python")
    found = declared(python, tmp_path)
    assert (found.extras, found.groups) == (("test", "testing"), ("dev",))
    assert found.files == ("requirements-dev.txt",)


def test_what_tox_nox_and_setuptools_install_for_tests_is_taken(tmp_path: Path) -> None:
    """None of it as an option or an address: uv gets it on its command line."""
    (tmp_path / "tox.ini").write_text(
        "[testenv]\ndeps =\n    pretend  # doubles\n    pytest>=3; python_version > '3'\n"
        "    -rdev-requirements.txt\n    py27: mock\n    tests,cov: twisted\n"
        "    docs,!tests: sphinx\n    py38-test: lxml\n    --index-url=http://elsewhere.example\n"
        "    pkg @ http://elsewhere.example/pkg.zip\n[testenv:docs]\ndeps = sphinx\n"
        f"{' ' * 500_000}\\\n"
    )
    (tmp_path / "setup.cfg").write_text("[options]\ntests_require =\n  freezegun\n")
    (tmp_path / "setup.py").write_text(
        "EXTRAS = {'reco': ['simplejson']}\nEXTRAS['dev'] = EXTRAS['reco'] + ['pytest']\n"
        "setup(extras_require=EXTRAS, tests_require=['pretend', 'six', NAME])\n"
    )
    (tmp_path / "noxfile.py").write_text(
        "def tests(session):\n    session.install('-r', 'requirements.txt', 'coverage<5', NAME)\n"
        "def docs(session):\n    session.install('sphinx')\n"
    )
    python = next(recipe for recipe in load_recipes() if recipe.name == "python")
    found = declared(python, tmp_path)
    assert found.extras == ("dev",)
    tox = ("pretend", 'pytest>=3; python_version > "3"', "twisted", "lxml")
    assert found.packages == (*tox, "freezegun", "six", "coverage<5")
    (tmp_path / "tox.ini").write_text("no section\n")
    (tmp_path / "setup.py").write_text("print 'of Python 2'\n")
    assert declared(python, tmp_path).packages == ("freezegun", "coverage<5")


def test_files_extras_and_groups_that_tox_names_are_taken(tmp_path: Path) -> None:
    for name in ("ci/unit.txt", "old.txt", "docs.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("mock\n")
    (tmp_path / "ci" / "link").symlink_to("/etc")
    (tmp_path / "pyproject.toml").write_text(
        "[project.optional-dependencies]\ncli = []\ndocs = []\n"
        "[dependency-groups]\nunit = []\nlint = []\n"
    )
    (tmp_path / "tox.ini").write_text(
        "[testenv]\nextras =\n  cli\ndependency_groups = unit\ndeps =\n"
        "  -r{toxinidir}/ci/unit.txt\n  test: -r old.txt\n  docs: -rdocs.txt\n"
        "  -r /etc/hosts\n  -r ci/link/hosts\n  -r ../x.txt\n  -r lost.txt\n"
    )
    found = declared(next(each for each in load_recipes() if each.name == "python"), tmp_path)
    assert (found.extras, found.groups) == (("cli",), ("unit",))
    assert found.files == ("ci/unit.txt", "old.txt")
    assert found.listed == ("mock",)


def test_what_poetry_pdm_hatch_and_uv_install_for_tests_is_taken(tmp_path: Path) -> None:
    """Of Poetry every version, as its signs for versions are its own."""
    (tmp_path / "pyproject.toml").write_text(
        "[tool.poetry.extras]\ntest = []\ndocs = []\n"
        '[tool.poetry.dev-dependencies]\nhypothesis = "^6.9"\n'
        'pyyaml = {version = "~5", extras = ["libyaml"]}\nown = {path = "../own"}\n'
        'old = {version = "*", python = "<3.7"}\nboth = [{version = "1"}, {version = "2"}]\n'
        '[tool.poetry.group.test.dependencies]\npretend = "*"\n'
        '[tool.poetry.group.docs.dependencies]\nsphinx = "*"\n'
        '[tool.pdm.dev-dependencies]\ntests = ["six>=1", "-e file:///own", 3]\nlint = ["ruff"]\n'
        '[tool.hatch.envs.default]\ndependencies = ["mock", "own @ {root:uri}"]\n'
        '[tool.hatch.envs.test]\nextra-dependencies = ["furl"]\n'
        '[tool.uv]\ndev-dependencies = ["attrs"]\n'
    )
    python = next(recipe for recipe in load_recipes() if recipe.name == "python")
    found = declared(python, tmp_path)
    assert found.extras == ("test",)
    poetry = ("hypothesis", "pyyaml[libyaml]", "both", "pretend")
    assert found.packages == (*poetry, "six>=1", "mock", "furl", "attrs")
    assert declared(python, tmp_path).listed == found.packages
    text = "[tool]\npoetry = 1\nuv.dev-dependencies = 'x'\n[tool.hatch.envs]\ntest = []\n"
    (tmp_path / "pyproject.toml").write_text(text)
    assert declared(python, tmp_path).packages == ()


@pytest.mark.parametrize(
    ("version", "chosen"), [("^3.11", "3.11"), (">=3.8,<3.12", "3.11"), ("^3.12", None)]
)
def test_the_python_that_poetry_names_is_held(
    tmp_path: Path, find: Finder, version: str, chosen: str | None
) -> None:
    text = f'[tool.poetry.dependencies]\npython = "{version}"\n'
    (tmp_path / "pyproject.toml").write_text(text)
    if chosen:
        found = choose_python(tmp_path, "2026-01-01T00:00:00Z", find, tmp_path / "log")
        assert found[1] == chosen
    else:
        with pytest.raises(EnvironmentBuildError):
            choose_python(tmp_path, "2026-01-01T00:00:00Z", find, tmp_path / "log")


def test_without_uv_nothing_is_read_and_doctor_tells(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    lab = goldpan.Workspace(tmp_path)
    remedy = r"uv, which is not installed\. Run pip install .*verif"
    with pytest.raises(GoldpanError, match=remedy):
        lab.verify(tmp_path / "nothing")
    with pytest.raises(GoldpanError, match="uv, which is not installed"):
        lab.evaluate.resolved(tmp_path / "nothing", predictions=tmp_path / "none.jsonl")
    with pytest.raises(UsageError, match="There is no dataset"):
        lab.verify(tmp_path / "nothing", sandbox=goldpan.Sandbox(recipe=[tmp_path / "own.toml"]))
    settings = load_settings({"api_url": "http://127.0.0.1:9"})
    (finding,) = (one for one in examine(settings, {}) if one.name == "uv")
    assert (finding.level, "goldpan verify needs it" in finding.message) == ("note", True)
    assert "pip install" in finding.remedy

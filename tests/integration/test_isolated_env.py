"""A package's environment is its own: what constrains ours does not reach it."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from goldpan.core.errors import GoldpanError
from goldpan.core.isolated_env import LOCKS, IsolatedEnv
from goldpan.core.terminal import Reporter

QUIET = Reporter(quiet=True)
LOCK = """mdurl==0.1.2 \\
    --hash=sha256:84008a41e51615a49fc9966191ff91509e3c40b939176e643fd50a5c2196b8f8
"""


@pytest.fixture
def small(tmp_path: Path) -> IsolatedEnv:
    lock = tmp_path / "lock.txt"
    lock.write_text(LOCK, encoding="utf-8")
    proof = "lib/python*/*/mdurl/__init__.py"
    return IsolatedEnv("Mdurl", lock, "MDURL_VENV", "mdurl", proof, sys.version_info[:2])


def test_constraints_of_our_environment_do_not_count(
    small: IsolatedEnv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    constraints = tmp_path / "constraints.txt"
    constraints.write_text("mdurl==0.0.1\n", encoding="utf-8")
    monkeypatch.setenv("PIP_CONSTRAINT", str(constraints))
    environment = tmp_path / "environment"
    small.install(environment, QUIET)
    assert small.is_installed(environment)
    (environment / "goldpan-begun").unlink()  # as if a user had installed it
    assert small.is_installed(environment)


def test_a_failed_installation_is_told_repaired_and_deletes_nothing(
    small: IsolatedEnv, tmp_path: Path
) -> None:
    environment = tmp_path / "environment"
    environment.mkdir()
    (environment / "thesis.txt").write_text("all of it", encoding="utf-8")
    other = tmp_path / "other.txt"
    other.write_text(LOCK.replace("sha256:84", "sha256:85"), encoding="utf-8")
    with pytest.raises(GoldpanError, match="Mdurl cannot be installed"):
        replace(small, lock=other).install(environment, QUIET)
    assert not small.is_installed(environment)
    small.install(environment, QUIET)
    assert small.is_installed(environment)
    assert (environment / "thesis.txt").read_text(encoding="utf-8") == "all of it"


def test_a_package_without_a_wheel_is_built_by_the_setuptools_of_the_lock(
    small: IsolatedEnv, tmp_path: Path
) -> None:
    entries = (LOCKS / "label-studio.txt").read_text(encoding="utf-8").split("\nordered-set")[1]
    own = tmp_path / "own.txt"
    own.write_text("ordered-set" + "\n".join(entries.split("\n")[:2]) + "\n", encoding="utf-8")
    environment = tmp_path / "environment"
    replace(small, lock=own).install(environment, QUIET)
    (version,) = re.findall(r"^setuptools==(\S+)", (LOCKS / "build.txt").read_text(), re.M)
    packages = {path.name for path in environment.glob("lib/python*/site-packages/*")}
    assert {"ordered_set.py", f"setuptools-{version}.dist-info"} <= packages


def test_where_it_lives(small: IsolatedEnv, tmp_path: Path) -> None:
    assert small.default_place({"MDURL_VENV": "/x"}) == Path("/x")
    assert small.default_place({"XDG_CACHE_HOME": "/c"}) == Path("/c/goldpan/mdurl")
    (tmp_path / "file").touch()
    with pytest.raises(GoldpanError, match=r"cannot be written.*MDURL_VENV"):
        small.install(tmp_path / "file", QUIET)

"""What is installed is what was tried: exact versions, their hashes, and no registry."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from goldpan.core.extras import DISTRIBUTION
from goldpan.core.isolated_env import LOCKS
from tests.places import ROOT

REQUIREMENTS = ROOT / "requirements"
PINNED = re.compile(
    r"^(\S+)==(\S+)(?: ;.*?)?(?: \\\n|\s)(?:[ \t]*--hash=sha256:[0-9a-f]{64}.*\n)+", re.MULTILINE
)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def versions(*locks: Path) -> dict[str, set[Version]]:
    """Return what locks install, after checking that each file has a hash."""
    pinned: dict[str, set[Version]] = {}
    for lock in locks:
        text = re.sub(r"^#.*\n", "", lock.read_text(encoding="utf-8"), flags=re.M)
        assert not PINNED.sub("", text).strip(), lock
        for name, version in PINNED.findall(text):
            pinned.setdefault(canonicalize_name(name), set()).add(Version(version))
    return pinned


def requirements(*extras: str) -> list[Requirement]:
    """Return what the project needs with these extras, for the building too."""
    project = PROJECT["project"]
    lines = [*project["dependencies"], *PROJECT["dependency-groups"]["build"]]
    lines += PROJECT["build-system"]["requires"]
    open_extras = list(extras)
    while open_extras:
        for line in project["optional-dependencies"][open_extras.pop()]:
            needed = Requirement(line)
            if needed.name == DISTRIBUTION:
                open_extras += needed.extras
            else:
                lines.append(line)
    return [Requirement(line) for line in lines]


@pytest.mark.parametrize(
    ("locks", "extras"), [(["demo"], []), (["test", "torch"], ["dev"])], ids=["demo", "test"]
)
def test_the_locks_hold_what_the_project_needs(locks: list[str], extras: list[str]) -> None:
    locked = versions(*(REQUIREMENTS / f"{lock}.txt" for lock in locks))
    for needed in requirements(*extras):
        pinned = locked[canonicalize_name(needed.name)]
        assert all(version in needed.specifier for version in pinned), needed


def test_the_demo_is_tested_with_its_versions() -> None:
    tested = versions(REQUIREMENTS / "test.txt")
    for name, pinned in versions(REQUIREMENTS / "demo.txt").items():
        assert tested[name] == pinned


def test_both_builds_of_torch_are_of_one_version() -> None:
    (plain,) = versions(REQUIREMENTS / "torch.txt")["torch"]
    (cpu,) = versions(REQUIREMENTS / "torch-cpu.txt")["torch"]
    assert (cpu.public, cpu.local) == (str(plain), "cpu")


@pytest.mark.parametrize("name", ["label-studio", "fasttext"])
def test_environments_of_their_own_are_locked(name: str) -> None:
    needed = Requirement((REQUIREMENTS / f"{name}.in").read_text(encoding="utf-8").strip())
    pinned = versions(LOCKS / f"{name}.txt")[needed.name]
    assert all(version in needed.specifier for version in pinned)


@pytest.mark.parametrize(
    "lock", [*REQUIREMENTS.glob("*.txt"), *LOCKS.glob("*.txt")], ids=lambda lock: lock.name
)
def test_no_lock_names_a_registry(lock: Path) -> None:
    assert not re.search(r"://|--\S*(index|find-links|trusted)", lock.read_text(encoding="utf-8"))

"""A Python project's environment is built by uv from the package index, as of its commit's date."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldpan import load
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.execution.isolation import IsolationName
from goldpan.execution.records import TrialSettings, instance_of
from goldpan.execution.verify import verify_all
from tests.demo_workspace import make_demo
from tests.layouts import LAYOUTS, Projects
from tests.mining import Notes
from tests.verifying import needs_isolation

DATE = "2023-01-03T20:00:00Z"


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "isolation",
    [
        pytest.param("bubblewrap", marks=needs_isolation),
        pytest.param("none", marks=pytest.mark.nightly),
    ],
)
def test_the_packages_are_those_of_the_time(tmp_path: Path, isolation: IsolationName) -> None:
    """The test wants pytest's fixtures, and the project pins a linter that came years later."""
    root = make_demo(tmp_path / "lab")
    rows = load(root / "datasets" / "issue-resolution").to_arrow().to_pylist()
    instance = instance_of(next(row for row in rows if row["issue"] == 15))
    settings = TrialSettings(repeats=1, seconds=300, isolation=isolation)
    (record,) = verify_all(WorkspaceLayout(root), [instance], settings, Notes()).records
    assert record.proof.verdict == "verified", record.detail
    assert record.proof.fail_to_pass == ("tests/test_reader_15.py::test_reads_once",)
    environment = record.environment
    assert environment["newest_packages"] == DATE
    assert environment["python_wanted"] == "3.10"  # 3.11 was out for ten weeks
    assert "tests/test_reader_15.py" in environment["imported"]
    versions = dict(package.split("==") for package in environment["packages"])
    assert versions["pytest"] == "7.2.0"


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "isolation", [pytest.param("bubblewrap", marks=[needs_isolation, pytest.mark.nightly]), "none"]
)
def test_what_is_tested_is_the_patched_code(tmp_path: Path, isolation: IsolationName) -> None:
    """However a project is laid out and installed; tests/scale has every layout."""
    names = ("in place, src", "copied, lib", "published")
    records = Projects(tmp_path, names).verify(isolation)
    assert {name: record.proof.verdict for name, record in records.items()} == {
        name: LAYOUTS[name].verdict for name in names
    }
    assert "src/thing/__init__.py" in records["in place, src"].environment["imported"]
    assert records["published"].detail == "iniconfig/__init__.py"

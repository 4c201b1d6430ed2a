"""A Python project's environment is built by uv from the package index, as of its commit's date."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldpan import load
from goldpan.core.workspace import Workspace
from goldpan.execution.records import Settings, instance_of
from goldpan.execution.verify_all import verify_all
from tests.demo_workspace import make_demo
from tests.mining import Notes
from tests.verifying import is_isolated

DATE = "2023-01-03T20:00:00Z"


@pytest.mark.timeout(600)
def test_the_packages_are_those_of_the_time(tmp_path: Path) -> None:
    """The test wants pytest's fixtures, and the project pins a linter that came years later."""
    root = make_demo(tmp_path / "lab")
    rows = load(root / "datasets" / "issue-resolution").to_arrow().to_pylist()
    instance = instance_of(next(row for row in rows if row["issue"] == 15))
    settings = Settings(1, 300, isolation="auto" if is_isolated() else "none")
    (record,) = verify_all(Workspace(root), [instance], settings, Notes()).records
    assert record.proof.verdict == "verified", record.detail
    assert record.proof.fail_to_pass == ("tests/test_reader_15.py::test_reads_once",)
    environment = record.environment
    assert environment["newest_packages"] == DATE
    assert environment["python_wanted"] == "3.10"  # 3.11 was out for ten weeks
    versions = dict(package.split("==") for package in environment["packages"])
    assert versions["pytest"] == "7.2.0"

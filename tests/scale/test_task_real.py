"""The public data at hand have the counts that their authors tell, and come back from text."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.datasets.tasks.data import read_task_data
from goldpan.datasets.tasks.importing import ImportResult, import_files
from goldpan.datasets.tasks.registry import find_task
from tests.places import DATA, needs_data

QUIET = Reporter(quiet=True)

NEEDED = ("requirements", "regression", "ner")
pytestmark = needs_data(*(DATA / name for name in NEEDED))


def imported(directory: Path, name: str, *files: Path) -> ImportResult:
    return import_files(WorkspaceLayout(directory), find_task(name), files, QUIET)


def test_requirements(tmp_path: Path) -> None:
    result = imported(tmp_path, "requirement_type", DATA / "requirements" / "promise-reclass.csv")
    assert result.exact
    data = read_task_data(result.written.directory, result.task)
    labels = {name: Counter(table["label"].to_pylist()) for name, table in data.splits.items()}
    # A constant answer is right for 59.2% of SELU's 125 test rows: 74 are non-functional.
    share = labels["test"]["non-functional"] / labels["test"].total()
    assert share == pytest.approx(0.592, abs=0.008)
    assert len({row for table in data.splits.values() for row in table["repo"].to_pylist()}) == 15


def test_story_points_of_three_projects(tmp_path: Path) -> None:
    result = imported(tmp_path, "story_points", *sorted((DATA / "regression").glob("*.xz")))
    counts = {check.what: check.found for check in result.checks}
    assert [counts[f"repo:{name}"] for name in ("mesos", "moodle", "usergrid")] == [1680, 1166, 482]
    different = {check.what for check in result.checks if not check.exact}
    assert different == {"total", *(f"repo:{name}" for name in result.missing)}
    assert len(result.missing) == 13


def test_tagged_posts(tmp_path: Path) -> None:
    result = imported(tmp_path, "se_entities", *sorted((DATA / "ner").glob("*.xz")))
    assert result.exact
    (selu,) = result.announced
    assert (selu.expected, selu.found) == (2718, 2738)
    data = read_task_data(result.written.directory, result.task)
    tags = {
        tag for table in data.splits.values() for tags in table["tags"].to_pylist() for tag in tags
    }
    kinds = {tag.partition("-")[2] for tag in tags} - {""}
    assert kinds == {label.partition("-")[2] for label in result.task.label_names} - {""}
    assert len(kinds) == 20

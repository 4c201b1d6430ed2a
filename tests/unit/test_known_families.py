"""Datasets of tasks are checked and traced like those of issues."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldpan.core.terminal import show
from goldpan.core.workspace import WorkspaceLayout
from goldpan.datasets.check import check_dataset
from goldpan.datasets.files import write_dataset
from goldpan.datasets.manifest import CardInputs
from goldpan.datasets.provenance import Provenance
from goldpan.datasets.registry import find_task
from goldpan.datasets.splits import SplitPlan
from goldpan.datasets.task import task_family
from goldpan.trace import trace
from tests.evaluating import rows


def _write(workspace: WorkspaceLayout, name: str, pairs: list[tuple[object, object]]) -> Path:
    task = find_task(name)
    directory = workspace.dataset(name)
    plan = SplitPlan.parse("none")
    table = rows(task, pairs)
    write_dataset(workspace, directory, task_family(task), table, plan, Provenance(), CardInputs())
    return directory


@pytest.mark.parametrize(
    ("name", "pair"),
    [
        ("comment_type_python", ("returns the sieve", ["Usage"])),
        ("se_entities", (["use", "numpy"], ["O", "B-Library"])),
        ("requirement_completion", ("shall sift", [{"start": 6, "end": 10}])),
        ("story_points", ("mend the sieve", 3.0)),
    ],
)
def test_columns_that_hold_lists_are_known(
    name: str, pair: tuple[object, object], tmp_path: Path
) -> None:
    directory = _write(WorkspaceLayout(tmp_path), name, [pair])
    (only,) = check_dataset(directory)
    assert "license is not known" in str(only)


def test_an_example_that_is_of_no_issue_is_traced_to_its_source(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace = WorkspaceLayout(tmp_path)
    _write(workspace, "story_points", [("mend the sieve", 3.0)])
    traced = trace(workspace, "story_points:00000")
    assert traced.place == {"source": "made#0"}
    assert traced.complete
    show(traced.blocks())
    output = capsys.readouterr().out
    assert "source: made#0" in output
    assert "Raw replies" not in output

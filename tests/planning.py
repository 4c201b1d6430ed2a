"""Plans in tests: a small one, the local GitHub with its history, and how it is run."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.tasks.registry import find_task
from tests.crosscode_tasks import sample_rows, write_rows
from tests.program import Done, goldpan
from tests.twin import Twin
from tests.twin.history import history_world

SLUICE = "prospector/sluice"
PAN = "prospector/pan"
REPOSITORIES = f'[repositories]\nlisted = ["{SLUICE}"]\n'
SMALL = (
    REPOSITORIES
    + """
[clone]
source = "{name}.git"
[[dataset]]
name = "questions"
family = "qa"
split = "random:0.5,0.5"
since = "last"
"""
)
TASKS = ("qa", "issue_type", "story_points", "nlbse23_java_usage")
OTHER_FAMILIES = f"""
[[dataset]]
name = "types"
family = "issue-type"
split = "random:0.5,0.5"
[[dataset]]
name = "comments"
family = "code-comments"
language = ["Python"]
kind = ["class", "module", "function"]
[[dataset]]
name = "unseen"
family = "crosscode"
task = {list(TASKS)}
split = "Type-QA"
"""
"""Datasets that are not built of issues and pairs; they take the rows of `write_tasks`."""


def write_tasks(lab: Path, names: Sequence[str] = TASKS) -> None:
    """Write some rows of tasks, by default of those from which `OTHER_FAMILIES` makes prompts."""
    for name in names:
        task = find_task(name)
        rows = sample_rows(task, 30)
        write_rows(WorkspaceLayout(lab), task, {"train": rows[:20], "test": rows[20:]})


@contextmanager
def local_github(folder: Path) -> Iterator[Twin]:
    """Serve the made-up repositories; the history of one lies in the folder."""
    with Twin(history_world(folder / "sluice.git")) as twin:
        yield twin


def environment(twin: Twin, **more: str) -> dict[str, str]:
    """Return an environment that leads to the local GitHub."""
    return {
        **os.environ,
        "GOLDPAN_API_URL": twin.url,
        "GITHUB_TOKEN": "token-of-a-test",
        "COLUMNS": "160",
        **more,
    }


def write_plan(
    folder: Path, text: str = SMALL, name: str = "plan.toml", workspace: str = "lab"
) -> Path:
    """Write a plan, by default with the workspace `lab` beside it."""
    path = folder / name
    path.write_text(f'workspace = "{workspace}"\n{text}', encoding="utf-8")
    return path


def run(twin: Twin, folder: Path, *options: str, **more: str) -> Done:
    """Run `goldpan run plan.toml`."""
    return goldpan(
        "run", "plan.toml", *options, folder=folder, environment=environment(twin, **more)
    )


def run_json(twin: Twin, folder: Path, *options: str, code: int = 0, **more: str) -> Any:
    """Run the plan, and return its result as JSON."""
    done = run(twin, folder, "--json", *options, **more)
    assert done.code == code, done.err + done.out
    return json.loads(done.out)


def states(result: Mapping[str, Any]) -> dict[str, str]:
    """Return what became of each unit."""
    return {unit["unit"]: unit["state"] for unit in result["units"]}


def made(lab: Path, *folders: str) -> dict[str, bytes]:
    """Return all tables, verdicts and rows of datasets, or those of some folders, by path."""
    return {
        path.relative_to(lab).as_posix(): path.read_bytes()
        for name in folders or ("tables", "verdicts", "datasets")
        for path in sorted((lab / name).rglob("*.parquet"))
    }


def rows(lab: Path, dataset: str) -> list[Any]:
    """Return the rows of a dataset but where GitHub's replies lie, which differs by run."""
    paths = sorted((lab / "datasets" / dataset / "data").glob("*.parquet"))
    return [pq.read_table(path).drop_columns("raw").to_pylist() for path in paths]

"""A collection whose dates tell the labels is called so before any score."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.tasks.data import TaskData, task_data
from goldpan.datasets.tasks.registry import find_task
from goldpan.evaluation.record import read_runs
from tests.comparing import write_rows
from tests.evaluating import replaced, rows
from tests.invoking import invoke

pytest.importorskip("sklearn")
pytest.importorskip("scipy")
WARNING = "Warning: the date alone tells the label of"
LABELS = ("bug", "feature", "question")


def collected(*, apart: bool) -> TaskData:
    """Issues whose texts say nothing; those of a label are of another year where they lie apart."""
    task = find_task("nlbse24_issue_type")
    labels = [LABELS[index // 2 % 3] for index in range(360)]
    table = rows(task, [(f"Title\nword {index}", label) for index, label in enumerate(labels)])
    at = [
        datetime(2020 + (LABELS.index(label) if apart else 0), 1, 1, tzinfo=UTC)
        + timedelta(hours=7 * (index % 300))
        for index, label in enumerate(labels)
    ]
    table = replaced(table, created_at=at, partition=["train"] * 240 + ["test"] * 120)
    return task_data(task, {"train": table.slice(0, 240), "test": table.slice(240)})


def test_the_warning_stands_in_runs_and_comparisons(tmp_path: Path) -> None:
    workspace = WorkspaceLayout(tmp_path)
    write_rows(workspace, collected(apart=True))
    command = ["run", "--workspace", str(tmp_path), "--task", "nlbse24_issue_type", "--model"]
    ran = invoke("evaluate", *command, "tfidf-lr")
    assert ran.exit_code == 0, ran.output
    assert " ".join(ran.stdout.split()).count(WARNING) == 1
    (done,) = read_runs(workspace)
    assert done.date_signal is not None
    assert done.date_signal.rows == 240
    assert invoke("evaluate", *command, "majority").exit_code == 0
    page = tmp_path / "page.html"
    compared = invoke("evaluate", "compare", "--workspace", tmp_path, "--output", page)
    assert compared.exit_code == 0, compared.output
    share = done.date_signal.right / 240
    told = f"{WARNING} {share:.1%} of 240 train rows of nlbse24_issue_type"
    assert told in " ".join(compared.stdout.split())
    assert told in " ".join(re.sub(r"<[^>]*>", "", page.read_text()).split())


def test_nothing_is_said_where_dates_tell_nothing(tmp_path: Path) -> None:
    write_rows(WorkspaceLayout(tmp_path), collected(apart=False))
    command = ("run", "--task", "nlbse24_issue_type", "--model", "majority")
    done = invoke("evaluate", *command, "--workspace", tmp_path)
    assert done.exit_code == 0, done.output
    assert "the date alone" not in done.stdout


def test_an_import_warns(tmp_path: Path) -> None:
    lines = ["repo,created_at,label,title,body"]
    for index in range(300):
        at = datetime(2020 + index % 3, 1, 1, tzinfo=UTC) + timedelta(hours=7 * index)
        lines.append(f"octo/gem,{at:%Y-%m-%d %H:%M:%S},{LABELS[index % 3]},Title {index},Body")
    for name in ("issues_train.csv", "issues_test.csv"):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    files = [tmp_path / name for name in ("issues_train.csv", "issues_test.csv")]
    command = ("tasks", "import", "nlbse24_issue_type")
    done = invoke(*command, *files, "--workspace", tmp_path / "work")
    assert WARNING in " ".join(done.stdout.split()), done.output

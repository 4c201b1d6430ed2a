"""The dates of rows: those that tell the labels, and those that a model may know."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from goldpan.core.errors import UsageError
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.tasks.data import TaskData, task_data
from goldpan.datasets.tasks.registry import find_task
from goldpan.evaluation.model import find_model
from goldpan.evaluation.record import read_runs
from goldpan.evaluation.slices import find_dates
from tests.comparing import two_labels, write_rows
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


def moments(days: list[int | None]) -> pa.Array:
    at = [day and datetime(2023, 9, day, 23, 59, 59, tzinfo=UTC) for day in days]
    return pa.array(at, pa.timestamp("us", tz="UTC"))


def dated(data: TaskData, days: list[int | None]) -> TaskData:
    table = replaced(data.splits["test"], created_at=moments(days))
    return replace(data, splits={**data.splits, "test": table})


def test_the_day_of_the_cutoff_is_still_known_to_the_model() -> None:
    rows = pa.table({"created_at": moments([1, 15, 16, 30, None])})
    dates = find_dates(rows, "2023-09-15")
    assert (dates.oldest, dates.newest, dates.undated) == ("2023-09-01", "2023-09-30", 1)
    assert (dates.until, dates.after) == (2, 2)
    assert find_dates(rows, None).until is None
    assert find_dates(rows, "9999-12-31").until == 4
    nothing = find_dates(pa.table({"created_at": moments([None])}), "2023-09-15")
    assert (nothing.oldest, nothing.until, nothing.after) == (None, 0, 0)


def test_a_cutoff_is_a_date_and_a_setting_of_any_model() -> None:
    assert find_model("majority", {"cutoff": "2023-09-15"}).settings["cutoff"] == "2023-09-15"
    assert "cutoff" not in find_model("majority", {}).settings
    with pytest.raises(UsageError, match="'last year' is not a date"):
        find_model("majority", {"cutoff": "last year"})


def test_runs_and_reports_count_rows_on_either_side(tmp_path: Path) -> None:
    data = two_labels()
    size = len(data.splits["test"])
    days = [1 + at % 30 if at else None for at in range(size)]
    write_rows(WorkspaceLayout(tmp_path), dated(data, days))
    command = ("run", "--workspace", str(tmp_path), "--task", "requirement_type")
    ran = invoke("evaluate", *command, "--model", "majority", "--set", "cutoff=2023-09-15")
    plain = invoke("evaluate", *command, "--model", "tfidf-svm")
    assert (ran.exit_code, plain.exit_code) == (0, 0), ran.output + plain.output
    dates = {run.model: run.dates for run in read_runs(WorkspaceLayout(tmp_path))}
    named, unnamed = dates["majority"], dates["tfidf-svm"]
    assert (named.cutoff, named.undated) == ("2023-09-15", 1)
    assert (unnamed.cutoff, unnamed.oldest) == (None, named.oldest)
    assert named.until is not None and named.until + (named.after or 0) == size - 1
    line = f"{named.until} of {size - 1} test rows are from 2023-09-15 or before"
    assert line in " ".join(ran.stdout.split())
    assert "cut-off" not in plain.stdout

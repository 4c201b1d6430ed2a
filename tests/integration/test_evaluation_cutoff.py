"""The end of a model's training data beside the dates of test rows."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from goldpan.core.errors import UsageError
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.tasks.data import TaskData
from goldpan.evaluation.model import find_model
from goldpan.evaluation.record import read_runs
from goldpan.evaluation.slices import find_dates
from tests.comparing import two_labels, write_rows
from tests.evaluating import replaced
from tests.invoking import invoke

pytest.importorskip("sklearn")
pytest.importorskip("scipy")


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
    workspace = WorkspaceLayout(tmp_path)
    data = two_labels()
    size = len(data.splits["test"])
    write_rows(workspace, dated(data, [1 + at % 30 if at else None for at in range(size)]))
    command = ("run", "--workspace", str(tmp_path), "--task", "requirement_type")
    ran = invoke("evaluate", *command, "--model", "majority", "--set", "cutoff=2023-09-15")
    assert ran.exit_code == 0, ran.output
    plain = invoke("evaluate", *command, "--model", "tfidf-svm")
    assert plain.exit_code == 0, plain.output
    dates = {run.model: run.dates for run in read_runs(workspace)}
    named, unnamed = dates["majority"], dates["tfidf-svm"]
    assert named is not None
    assert unnamed is not None
    assert (named.cutoff, named.undated) == ("2023-09-15", 1)
    assert (unnamed.cutoff, unnamed.oldest) == (None, named.oldest)
    assert named.until is not None
    assert named.after is not None
    assert named.until + named.after == size - 1
    line = f"{named.until} of {size - 1} test rows are from 2023-09-15 or before"
    assert line in " ".join(ran.stdout.split())
    assert "cut-off" not in plain.stdout

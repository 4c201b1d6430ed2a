"""Scoring a finished run anew: under its lock, predictions and result at once or not at all."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from goldpan import Workspace
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.evaluation import record
from tests.comparing import two_labels, write_rows
from tests.evaluating import ran
from tests.places import files_below


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Return the directory of a finished run in a workspace that has its rows."""
    data = two_labels()
    write_rows(WorkspaceLayout(tmp_path), data)
    return ran(tmp_path, data, "majority").directory


def scored_by(directory: Path) -> set[str]:
    """Return the columns by which a run is scored."""
    return {*record.read_record(directory).scores_by}


def test_two_that_score_at_once_keep_what_the_other_wrote(tmp_path: Path, run: Path) -> None:
    kept = tmp_path / "kept"
    shutil.copytree(run, kept)
    for _ in range(5):
        shutil.rmtree(run)
        shutil.copytree(kept, run)
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda name: Workspace(tmp_path).evaluate.score(by=name),
                          ("position", "source")))  # fmt: skip
        assert {"position", "source"} <= scored_by(run)
        assert {"position", "source"} <= {*pq.read_schema(run / "predictions.parquet").names}


def test_scoring_that_is_killed_leaves_the_run_as_it_was(
    tmp_path: Path, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = files_below(run)

    def killed(_: object) -> bytes:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(record, "sealed_json", killed)
        Workspace(tmp_path).evaluate.score(by="position")
    assert files_below(run) == before
    Workspace(tmp_path).evaluate.score(by="position")
    assert "position" in scored_by(run)

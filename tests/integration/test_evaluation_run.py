"""A run is done once, goes on after a kill, and never shows a model the test's answers."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from goldpan import Workspace
from goldpan.core.errors import EvaluationError, UsageError
from goldpan.core.result import json_data
from goldpan.core.storage.sealed import KEY, read_json, sealed_json
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.evaluation import record
from goldpan.evaluation import run as runner
from goldpan.evaluation.model import Answers, Model, TrainingContext, find_model
from goldpan.evaluation.protocol import find_protocol, protocols
from goldpan.evaluation.record import RunRecord, read_record, read_runs
from goldpan.evaluation.run import rescore, run_identity
from tests.comparing import two_labels, write_rows
from tests.evaluating import changed, ran, replaced, requirements
from tests.places import files_below
from tests.program import goldpan

DEFAULT = find_protocol("default")


@dataclass
class _Spy:
    """A model that keeps what it was shown."""

    lesson: TrainingContext | None = None
    asked: list[pa.Table] | None = None

    def model(self, **settings: Any) -> Model:
        return Model("spy", self.fit, settings)

    def fit(self, lesson: TrainingContext) -> _Spy:
        self.lesson, self.asked = lesson, []
        return self

    def answer(self, rows: pa.Table) -> Answers:
        assert self.asked is not None
        self.asked.append(rows)
        return Answers(["functional"] * len(rows))


def _run(root: Path, model: Model | str, seed: int = 0, protocol: str = "default") -> RunRecord:
    return ran(root, requirements(), model, protocol, seed)


def test_the_test_stays_closed_while_a_model_learns(tmp_path: Path) -> None:
    spy = _Spy()
    done = _run(tmp_path, spy.model())
    assert spy.lesson is not None and spy.lesson.validation is not None and spy.asked is not None
    splits = requirements().splits
    learned = set(spy.lesson.train["id"].to_pylist())
    chosen = set(spy.lesson.validation["id"].to_pylist())
    assert not (learned | chosen) & set(splits["test"]["id"].to_pylist())
    assert not learned & chosen
    assert learned | chosen == set(splits["train"]["id"].to_pylist())
    shown = [spy.lesson.unlabeled, *spy.asked]
    assert all("label" not in rows.column_names for rows in shown)
    assert done.test_opened == 1


def test_a_paper_that_chose_by_the_test_says_so(tmp_path: Path) -> None:
    spy = _Spy()
    done = _run(tmp_path, spy.model(), protocol="selu-paper")
    assert spy.lesson is not None
    assert spy.lesson.validation is not None
    assert spy.lesson.validation["id"].equals(requirements().splits["test"]["id"])
    assert any("look at the test" in defect for defect in done.protocol.defects)
    assert spy.lesson.validation_name == "the test set"


def test_a_finished_run_is_not_repeated(tmp_path: Path) -> None:
    first, second = _Spy(), _Spy()
    before = _run(tmp_path, first.model(depth=3))
    again = _run(tmp_path, second.model(depth=3))
    assert again.again
    assert second.lesson is None
    assert replace(again, again=False) == before
    for other in (_run(tmp_path, second.model(depth=4)), _run(tmp_path, second.model(depth=3), 1)):
        assert not other.again
        assert other.directory != before.directory


def test_scores_come_from_stored_predictions(tmp_path: Path) -> None:
    done = _run(tmp_path, "majority")
    path = done.directory / "predictions.parquet"
    table = pq.read_table(path)
    pq.write_table(replaced(table, answer=table["truth"].to_pylist()), path)
    task = requirements().task
    stored = rescore(WorkspaceLayout(tmp_path), done.directory, task)
    (read,) = read_runs(WorkspaceLayout(tmp_path))
    assert read.value == 1.0
    assert stored.scores.examples == 40
    assert done.scores != stored.scores


def test_the_same_run_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    made = [_run(tmp_path / name, "majority").directory for name in "ab"]
    for name in ("predictions.parquet", "train.parquet"):
        assert (made[0] / name).read_bytes() == (made[1] / name).read_bytes()
    results = [orjson.loads((path / "result.json").read_bytes()) for path in made]
    for result in results:
        result.pop("costs")
        result.pop(KEY)
    assert results[0] == results[1]


_KILLED = """
import os, signal, sys
from pathlib import Path
from goldpan.evaluation.model import Model, Answers
from goldpan.evaluation.protocol import find_protocol
from goldpan.evaluation.run import run
from goldpan.core.terminal import Reporter
from goldpan.core.storage.workspace import WorkspaceLayout
from tests.evaluating import ran, replaced, requirements

class Fitted:
    def answer(self, rows):
        os.kill(os.getpid(), signal.SIGKILL)

def fit(lesson):
    (lesson.directory / "checkpoint").write_text("half")
    return Fitted()

run(WorkspaceLayout(Path(sys.argv[1])), requirements(), Model("spy", fit),
    find_protocol("default"), 0, Reporter(quiet=True))
"""


def test_goes_on_after_a_kill_and_counts_how_often_the_test_was_opened(tmp_path: Path) -> None:
    assert goldpan(tmp_path, program=_KILLED).code == -signal.SIGKILL
    with pytest.raises(UsageError, match="no finished run"):
        read_runs(WorkspaceLayout(tmp_path))
    spy = _Spy()
    done = _run(tmp_path, spy.model())
    assert spy.lesson is not None
    assert not done.again
    assert done.test_opened == 2
    assert not list(tmp_path.rglob("*.work"))


def test_a_run_that_another_process_finished_meanwhile_is_not_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = runner._locked

    @contextmanager
    def late(work: Path) -> Iterator[None]:
        monkeypatch.undo()
        assert not _run(tmp_path, _Spy().model()).again
        with real(work):
            yield

    monkeypatch.setattr(runner, "_locked", late)
    spy = _Spy()
    assert _run(tmp_path, spy.model()).again
    assert spy.lesson is None
    assert not list(tmp_path.rglob("*.work"))


def test_labels_tell_runs_apart() -> None:
    data = requirements()
    other = replace(data.task, labels=tuple(reversed(data.task.labels)))
    identities = [
        run_identity(version, _Spy().model(), DEFAULT, 0)
        for version in (data, replace(data, task=other))
    ]
    assert identities[0] != identities[1]


def test_says_what_cannot_be_run(tmp_path: Path) -> None:
    data = requirements()
    closed = replace(data, splits={"train": data.splits["train"]})
    with pytest.raises(EvaluationError, match="requirement_type has no test split"):
        ran(tmp_path, closed, _Spy().model())
    with pytest.raises(UsageError, match="the key depth is unknown"):
        find_model("majority", {"depth": 3})
    with pytest.raises(UsageError, match="did you mean nlbse24"):
        find_protocol("nlbse2")


def test_a_record_of_another_version_is_told_with_the_remedy(tmp_path: Path) -> None:
    path = _run(tmp_path, "majority").directory / "result.json"
    plain = orjson.loads(path.read_bytes())
    for stored in (2, 4, "3"):
        path.write_bytes(sealed_json({**plain, "format": stored}))
        with pytest.raises(EvaluationError, match=f"the format {stored} of another v") as told:
            read_runs(WorkspaceLayout(tmp_path))
        assert "Remove its directory" in told.value.remedy
    path.write_bytes(sealed_json({"format": 3, "task": "requirement_type"}))
    with pytest.raises(EvaluationError, match=r"cannot be read \(metric: Field required"):
        read_runs(WorkspaceLayout(tmp_path))


def test_what_is_stored_is_what_is_in_memory(tmp_path: Path) -> None:
    done = _run(tmp_path, "majority")
    stored = read_json(done.directory / "result.json")
    assert json_data(done) == stored
    assert replace(read_record(done.directory), again=False) == done


def test_protocols_of_papers_name_their_defects() -> None:
    assert [name for name, protocol in protocols().items() if not protocol.defects] == ["default"]


def test_a_metric_that_the_task_does_not_have_is_refused_before_training(tmp_path: Path) -> None:
    data = changed(requirements(), metric="macro-f1")
    with pytest.raises(UsageError, match=r"no metric of binary tasks 'macro-f1'.*macro_f1"):
        ran(tmp_path, data, "majority")


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


def test_a_damaged_result_is_named(tmp_path: Path) -> None:
    done = _run(tmp_path, "majority")
    (done.directory / "result.json").write_text("{")
    with pytest.raises(EvaluationError, match=r"result\.json cannot be read"):
        read_runs(WorkspaceLayout(tmp_path))

"""A trunk never sees an answer to a row that any task tests, and the stack learns with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from goldpan.core.errors import EvaluationError, UsageError
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.datasets.tasks.data import TaskData, read_task_data, task_data
from goldpan.datasets.tasks.registry import find_task
from goldpan.evaluation.model import Answers, Model, TrainingContext, find_model
from goldpan.evaluation.models.features import Documents, Features, spoken
from goldpan.evaluation.protocol import find_protocol, hold_out
from goldpan.evaluation.run import RunResult, run
from goldpan.papers.nlbse import stacked, trunk
from goldpan.papers.nlbse.kernels import Similarities, Words
from goldpan.papers.nlbse.trunk import places_of, shared_rows
from tests.evaluating import comments, points, requirements, rows, rows_of, types
from tests.papers.nlbse.nlbse_comments import TASKS, import_comments
from tests.tiny_models import tiny

pytest.importorskip("sklearn")
QUIET = Reporter(quiet=True)
DEFAULT = find_protocol("default")
QUICK = {"tokens": 32, "epochs": 1, "rate": 1e-3, "precision": "float32"}


@pytest.fixture(scope="module")
def weights() -> Path:
    return tiny("bert")


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> WorkspaceLayout:
    return import_comments(tmp_path_factory.mktemp("comments"))


def _data(workspace: WorkspaceLayout, name: str) -> TaskData:
    return read_task_data(workspace.dataset(name), find_task(name))


def _run(
    workspace: WorkspaceLayout, data: TaskData, weights: Path, seed: int = 0, **settings: Any
) -> RunResult:
    model = find_model("stacked", {"weights": str(weights), **QUICK, **settings})
    return run(workspace, data, model, DEFAULT, seed, QUIET)


def _f1(ran: RunResult, name: str = "macro_f1") -> float:
    return ran.record.scores.value(name) or 0.0


class _Seen:
    """A model that keeps the lesson, and answers nothing."""

    lesson: TrainingContext

    def fit(self, lesson: TrainingContext) -> _Seen:
        self.lesson = lesson
        return self

    def answer(self, rows: pa.Table) -> Answers:
        return Answers([None] * len(rows))


def _lesson(workspace: WorkspaceLayout, data: TaskData, **more: Any) -> TrainingContext:
    seen = _Seen()
    run(workspace, data, Model("seen", seen.fit), more.get("protocol", DEFAULT), 0, QUIET)
    return seen.lesson


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in (1, 2))]
)
def test_no_row_that_a_task_tests_is_learned_from(tmp_path: Path, seed: int) -> None:
    workspace = import_comments(tmp_path, seed)
    tests = {name: set(places_of(_data(workspace, name).splits["test"])) for name in TASKS}
    learned = []
    for name in TASKS:
        data = _data(workspace, name)
        shared = shared_rows(_lesson(workspace, data), 0.2)
        places = set(places_of(shared.texts))
        assert places
        assert all(places.isdisjoint(test) for test in tests.values())
        # The partitions do cross: without care, answers would.
        assert set(places_of(data.splits["train"])) & {
            position for test in tests.values() for position in test
        }
        assert len(places) <= 0.8 * len(data.splits["train"])
        learned.append((shared.columns, places_of(shared.texts), shared.targets.tolist()))
    assert {name for name, _ in learned[0][0]} == set(TASKS)
    assert learned[0] == learned[1] == learned[2]


def test_no_document_that_is_held_out_is_learned_from(workspace: WorkspaceLayout) -> None:
    data, rules = hold_out(_data(workspace, TASKS[0]), DEFAULT)
    held = set(data.splits["test"]["document"].to_pylist())
    assert held.isdisjoint(data.splits["train"]["document"].to_pylist())
    lesson = _lesson(workspace, data, protocol=rules)
    learned = shared_rows(lesson, 0.2).texts["document"].to_pylist()
    assert learned
    assert held.isdisjoint(learned)


def test_all_tasks_hold_out_the_same_documents(workspace: WorkspaceLayout) -> None:
    held_out = [hold_out(_data(workspace, name), DEFAULT) for name in TASKS]
    held = {frozenset(data.splits["test"]["document"].to_pylist()) for data, _ in held_out}
    assert len(held) == 1
    data, rules = held_out[0]
    result = run(workspace, data, find_model("majority", {}), rules, 0, QUIET).result
    usual = run(
        workspace, _data(workspace, TASKS[0]), find_model("majority", {}), DEFAULT, 0, QUIET
    ).result
    assert result["protocol"]["name"] == "default+document"
    assert result["split_hash"] != usual["split_hash"]
    assert result["data_hash"] == usual["data_hash"]


def test_each_document_is_held_out_once(workspace: WorkspaceLayout) -> None:
    data = _data(workspace, TASKS[0])
    kinds = ("document", "document:1", "document:2", "document:3", "document:4")
    held_out = [hold_out(data, DEFAULT, kind) for kind in kinds]
    rows = [row for held, _ in held_out for row in held.splits["test"]["id"].to_pylist()]
    every = [row for table in data.splits.values() for row in table["id"].to_pylist()]
    assert sorted(rows) == sorted(every)
    assert len({rules.name for _, rules in held_out}) == 5


def test_says_what_cannot_be_held_out() -> None:
    data = requirements()
    for kind, message in (("line", "no column 'line'"), ("document:5", "held out by 'document:5'")):
        with pytest.raises(UsageError, match=message):
            hold_out(data, DEFAULT, kind)
    nameless = {
        name: table.set_column(
            table.schema.get_field_index("document"), "document", pa.nulls(len(table), pa.string())
        )
        for name, table in data.splits.items()
    }
    with pytest.raises(UsageError, match="name no document"):
        hold_out(task_data(data.task, nameless), DEFAULT)


def test_tasks_share_one_trunk(
    workspace: WorkspaceLayout, weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trunks = workspace.root / "cache" / "trunks"
    first = _run(workspace, _data(workspace, TASKS[0]), weights)
    assert _f1(first) > 0.6
    (folder,) = (path for path in trunks.iterdir() if path.is_dir())

    def fail(*_: Any) -> None:
        raise EvaluationError("It is trained again", "Share it")

    with monkeypatch.context() as patch:
        patch.setattr(trunk, "_train", fail)
        _run(workspace, _data(workspace, TASKS[1]), weights)
        with pytest.raises(EvaluationError, match="trained again"):
            _run(workspace, _data(workspace, TASKS[1]), weights, seed=1)
    assert [path for path in trunks.iterdir() if path.is_dir()] == [folder]
    both = _run(workspace, _data(workspace, TASKS[1]), weights, seeds=2)
    assert len([path for path in trunks.iterdir() if path.is_dir()]) == 2
    assert both.result["settings"]["seeds"] == 2


def test_the_same_seed_gives_the_same_answers(tmp_path: Path, weights: Path) -> None:
    made = []
    for name in "ab":
        (tmp_path / name).mkdir()
        workspace = import_comments(tmp_path / name)
        done = _run(workspace, _data(workspace, TASKS[0]), weights)
        made.append((done.directory / "predictions.parquet").read_bytes())
    assert made[0] == made[1]


def test_learns_every_type_it_answers(tmp_path: Path, weights: Path) -> None:
    workspace = WorkspaceLayout(tmp_path)
    for data in (requirements(120, 40), rows_of("issue_type", types(), 120)):
        assert _f1(_run(workspace, data, weights)) > 0.8
    data = rows_of("comment_type_python", comments(), 120)
    assert _f1(_run(workspace, data, weights, context="none"), "micro_f1") > 0.8


def test_says_what_it_does_not_answer(
    tmp_path: Path, weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = WorkspaceLayout(tmp_path)
    with pytest.raises(EvaluationError, match="not answer story_points, which is regression"):
        _run(workspace, rows_of("story_points", points(40), 30), weights)
    monkeypatch.setattr(stacked, "_MOST_ROWS", 50)
    with pytest.raises(EvaluationError, match="every two of 80 train rows"):
        _run(workspace, requirements(), weights)
    for name, value in (("context", "far"), ("precision", "float8"), ("epochs", -1), ("folds", 1)):
        with pytest.raises(UsageError, match=f"{name} of the model stacked cannot be {value!r}"):
            find_model("stacked", {"weights": str(weights), name: value})


def _runs_of_labels(documents: int = 30) -> TaskData:
    """A category goes on for some sentences that themselves say nothing."""
    task = find_task("nlbse23_java_usage")
    made = rows(task, [("sand", task.label_names[0])] * documents * 8)
    for name, values in (
        ("document", [f"C{index // 8}" for index in range(len(made))]),
        ("position", [index % 8 for index in range(len(made))]),
        ("repo", ["octo/gem"] * len(made)),
        ("text", [f"sand {index * 7919 % 997}" for index in range(len(made))]),
        (
            "label",
            [
                task.label_names[(index // 8 + (index % 8 >= 3 + index // 8 % 3)) % 2]
                for index in range(len(made))
            ],
        ),
    ):
        index = made.schema.get_field_index(name)
        made = made.set_column(
            index, made.schema.field(name), pa.array(values, made.schema.types[index])
        )
    test = np.random.default_rng(0).random(len(made)) < 0.25
    return task_data(
        task, {"train": made.filter(pa.array(~test)), "test": made.filter(pa.array(test))}
    )


def test_places_help_in_documents_cut_apart_and_not_in_new_ones(
    tmp_path: Path, weights: Path
) -> None:
    workspace, data = WorkspaceLayout(tmp_path), _runs_of_labels()
    near = _f1(_run(workspace, data, weights, context="places", epochs=0))
    assert near > _f1(_run(workspace, data, weights, context="none", epochs=0)) + 0.15
    new, rules = hold_out(data, DEFAULT)
    model = find_model(
        "stacked", {"weights": str(weights), **QUICK, "context": "places", "epochs": 0}
    )
    assert _f1(run(workspace, new, model, rules, 0, QUIET)) < near - 0.1


def test_rows_without_a_document_are_near_nothing() -> None:
    table = requirements().splits["train"].slice(0, 4)
    nameless = table.set_column(
        table.schema.get_field_index("document"), "document", pa.nulls(4, pa.string())
    )
    view = Words(Features(nameless, nameless, "none"))
    alone = Similarities(view, nameless, None).of(nameless)
    near = Similarities(view, nameless, Documents(nameless)).of(nameless)
    assert np.array_equal(alone, near)
    assert np.allclose(np.diag(alone), 1)
    assert np.allclose(alone, alone.T)


def test_a_trunk_that_was_cut_short_is_made_anew(
    tmp_path: Path, weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = import_comments(tmp_path)
    data = _data(workspace, TASKS[0])

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(trunk, "_learn", stop)
        with pytest.raises(KeyboardInterrupt):
            _run(workspace, data, weights)
    trunks = workspace.root / "cache" / "trunks"
    assert not [path for path in trunks.iterdir() if path.is_dir()]
    _run(workspace, data, weights)
    (made,) = (path for path in trunks.iterdir() if path.is_dir())
    (made / "head.json").write_text("{")
    with pytest.raises(EvaluationError, match="damaged trunk"):
        _run(workspace, data, weights, folds=4)


def test_names_are_spoken() -> None:
    assert spoken("FileSystemHistoryStore.java") == "File System History Store"
    assert spoken("BlElement") == "Bl Element"
    assert spoken("XMLParser2") == "XML Parser 2"
    assert spoken("A" * 1_000_000).count("A") == 200

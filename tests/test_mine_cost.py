"""What mining costs: exact counts from the twin, and how well they are predicted."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from goldpan.miners.estimate import estimate_graphql
from goldpan.miners.mine import Path as Via
from goldpan.miners.mine import predict
from tests.mining import BOTH, PACE, SLUICE, TOKEN, Notes, mine_twin, twin_settings
from tests.twin import Faults, Twin, synthetic_world, workload_world

MILL = "workload/mill"


@pytest.mark.parametrize("reviews", [1, 3])
def test_the_workload_fits_its_budget(reviews: int, tmp_path: Path) -> None:
    """1,000 issues with 4 comments, 1,000 pulls with 3 review comments, all that hangs on them."""
    with Twin(workload_world(reviews=reviews)) as twin:
        mined = mine_twin(twin, tmp_path)
        assert twin.points == mined.points <= 150
        assert twin.count == mined.requests <= 180
    assert mined.coverage is not None
    assert mined.coverage.complete
    stored = {count.kind: count.stored for count in mined.coverage.counts}
    assert stored == {
        "issues": 1_000,
        "pulls": 1_000,
        "comments": 8_000,
        "reviews": 1_000 * reviews,
        "review comments": 3_000,
        "files": 2_000,
    }
    assert mined.rows["references"] >= 1_000 * (2 + 2 + 1)  # crossed both ways, closing, closed by
    assert mined.predicted.points == pytest.approx(twin.points, rel=0.25)
    assert mined.predicted.requests == pytest.approx(twin.count, rel=0.25)


def test_a_repository_of_numpy_s_size_fits_one_hour() -> None:
    estimate = estimate_graphql(13_500, 17_500, 3.0, 0, tokens=1, concurrency=2)
    assert 1_500 < estimate.points < 5_000
    assert estimate.requests < 5_000
    assert estimate.seconds < 3_600


def test_an_estimate_of_an_update_is_the_sweep() -> None:
    estimate = estimate_graphql(1_000, 1_000, 3.0, 2_000, tokens=1, concurrency=2)
    assert estimate.points == 1 + 10 + 10


def test_waiting_for_the_limit_is_predicted() -> None:
    one = estimate_graphql(200_000, 100_000, 3.0, 0, tokens=1, concurrency=8)
    two = estimate_graphql(200_000, 100_000, 3.0, 0, tokens=2, concurrency=8)
    assert one.points == two.points > 10_000
    assert one.seconds >= 3_600 * ((one.points - 1) // 5_000)
    assert two.seconds < one.seconds


@pytest.mark.parametrize("via", BOTH)
def test_a_small_repository_is_predicted(via: Via, tmp_path: Path) -> None:
    with Twin(synthetic_world()) as twin:
        mined = mine_twin(twin, tmp_path, via)
        assert mined.predicted.requests == pytest.approx(twin.count, rel=0.25)


@pytest.mark.parametrize("via", BOTH)
def test_a_dry_run_asks_little_and_writes_nothing(via: Via, tmp_path: Path) -> None:
    with Twin(workload_world(issues=150, pulls=120)) as twin:
        settings = twin_settings(twin, tmp_path / "new", via)
        estimate = predict(settings, MILL, Notes(), PACE)
        assert twin.count == {"graphql": 1, "rest": 5}[via]
        assert not (tmp_path / "new").exists()
        twin.requests.clear()
        mined = mine_twin(twin, tmp_path / "other", via)
        assert mined.predicted == estimate
        assert estimate.requests == pytest.approx(twin.count, rel=0.25)
        assert estimate.seconds > 0


@pytest.mark.parametrize("via", BOTH)
def test_the_command_line_s_dry_run(via: Via, tmp_path: Path) -> None:
    with Twin(synthetic_world()) as twin:
        command = [sys.executable, "-c", "from goldpan.cli import mine_main; mine_main()"]
        options = ["--repo", SLUICE, "--workspace", str(tmp_path / "new"), "--via", via]
        done = subprocess.run(
            [*command, *options, "--api-url", twin.url, "--dry-run"],
            env={**os.environ, "GITHUB_TOKEN": TOKEN},
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()
        assert twin.count == {"graphql": 1, "rest": 5}[via]
    assert not (tmp_path / "new").exists()
    told = done.stdout.decode().split()
    assert {SLUICE, "8" if via == "graphql" else "100"} <= set(told)


def test_faults_do_not_make_it_crawl(tmp_path: Path) -> None:
    with Twin(workload_world(issues=400, pulls=400), Faults(rate=0.1, seed=3)) as twin:
        mined = mine_twin(twin, tmp_path)
        assert mined.coverage is not None
        assert mined.coverage.complete
        assert twin.count <= 5 * mined.predicted.requests

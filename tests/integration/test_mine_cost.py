"""What mining costs: exact counts from the twin, and how well they are predicted."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from goldpan.miners.github.announced import Path as Via
from goldpan.miners.github.client import GitHub
from goldpan.miners.github.cost import expected_seconds
from goldpan.miners.github.limits import TokenPool
from tests.mining import (
    BOTH,
    PACE,
    TOKEN,
    Notes,
    coverage_of,
    graphql_daily,
    mine_twin,
    predict,
    twin_settings,
)
from tests.twin import Editor, Faults, Limits, Twin, workload_world

MILL = "workload/mill"


def test_waiting_for_the_limit_is_predicted() -> None:
    github = GitHub("http://localhost", "", TokenPool((TOKEN,), PACE))
    for hourly in (1_000, 5_000, 15_000):
        (token,) = github.pool.tokens
        github.pool.observe(token, "core", {"x-ratelimit-limit": str(hourly)})
        assert expected_seconds(github, "core", hourly) < 3_600
        assert expected_seconds(github, "core", 2 * hourly + 1) == 7_200


@pytest.mark.parametrize("limit", [1_000, 15_000])
def test_the_token_s_real_limit_is_known(limit: int, tmp_path: Path) -> None:
    """An Actions token has 1,000 requests an hour, an Enterprise app's 15,000."""
    limits = Limits(core=limit, graphql=limit)
    with Twin(workload_world(issues=1_500, pulls=10), limits=limits) as twin:
        settings = twin_settings(twin, tmp_path / "new", "rest")
        estimate = predict(settings, MILL, Notes(), PACE)
    assert estimate.requests > 1_500
    assert (estimate.seconds >= 3_600) == (limit == 1_000)


@pytest.mark.parametrize("via", BOTH)
def test_a_dry_run_asks_little_and_writes_nothing(via: Via, tmp_path: Path) -> None:
    with Twin(workload_world(issues=150, pulls=120)) as twin:
        settings = twin_settings(twin, tmp_path / "new", via)
        estimate = predict(settings, MILL, Notes(), PACE)
        assert twin.count <= 12  # facts, the schema, four counts, the newest number, a sample
        assert not (tmp_path / "new").exists()
        twin.requests.clear()
        mined = mine_twin(twin, tmp_path / "other", via)
        assert mined.predicted.requests == pytest.approx(twin.count, rel=0.05)
        assert estimate.requests == pytest.approx(twin.count, rel=0.05)
        assert estimate.seconds > 0


def test_faults_do_not_make_it_crawl(tmp_path: Path) -> None:
    with Twin(workload_world(issues=100, pulls=100), Faults(rate=0.1, seed=3)) as twin:
        mined = mine_twin(twin, tmp_path)
        assert coverage_of(mined).complete
        assert twin.count <= 5 * mined.predicted.requests


@pytest.mark.parametrize("via", BOTH)
def test_an_update_is_priced_by_what_it_will_send(via: Via, tmp_path: Path) -> None:
    world = workload_world(issues=150, pulls=120)
    with Twin(world) as twin:
        mine_twin(twin, tmp_path, via)
        editor = Editor(world)
        for number in range(1, 200, 3):
            editor.comment(number, "This happens to me as well.")
        estimate = predict(twin_settings(twin, tmp_path, via), MILL, Notes(), PACE)
        twin.requests.clear()
        mined = mine_twin(twin, tmp_path, via)
        assert estimate.requests == mined.predicted.requests
        assert estimate.requests == pytest.approx(twin.count, rel=0.05)
        assert twin.count < 0.6 * 270


@graphql_daily
def test_a_crawl_since_a_date_is_priced_by_what_it_will_send(via: Via, tmp_path: Path) -> None:
    world = workload_world(issues=150, pulls=120)
    Editor(world, start="2030-01-01T00:00:00Z").comment(7, "Still there.")
    since = datetime(2029, 1, 1, tzinfo=UTC)
    with Twin(world) as twin:
        settings = twin_settings(twin, tmp_path, via, since=since)
        estimate = predict(settings, MILL, Notes(), PACE)
        twin.requests.clear()
        mined = mine_twin(twin, tmp_path, via, since=since)
        assert estimate.requests == mined.predicted.requests
        assert estimate.requests == pytest.approx(twin.count, rel=0.05, abs=1)
        assert twin.count < 20

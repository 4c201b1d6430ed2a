"""What mining costs is predicted; repositories that are mined at once share one limit."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from goldpan.core.errors import GoldpanError, RepositoryError, UsageError
from goldpan.core.settings.config import Settings
from goldpan.miners.github.announced import Path as Via
from goldpan.miners.github.client import GitHub
from goldpan.miners.github.cost import CostEstimate, expected_seconds
from goldpan.miners.github.limits import TokenPool
from goldpan.miners.mine import MineResult, mine, predict_many
from tests.mining import (
    BOTH,
    PACE,
    SOFT,
    TOKEN,
    Notes,
    Watched,
    assert_same,
    command_line,
    coverage_of,
    graphql_daily,
    keys_kept_twice,
    mine_twin,
    predict,
    table_bytes,
    twin_settings,
)
from tests.program import Running, goldpan, start
from tests.twin import Editor, Faults, Limits, Twin, mills_world, workload_world

MILLS = [f"workload/mill-{index}" for index in range(3)]
_KILLED_AT = 12


@pytest.fixture(scope="module")
def twin() -> Iterable[Twin]:
    with Twin(mills_world(3, issues=8, pulls=4), limits=SOFT) as twin:
        yield twin


def mined(
    settings: Settings, names: Iterable[str], notes: Notes | None = None
) -> dict[str, MineResult | GoldpanError]:
    return mine(settings, list(names), notes or Notes(), PACE)


def predicted(settings: Settings, names: list[str]) -> dict[str, CostEstimate | GoldpanError]:
    return predict_many(settings, names, Notes(), PACE)


@graphql_daily
def test_at_once_gives_the_bytes_of_one_after_another(twin: Twin, via: Via, tmp_path: Path) -> None:
    twin.requests.clear()
    for name in MILLS:
        mine_twin(twin, tmp_path / "alone", via, repo=name)
    requests = twin.count
    results = mined(twin_settings(twin, tmp_path / "together", via), MILLS)
    assert twin.count == 2 * requests
    for name in MILLS:
        assert_same(table_bytes(tmp_path / "together", name), table_bytes(tmp_path / "alone", name))
        result = results[name]
        assert isinstance(result, MineResult)
        assert result.requests == requests / len(MILLS)  # each counts its own
        assert coverage_of(result).complete


@pytest.mark.parametrize(("asked", "via"), [(mined, "rest"), (predicted, "graphql")])
def test_no_more_requests_are_under_way_than_of_one(
    asked: Callable[[Settings, list[str]], object], via: Via, tmp_path: Path
) -> None:
    limits = replace(SOFT, concurrency=2)  # refuses a third at once
    with Twin(mills_world(4, issues=8, pulls=4), limits=limits) as twin:
        names = [repository.full_name for repository in twin.world.repositories]
        asked(twin_settings(twin, tmp_path, via, concurrency=2, at_once=4), names)
        assert {request.status for request in twin.requests} == {200}


def test_a_secondary_limit_slows_all_and_fails_none(twin: Twin, tmp_path: Path) -> None:
    twin.trip_secondary(3)
    results = mined(twin_settings(twin, tmp_path, "graphql"), MILLS)
    assert all(isinstance(result, MineResult) and not result.failure for result in results.values())


def test_a_repository_named_twice_is_mined_once(twin: Twin, tmp_path: Path) -> None:
    twin.requests.clear()
    results = mined(twin_settings(twin, tmp_path, "graphql"), [MILLS[0], MILLS[0].upper()])
    assert len(results) == 1


def test_two_former_names_of_one_repository_take_turns(tmp_path: Path) -> None:
    with Twin(mills_world(1, issues=3, pulls=1)) as twin:
        twin.world.add_former_name("workload/old", MILLS[0])
        results = mined(twin_settings(twin, tmp_path, "graphql"), ["workload/old", MILLS[0]])
    assert all(isinstance(result, MineResult) for result in results.values())


@pytest.mark.parametrize("asked", [mined, predicted])
def test_settings_that_cannot_work_are_told_before_anything_is_asked(
    asked: Callable[[Settings, list[str]], object], twin: Twin, tmp_path: Path
) -> None:
    twin.requests.clear()
    with pytest.raises(UsageError, match="without a token"):
        asked(twin_settings(twin, tmp_path, "graphql", tokens=()), MILLS)
    assert not twin.count


def test_killed_in_the_middle_nothing_is_fetched_twice(tmp_path: Path) -> None:
    """As of one repository: what was under way is asked again, and what each begins with."""
    arguments = [word for name in MILLS for word in ("--repo", name)]
    with Twin(mills_world(3, issues=8, pulls=4), limits=SOFT) as twin:
        common = ["--workspace", str(tmp_path), "--api-url", twin.url, "--via", "rest"]
        running: list[Running] = []

        def kill(count: int) -> None:
            if running and count >= _KILLED_AT * len(MILLS):
                running.pop().kill()

        twin.requests = Watched(kill)
        with start("mine", *common, *arguments, environment={"GITHUB_TOKEN": TOKEN}) as first:
            running.append(first)
            assert first.wait().code == -signal.SIGKILL
        again = command_line(twin, tmp_path, "--via", "rest", *arguments, "--json")
        assert again.code == 0, again.err
        mine_twin(twin, tmp_path / "alone", "rest", repo=MILLS[0])
        alone = table_bytes(tmp_path / "alone", MILLS[0])
        assert_same(table_bytes(tmp_path, MILLS[0]), alone)
    for name in MILLS:
        assert keys_kept_twice(tmp_path, name) == []
    assert [result["repo"] for result in json.loads(again.out)] == MILLS


def test_a_log_of_json_lines(twin: Twin, tmp_path: Path) -> None:
    words = ["--log-format", "json", "mine", "--workspace", str(tmp_path), "--api-url", twin.url]
    names = [word for name in (MILLS[0], "workload/gone") for word in ("--repo", name)]
    done = goldpan(*words, *names, "--json", environment={**os.environ, "GITHUB_TOKEN": TOKEN})
    assert done.code == 1, done.err
    lines = [json.loads(line) for line in done.err.splitlines()]
    assert {line["event"] for line in lines} == {"note", "error"}
    assert any(line["said"].startswith(f"{MILLS[0]}: Predicted: ") for line in lines)
    (error,) = (line for line in lines if line["event"] == "error")
    assert error["problem"].startswith("workload/gone does not exist")
    assert [result["repo"] for result in json.loads(done.out)] == [MILLS[0], "workload/gone"]


def test_the_command_line_tells_of_all(twin: Twin, tmp_path: Path) -> None:
    names = tmp_path / "names.txt"
    names.write_text("\n".join([*MILLS, "workload/gone  # was renamed"]), encoding="utf-8")
    done = command_line(twin, tmp_path / "lab", "--repo-file", str(names), "--at-once", "2")
    assert done.code == 1, done.err
    for name in MILLS:
        assert f"{name}: Predicted: " in done.err
        assert f"{name}: 12 entries, " in done.err
    assert "Error: workload/gone does not exist" in done.err


def test_each_cost_is_that_alone_and_none_stops_the_others(twin: Twin, tmp_path: Path) -> None:
    settings = twin_settings(twin, tmp_path, "graphql", at_once=3)
    names = [MILLS[2], "workload/gone", MILLS[0], MILLS[2]]
    results = predicted(settings, names)
    assert list(results) == names[:3]
    assert isinstance(results["workload/gone"], RepositoryError)
    for name in (MILLS[0], MILLS[2]):
        answer = results[name]
        assert isinstance(answer, CostEstimate)
        assert answer == predict(settings, name, Notes(), PACE)


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

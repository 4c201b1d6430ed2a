"""Repositories that are mined at once, or whose cost is asked, share one limit, each as alone."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from goldpan.core.errors import GoldpanError, RepositoryError, UsageError
from goldpan.core.settings.config import Settings
from goldpan.miners.github.announced import Path as Via
from goldpan.miners.github.cost import CostEstimate
from goldpan.miners.mine import MineResult, mine_many, predict_many
from tests.mining import (
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
from tests.twin import Twin, mills_world

MILLS = [f"workload/mill-{index}" for index in range(3)]
_KILLED_AT = 12


@pytest.fixture(scope="module")
def twin() -> Iterable[Twin]:
    with Twin(mills_world(3, issues=8, pulls=4), limits=SOFT) as twin:
        yield twin


def mined(
    settings: Settings, names: Iterable[str], notes: Notes | None = None
) -> dict[str, MineResult | GoldpanError]:
    return mine_many(settings, list(names), notes or Notes(), PACE)


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

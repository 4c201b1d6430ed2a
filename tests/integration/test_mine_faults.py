"""Whatever goes wrong on the way, the same tables come home, or what is missing is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from goldpan.core.errors import AuthenticationError, RepositoryError, ServerError
from goldpan.miners.github.announced import Path as Via
from goldpan.miners.mine import MineResult
from tests.drawing import daily
from tests.mining import (
    BOTH,
    PACE,
    SLUICE,
    SOFT,
    Notes,
    Watched,
    assert_same,
    copy_mined,
    coverage_of,
    graphql_daily,
    mine_twin,
    operations,
    rest_daily,
    rows,
    table_bytes,
    undisturbed,
)
from tests.twin import Editor, Fault, Faults, Limits, Paging, Twin, heavier_than, synthetic_world
from tests.twin.asking import titled
from tests.twin.faults import KINDS

HEAVY = Fault("502", "GraphQL", when=heavier_than(8))
both = pytest.mark.parametrize("via", BOTH)
CLEAN_REQUESTS: dict[Via, int] = {"graphql": 12, "rest": 123}


def gaps(mined: MineResult) -> list[tuple[int | None, str]]:
    assert coverage_of(mined).finished
    for gap in coverage_of(mined).gaps:
        assert gap.reason
    return [(gap.number, gap.part) for gap in coverage_of(mined).gaps]


def assert_whole(mined: MineResult, workspace: Path, via: Via = "graphql") -> None:
    """Check that nothing is missing, and the tables are those of a run with nothing in the way."""
    assert gaps(mined) == []
    assert_same(table_bytes(workspace), undisturbed(via))


@both
def test_the_measure_of_what_follows(via: Via, tmp_path: Path) -> None:
    with Twin(synthetic_world()) as twin:
        mined = mine_twin(twin, tmp_path, via)
        assert mined.requests == twin.count == CLEAN_REQUESTS[via]
        if via == "graphql":
            assert mined.points == twin.points
    assert gaps(mined) == []


@both
@pytest.mark.parametrize("rate", daily([0.3], [0.1]))
def test_faults_of_every_kind(via: Via, rate: float, tmp_path: Path) -> None:
    faults = Faults(rate=rate, kinds=KINDS, seed=7, max_consecutive=3)
    with Twin(synthetic_world(), faults, SOFT) as twin:
        assert_whole(mine_twin(twin, tmp_path, via), tmp_path, via)
        assert len({request.fault for request in twin.requests}) > 1


@rest_daily
def test_too_slow_is_asked_again(via: Via, tmp_path: Path) -> None:
    faults = Faults(rate=0.5, kinds=("late",), wait=2.0, max_consecutive=1, only="Issues|/1")
    with Twin(synthetic_world(), faults) as twin:
        mined = mine_twin(twin, tmp_path, via, timeout=1.0, concurrency=8)
        assert twin.count > CLEAN_REQUESTS[via]
    assert_whole(mined, tmp_path, via)


def test_heavy_queries_shrink(tmp_path: Path) -> None:
    with Twin(synthetic_world(), Faults(chosen=[HEAVY])) as twin:
        mined = mine_twin(twin, tmp_path)
        tried = len([request for request in twin.requests if request.fault])
        entries = [r for r in twin.requests if r.operation in ("Issues", "Pulls") and not r.fault]
    assert_whole(mined, tmp_path)
    assert 0 < tried <= 16  # two kinds, two sizes too large, two workers, two tries each
    assert 60 / 8 <= len(entries) <= 60 / 4 + 4


def test_a_size_that_works_is_remembered(tmp_path: Path) -> None:
    world = synthetic_world()
    with Twin(world, Faults(chosen=[HEAVY])) as twin:
        mine_twin(twin, tmp_path)
        editor = Editor(world)
        for number in list(world.main.entries):
            editor.label(number, "touched")
        twin.requests.clear()
        mine_twin(twin, tmp_path)
        first = next(r for r in twin.requests if r.operation in ("Issues", "Pulls"))
        assert first.fault is None


def test_a_heavy_sweep_shrinks_too(tmp_path: Path) -> None:
    def heavy(operation: str | None, variables: Mapping[str, object]) -> bool:
        return int(str(variables["first"])) > 9

    with Twin(synthetic_world(), Faults(chosen=[Fault("502", "Sweep", when=heavy)])) as twin:
        assert_whole(mine_twin(twin, tmp_path), tmp_path)


@pytest.mark.parametrize(
    ("error", "title"),
    [
        ("502", "Crash on an empty stream"),
        ("SOMETHING_WENT_WRONG", "Sort stably"),
        pytest.param("502", "Sort stably", marks=pytest.mark.nightly),
        pytest.param("SOMETHING_WENT_WRONG", "Crash on an empty stream", marks=pytest.mark.nightly),
    ],
)
def test_an_entry_that_cannot_be_had(error: str, title: str, tmp_path: Path) -> None:
    world = synthetic_world()
    number = titled(world, title)
    with Twin(world, Faults(chosen=[Fault(error, "GraphQL", number)])) as twin:
        mined = mine_twin(twin, tmp_path)
        assert gaps(mined) == [(number, "entry")]
        assert twin.count <= 60
        numbers = {row["number"] for row in rows(tmp_path, "entries")}
        assert numbers == set(world.main.entries) - {number}
        (gap,) = coverage_of(mined).gaps
        assert error in gap.reason
        twin.faults = Faults()
        twin.requests.clear()
        assert_whole(mine_twin(twin, tmp_path), tmp_path)
        assert twin.count <= 8  # the sweeps, the one entry and its further pages


def test_a_page_of_an_entry_that_cannot_be_had(tmp_path: Path) -> None:
    world = synthetic_world()
    number = titled(world, "What should 1.0 contain?")
    entry = world.main.entries[number].node_id

    def second_page(operation: str | None, variables: Mapping[str, object]) -> bool:
        return entry in variables.values()

    with Twin(world, Faults(chosen=[Fault("502", "Continuations", when=second_page)])) as twin:
        mined = mine_twin(twin, tmp_path)
        assert gaps(mined) == [(number, "comments"), (number, "relations")]
        have = [row for row in rows(tmp_path, "comments") if row["number"] == number]
        assert 0 < len(have) < 120
        twin.faults = Faults()
        assert_whole(mine_twin(twin, tmp_path), tmp_path)


def test_an_entry_deleted_meanwhile(tmp_path: Path) -> None:
    world = synthetic_world()
    number = titled(world, "No body at all")
    node = world.main.entries[number].node_id
    deleted: list[int] = []

    def delete(operation: str | None, variables: Mapping[str, object]) -> bool:
        if node in str(variables) and not deleted:
            deleted.append(number)
            Editor(world).delete_entry(number)
        return False

    with Twin(world, Faults(chosen=[Fault("502", "GraphQL", when=delete)])) as twin:
        mined = mine_twin(twin, tmp_path)
        assert deleted
        assert number not in {row["number"] for row in rows(tmp_path, "entries")}
    assert gaps(mined) == []  # it is no more: nothing is missing


@pytest.mark.parametrize(
    ("via", "graphql_status", "rest_status", "skew"),
    [
        ("graphql", 200, 403, -7_200),
        ("rest", 403, 429, 86_400),
        pytest.param("graphql", 403, 429, 86_400, marks=pytest.mark.nightly),
        pytest.param("rest", 200, 403, -7_200, marks=pytest.mark.nightly),
    ],
)
def test_the_primary_limit_with_a_wrong_clock(
    via: Via, graphql_status: int, rest_status: int, skew: int, tmp_path: Path
) -> None:
    limits = Limits(core=60, graphql=5, window=1, clock_skew=skew)
    limits = replace(limits, graphql_status=graphql_status, rest_status=rest_status)
    with Twin(synthetic_world(), limits=limits) as twin:
        mined = mine_twin(twin, tmp_path, via)
        refused = [request for request in twin.requests if not request.points]
    assert_whole(mined, tmp_path, via)
    # It looks at the headers: only requests that were under way at once run into the limit.
    assert len(refused) <= 4


@rest_daily
def test_tokens_take_turns(via: Via, tmp_path: Path) -> None:
    limits = Limits(core=70, graphql=12, window=3_600)
    with Twin(synthetic_world(), limits=limits) as twin:
        mined = mine_twin(twin, tmp_path, via, tokens=("first-token", "second-token"))
        used = {request.token for request in twin.requests if request.points}
    assert_whole(mined, tmp_path, via)
    assert used == {"first-token", "second-token"}


@graphql_daily
def test_tokens_share_the_load(via: Via, tmp_path: Path) -> None:
    with Twin(synthetic_world()) as twin:
        mine_twin(twin, tmp_path, via, tokens=("first-token", "second-token"))
        first = [request for request in twin.requests if request.token == "first-token"]
        assert 0.3 < len(first) / twin.count < 0.7


@pytest.mark.parametrize(
    ("via", "status", "retry_after"),
    [
        ("graphql", 403, None),
        ("rest", 429, 1),
        pytest.param("graphql", 429, 1, marks=pytest.mark.nightly),
        pytest.param("rest", 403, None, marks=pytest.mark.nightly),
    ],
)
def test_secondary_limits(via: Via, status: int, retry_after: int | None, tmp_path: Path) -> None:
    limits = Limits(retry_after=retry_after, secondary_status=status)
    with Twin(synthetic_world(), limits=limits) as twin:
        twin.trip_secondary(2)
        mined = mine_twin(twin, tmp_path, via)
        assert [request.status for request in twin.requests[:2]] == [status, status]
        assert twin.count <= CLEAN_REQUESTS[via] + 3
    assert gaps(mined) == []
    assert mined.seconds >= (retry_after or PACE.secondary)
    assert_same(table_bytes(tmp_path), undisturbed(via))


@pytest.mark.nightly
@both
def test_never_more_at_once_than_was_said(via: Via, tmp_path: Path) -> None:
    limits = replace(SOFT, concurrency=3)
    with Twin(synthetic_world(), limits=limits) as twin:
        mine_twin(twin, tmp_path, via, concurrency=3)
        assert twin.count == CLEAN_REQUESTS[via]
        assert not [request for request in twin.requests if request.fault]


@graphql_daily
def test_a_bad_token(via: Via, tmp_path: Path) -> None:
    with Twin(synthetic_world(), limits=Limits(tokens=frozenset({"good-token"}))) as twin:
        with pytest.raises(AuthenticationError, match=r"none of the tokens.*GITHUB_TOKEN"):
            mine_twin(twin, tmp_path, via, tokens=("bad-token", "worse-token"))
        assert twin.count == 8  # each is asked again three times: GitHub refuses good ones, too
        notes = Notes()
        tokens = ("bad-token", "good-token")
        mined = mine_twin(twin, tmp_path, via, notes=notes, tokens=tokens)
        refused = [request for request in twin.requests[8:] if request.status == 401]
        assert 1 <= len(refused) <= 4 + 4  # others may be under way when the first is refused
    assert gaps(mined) == []
    assert "bad-token" not in notes
    assert not [path for path in tmp_path.rglob("*.zst") if b"good-token" in path.read_bytes()]


@graphql_daily
def test_a_renamed_repository(via: Via, tmp_path: Path) -> None:
    world, notes = synthetic_world(), Notes()
    Editor(world).rename("prospectors/sieve")
    with Twin(world) as twin:
        mined = mine_twin(twin, tmp_path, via, repo=SLUICE, notes=notes)
    assert mined.repo == "prospectors/sieve"
    assert gaps(mined) == []
    assert "prospector/sluice is now called prospectors/sieve" in notes
    entries = rows(tmp_path, "entries", "prospectors/sieve")
    assert {row["repo"] for row in entries} == {"prospectors/sieve"}
    assert len(entries) == 60
    assert not (tmp_path / "tables" / "prospector").exists()


@rest_daily
def test_a_repository_renamed_after_it_was_mined(via: Via, tmp_path: Path) -> None:
    world = synthetic_world()
    copy_mined(tmp_path / "old", via)
    with Twin(world) as twin:
        Editor(world).rename("prospectors/sieve")
        mine_twin(twin, tmp_path / "old", via, repo=SLUICE)
        mine_twin(twin, tmp_path / "new", via)
    new = table_bytes(tmp_path / "new", "prospectors/sieve")
    assert_same(table_bytes(tmp_path / "old", "prospectors/sieve"), new)


@both
def test_a_repository_that_is_not_there(via: Via, tmp_path: Path) -> None:
    with Twin(synthetic_world()) as twin:
        missing = r"nobody/nothing does not exist.*Check the spell"
        with pytest.raises(RepositoryError, match=missing):
            mine_twin(twin, tmp_path, via, repo="nobody/nothing")
        assert twin.count <= 2
    assert not list(tmp_path.rglob("*.parquet"))


@pytest.mark.parametrize(
    ("status", "why"), [(451, "for legal reasons"), (403, "for a breach of its terms")]
)
def test_a_blocked_repository(tmp_path: Path, status: int, why: str) -> None:
    world = synthetic_world()
    Editor(world).block(status)
    with Twin(world) as twin, pytest.raises(RepositoryError, match=f"{why}.*cannot be mined"):
        mine_twin(twin, tmp_path, "rest")


@rest_daily
def test_an_enterprise_server(via: Via, tmp_path: Path) -> None:
    with Twin(synthetic_world()) as twin:
        mined = mine_twin(twin, tmp_path, via, api_url=f"{twin.url}/api/v3")
        paths = {request.path.split("/")[1] for request in twin.requests}
    assert paths == {"api"}
    assert_whole(mined, tmp_path, via)


@both
def test_a_server_that_stops_answering(via: Via, tmp_path: Path) -> None:
    """What came is kept and made into tables; the next run only fetches the rest."""
    with Twin(synthetic_world()) as twin:

        def stop(count: int) -> None:
            if count == CLEAN_REQUESTS[via] - 3:
                twin.faults = Faults(rate=1, kinds=("cut",), max_consecutive=10**6)

        twin.requests = Watched(stop)
        mined = mine_twin(twin, tmp_path, via)
        assert isinstance(mined.failure, ServerError)
        assert "has answered nothing for" in str(mined.failure)
        assert "run the same command again" in str(mined.failure)
        assert not coverage_of(mined).finished
        assert coverage_of(mined).gaps
        before = operations(r for r in twin.requests if not r.fault)
        twin.faults = Faults()
        twin.requests = []
        mined = mine_twin(twin, tmp_path, via)
        after = operations(twin.requests)
    assert_whole(mined, tmp_path, via)
    for done in ("SweepIssues", "SweepPulls", "Issues"):
        assert not (before.get(done) and after.get(done)), done


def test_rest_lists_longer_than_the_wall(tmp_path: Path) -> None:
    world = synthetic_world()
    editor = Editor(world, "prospector/pan")
    for turn in range(20):
        editor.comment(turn + 1, f"Night {turn}.", at="2024-01-01T00:00:00Z")
    limits = Limits(issues_wall=100, comments_wall=100)
    with Twin(world, limits=limits, paging=Paging({})) as twin:
        mined = mine_twin(twin, tmp_path / "walled", "rest", repo="prospector/pan")
        assert [r for r in twin.requests if "since=" in r.path and "/issues?" in r.path]
    assert gaps(mined) == []
    with Twin(world) as twin:
        mine_twin(twin, tmp_path / "open", "rest", repo="prospector/pan")
    tables = {name: table_bytes(tmp_path / name, "prospector/pan") for name in ("walled", "open")}
    assert_same(tables["walled"], tables["open"])
    pan = world.repository("prospector/pan")
    assert pan is not None
    assert len(rows(tmp_path / "walled", "entries", "prospector/pan")) == len(pan.entries)


def test_files_that_rest_does_not_list(tmp_path: Path) -> None:
    world = synthetic_world()
    number = titled(world, "Add licence headers")
    Editor(world).unlist_files(number)
    with Twin(world) as twin:
        mined = mine_twin(twin, tmp_path, "rest")
        assert gaps(mined) == [(number, "files")]
        (gap,) = coverage_of(mined).gaps
        assert (gap.state, gap.reason) == ("withheld", "GitHub lists 0 of 120 files")
        assert_whole(mine_twin(twin, tmp_path, "graphql"), tmp_path)

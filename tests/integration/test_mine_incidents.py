"""What GitHub was seen to do, one story each: refusals that pass, tokens that end, odd pages."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from goldpan.core.storage.archive import Archive
from goldpan.miners.github.announced import Path as Via
from goldpan.miners.github.client import GitHub
from goldpan.miners.github.limits import TokenPool
from goldpan.miners.github.rest_lists import ISSUES, Lists
from goldpan.miners.journal import Journal
from goldpan.miners.mine import MineResult
from tests.drawing import daily
from tests.fault_matrix import LONG, PLAIN, RIFFLE, WIDE, matrix_world
from tests.mining import (
    BOTH,
    PACE,
    TOKEN,
    Notes,
    assert_current,
    coverage_of,
    graphql_daily,
    mine_twin,
    rest_daily,
    table_bytes,
    undisturbed,
)
from tests.twin import Editor, Expired, Fault, Faults, Paging, Twin, World, synthetic_world
from tests.twin.rest_pages import Style
from tests.twin.world import Repository

both = pytest.mark.parametrize("via", BOTH)
NO_ENTRY = {"graphql": ("NOT_FOUND", "Entries"), "rest": ("404", "timeline")}


def gaps(mined: MineResult) -> list[tuple[int | None, str]]:
    assert mined.failure is None
    return [(gap.number, gap.part) for gap in coverage_of(mined).gaps]


def assert_clean(folder: Path, via: Via) -> None:
    """Check that the tables in `w` are those of a run with nothing in the way."""
    with Twin(matrix_world()) as twin:
        assert gaps(mine_twin(twin, folder / "clean", via)) == []
    assert_current(table_bytes(folder / "w", RIFFLE), table_bytes(folder / "clean", RIFFLE))


@graphql_daily
def test_not_found_while_it_is_listed_is_no_proof(via: Via, tmp_path: Path) -> None:
    error, where = NO_ENTRY[via]
    with Twin(matrix_world(), Faults(chosen=[Fault(error, where, PLAIN)])) as twin:
        for _ in range(2):
            mined = mine_twin(twin, tmp_path / "w", via)
            assert not coverage_of(mined).complete
            assert {number for number, _ in gaps(mined)} == {PLAIN}
        twin.faults = Faults()
        assert gaps(mine_twin(twin, tmp_path / "w", via)) == []
    assert_clean(tmp_path, via)


def test_a_list_read_in_pages_of_two_lengths_is_whole(tmp_path: Path) -> None:
    """The end of the run goes on with pages of a length of which it has the beginning."""
    breaks = [
        Fault("502", "timeline", LONG, times=1),  # of a hundred
        Fault("502", "timeline", LONG, after=1, times=1),  # the second one of thirty
        Fault("502", "timeline", LONG, after=2, times=1),  # the second one of ten
        Fault("502", "timeline", LONG, after=2, times=1),  # of one
        Fault("502", "timeline", LONG, after=2, times=1),  # of a hundred, at the end
    ]
    with Twin(matrix_world(), Faults(chosen=breaks)) as twin:
        assert gaps(mine_twin(twin, tmp_path / "w", "rest")) == []
        failed = [asked.status for asked in twin.requests if f"/{LONG}/timeline" in asked.path]
    assert failed[:8] == [502, 200, 502, 200, 502, 502, 502, 200]
    assert_clean(tmp_path, "rest")


@graphql_daily
def test_a_good_token_that_is_refused_once_is_kept(via: Via, tmp_path: Path) -> None:
    with Twin(synthetic_world(), Faults(chosen=[Fault("401", after=4, times=1)])) as twin:
        assert gaps(mine_twin(twin, tmp_path, via)) == []
        assert [request.status for request in twin.requests].count(401) == 1
    assert_current(table_bytes(tmp_path), undisturbed(via))


@rest_daily
def test_a_suspended_token_leaves_the_work_to_the_good_one(via: Via, tmp_path: Path) -> None:
    notes = Notes()
    with Twin(synthetic_world(), Faults(chosen=[Fault("suspended", token="ghp_bad1")])) as twin:
        tokens = ("ghp_bad1", "ghp_good")
        assert gaps(mine_twin(twin, tmp_path, via, tokens=tokens, notes=notes)) == []
        refused = [request for request in twin.requests if request.token == "ghp_bad1"]
    assert 1 <= len(refused) <= 4 + 4  # others may be under way when the first is refused
    assert len(refused) < 4 or "GitHub does not accept the token ending in …bad1" in notes
    assert_current(table_bytes(tmp_path), undisturbed(via))


@both
def test_a_token_that_expires_is_made_anew(via: Via, tmp_path: Path) -> None:
    command = f"{sys.executable} -c \"print('ghs_second')\""
    with Twin(synthetic_world()) as twin:
        twin.faults = Faults(chosen=[Fault("401", token="ghs_first", after=6)])
        mined = mine_twin(
            twin, tmp_path, via, tokens=("ghs_first",), token_command=command, timeout=120.0
        )
        assert gaps(mined) == []
        assert {request.token for request in twin.requests} == {"ghs_first", "ghs_second"}
    assert_current(table_bytes(tmp_path), undisturbed(via))


LISTS = ("issues", "pulls", "all_comments", "all_review_comments", "timeline", "files")


@pytest.mark.parametrize("style", daily(["numbered without last"], ["cursor", "numbered"]))
def test_lists_are_read_however_they_are_paged(style: Style, tmp_path: Path) -> None:
    with Twin(synthetic_world(), paging=Paging(dict.fromkeys(LISTS, style))) as twin:
        assert gaps(mine_twin(twin, tmp_path, "rest")) == []
    assert_current(table_bytes(tmp_path), undisturbed("rest"))


def crowd(count: int) -> World:
    """Return a repository of many small issues."""
    at = "2020-01-01T00:00:00Z"
    world = World(
        Repository(owner="prospector", name="crowd", id=61_000_009, created_at=at, pushed_at=at)
    )
    editor = Editor(world, start=at, step=1)
    for number in range(count):
        editor.issue(f"Grain {number}")
    return world


def listed(twin: Twin, directory: Path) -> tuple[bool, int, list[str]]:
    """Walk the list of issues; return whether it is whole, its length, and what failed."""

    async def walk() -> tuple[bool, int, list[str]]:
        pool = TokenPool((TOKEN,), PACE)
        with Archive(directory) as archive:
            journal = Journal(archive)
            journal.begin({"via": "rest"})
            async with GitHub(twin.url, f"{twin.url}/graphql", pool, pace=PACE) as github:
                listing = await Lists(github, journal, "prospector/crowd").whole(ISSUES)
            failed = [record.meta["reason"] for record in journal.of_run("failed")]
        return listing.is_whole, len({item[0] for item in listing.items}), failed

    return asyncio.run(walk())


def test_a_list_by_cursor_has_no_wall(tmp_path: Path) -> None:
    with Twin(crowd(10_120)) as twin:
        assert listed(twin, tmp_path) == (True, 10_120, [])


def test_a_cursor_that_expires_starts_its_list_again(tmp_path: Path) -> None:
    world = crowd(450)
    with Twin(world, paging=Paging(expired=(Expired("issues", 3),))) as twin:
        assert listed(twin, tmp_path / "once") == (True, 450, [])
        assert twin.count <= 5 + 3
    with Twin(world, paging=Paging(expired=(Expired("issues", 3, None),))) as twin:
        is_whole, count, failed = listed(twin, tmp_path / "always")
    assert not is_whole
    assert count == 200
    assert len(failed) == 1
    assert "cursors stopped working" in failed[0]


DIFFS = [
    Fault("500 diff", where, WIDE, connection="files") for where in ("Entries", "Continuations")
]


def test_one_list_that_always_fails_ends_no_run(tmp_path: Path) -> None:
    with Twin(matrix_world(), Faults(chosen=DIFFS)) as twin:
        for _ in range(3):
            twin.requests = []
            assert gaps(mine_twin(twin, tmp_path / "w")) == [(WIDE, "files")]
            assert twin.count <= 40
        twin.faults = Faults()
        assert gaps(mine_twin(twin, tmp_path / "w")) == []
    assert_clean(tmp_path, "graphql")

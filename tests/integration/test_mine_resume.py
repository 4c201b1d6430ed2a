"""Killed at any moment, mining goes on where it was and pays for nothing twice."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from goldpan.core.errors import WorkspaceError
from goldpan.core.locks import lock_repository
from goldpan.core.storage import archive as archive_module
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.miners.github.announced import Path as Via
from tests.mining import (
    BOTH,
    SLUICE,
    TOKEN,
    Notes,
    Watched,
    archive,
    assert_same,
    coverage_of,
    keys_kept_twice,
    mine_twin,
    operations,
    start_miner,
    table_bytes,
    undisturbed,
)
from tests.program import MINE, Running, goldpan, start
from tests.twin import Twin, synthetic_world

both = pytest.mark.parametrize("via", BOTH)
CLEAN_REQUESTS: dict[Via, int] = {"graphql": 13, "rest": 123}
START_REQUESTS: dict[Via, int] = {"graphql": 2, "rest": 3}
_UNDER_WAY = 4


class Killer:
    """Kills the miner after its n-th request: before the reply, or some time after it."""

    def __init__(self) -> None:
        self.miner: Running | None = None
        self._last = 0
        self._delay = 0.0

    def arm(self, twin: Twin, after: int, delay: float = 0.0) -> None:
        self._last, self._delay = twin.count + after, delay

    def __call__(self, count: int) -> None:
        if self.miner and self._delay and count >= self._last:
            threading.Timer(self._delay, self.miner.kill).start()
            self.miner = None
        elif self.miner and count >= self._last:
            self.miner.kill()


def mine_and_kill(
    twin: Twin, workspace: Path, via: Via, moments: Iterator[tuple[int, float]]
) -> int:
    """Run miners until one ends, killing each at its moment; return how many were killed.

    A moment is a number of requests and the seconds after the last of them.
    """
    killer = Killer()
    twin.requests = Watched(killer)
    for killed, moment in enumerate(moments):
        killer.arm(twin, *moment)
        with start_miner(twin, workspace, via) as miner:
            killer.miner = miner
            done = miner.wait()
        if done.code == 0:
            return killed
        assert done.code == -signal.SIGKILL, done.err
        for path in workspace.rglob("tables/**/*.parquet"):
            pq.read_table(path)  # whole, or not there
    raise AssertionError("no miner lived to the end")


def assert_nothing_twice(workspace: Path, via: Via = "graphql") -> None:
    """Check that tables are those of a run with nothing in the way, and nothing is kept twice."""
    assert_same(table_bytes(workspace), undisturbed(via))
    assert keys_kept_twice(workspace) == []


@both
def test_killed_again_and_again(via: Via, tmp_path: Path) -> None:
    dice = random.Random(1)
    first, most = START_REQUESTS[via] + 1, {"graphql": 4, "rest": 40}[via]
    moments = ((dice.randint(first, first + most), 0.0) for _ in range(100))
    with Twin(synthetic_world()) as twin:
        killed = mine_and_kill(twin, tmp_path, via, moments)
        assert killed >= 3
        assert_nothing_twice(tmp_path, via)
        again = START_REQUESTS[via] + _UNDER_WAY
        assert twin.count <= CLEAN_REQUESTS[via] + killed * again
    ends = [record for record in archive(tmp_path).records if record.meta["part"] == "end"]
    assert len(ends) == 1
    assert {record.run for record in archive(tmp_path).records} == {1}


@pytest.mark.nightly
def test_killed_while_tables_are_made(tmp_path: Path) -> None:
    """All is fetched by then; each start that follows is killed a little later than the last."""
    moments = ((1 if turn else 10, 0.001 * 1.5**turn) for turn in range(100))
    with Twin(synthetic_world()) as twin:
        killed = mine_and_kill(twin, tmp_path, "graphql", moments)
        assert killed >= 3
        assert operations(twin.requests)["Issues"] == 2  # as when undisturbed
    assert_nothing_twice(tmp_path)


def killed_after(requests: int, twin: Twin, workspace: Path) -> None:
    """Mine over REST, and be killed after so many requests."""
    killer = Killer()
    twin.requests = Watched(killer)
    killer.arm(twin, requests)
    with start_miner(twin, workspace, "rest") as killer.miner:
        killer.miner.wait()


def test_a_killed_run_tells_what_is_missing(tmp_path: Path) -> None:
    with Twin(synthetic_world()) as twin:
        killed_after(60, twin, tmp_path)
    made = goldpan("normalize", "--workspace", tmp_path)
    assert made.code == 0, made.err
    done = goldpan("status", "--workspace", tmp_path)
    assert done.code == 3, done.err
    assert (
        f"The last run did not finish: run goldpan --workspace {tmp_path} mine again." in done.out
    )
    assert "not fetched yet" in done.out


def test_a_resumed_run_says_so(tmp_path: Path) -> None:
    notes = Notes()
    with Twin(synthetic_world()) as twin:
        killed_after(50, twin, tmp_path)
        twin.requests = []
        mine_twin(twin, tmp_path, "rest", notes=notes)
        assert twin.count < CLEAN_REQUESTS["rest"] - 50 + 2 * 5 + _UNDER_WAY
    assert "Continuing where the last run stopped" in notes


def test_two_at_once_are_kept_apart(tmp_path: Path) -> None:
    with Twin(synthetic_world()) as twin, lock_repository(WorkspaceLayout(tmp_path), SLUICE):
        busy = r"Another goldpan is working on .*another --workspace"
        with pytest.raises(WorkspaceError, match=busy):
            mine_twin(twin, tmp_path)
        assert operations(twin.requests) == {"Dialect": 1, "Repository": 1}
        assert not list(tmp_path.rglob("*.zst"))
        mine_twin(twin, tmp_path / "other")


def test_interrupted_by_the_user(tmp_path: Path) -> None:
    """Ctrl-C ends the command line with 130 and one plain line; it goes on later."""
    environment = {**os.environ, "GITHUB_TOKEN": TOKEN}
    running: list[Running] = []

    def interrupt(count: int) -> None:
        if running and count >= START_REQUESTS["graphql"] + 4:
            running.pop().send_signal(signal.SIGINT)
            time.sleep(0.3)

    with Twin(synthetic_world()) as twin:
        arguments = ["--repo", SLUICE, "--workspace", str(tmp_path), "--via", "graphql"]
        arguments += ["--api-url", twin.url]
        miner = partial(start, *arguments, environment=environment, program=MINE)
        twin.requests = Watched(interrupt)
        with miner() as first:
            running.append(first)
            stopped = first.wait()
        assert stopped.code == 130, stopped.err
        assert "Stopped. Run the same command again to resume." in stopped.err
        assert "Traceback" not in stopped.err
        with miner() as second:
            done = second.wait()
        assert done.code == 0, done.err
        assert "Continuing where the last run stopped" in done.err
    assert_nothing_twice(tmp_path)


@both
def test_a_full_disk(via: Via, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write that fails half-way ends with the remedy, and its record is written anew."""
    written = 0
    whole = archive_module._write

    def write(file: int, data: bytes, offset: int, *, sync: bool) -> None:
        nonlocal written
        written += len(data)
        if written > 15_000:
            whole(file, data[: len(data) // 2], offset, sync=sync)
            raise OSError(28, "No space left on device")
        whole(file, data, offset, sync=sync)

    with Twin(synthetic_world()) as twin:
        monkeypatch.setattr(archive_module, "_write", write)
        with pytest.raises(WorkspaceError, match=r"No space left on device\. Free some space"):
            mine_twin(twin, tmp_path, via)
        assert written > 15_000
        monkeypatch.undo()
        mine_twin(twin, tmp_path, via)
    assert_nothing_twice(tmp_path, via)


def test_killed_between_the_timelines_and_the_lists_of_relations(tmp_path: Path) -> None:
    """An entry whose timeline is there has all of its lists only once those are there, too."""
    killer = Killer()
    with Twin(synthetic_world()) as twin:

        def react(_: int) -> None:
            path = twin.requests[-1].path
            if killer.miner and "/sub_issues" in path:
                killer.miner.kill()

        twin.requests = Watched(react)
        with start_miner(twin, tmp_path, "rest") as killer.miner:
            assert killer.miner.wait().code == -signal.SIGKILL
        killer.miner = None
        done = mine_twin(twin, tmp_path, "rest")
        assert coverage_of(done).gaps == ()
    assert_nothing_twice(tmp_path, "rest")

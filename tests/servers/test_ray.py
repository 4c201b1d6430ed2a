"""Ray on a real cluster of two nodes, one of which dies; tests/scale has what else may be lost."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from goldpan.core.errors import UsageError
from goldpan.core.parallel.engine import EngineError, UnitError, open_engine
from goldpan.core.values import Execution
from tests.console import run
from tests.engine_work import break_three, node_of, refuse_three, slow_line, square
from tests.issue_hours import made_up_hours, write_hours
from tests.places import files_below
from tests.ray_cluster import TwoNodes, two_nodes


@pytest.fixture(scope="module")
def running() -> Iterator[TwoNodes]:
    with two_nodes() as nodes:
        yield nodes


@pytest.fixture
def cluster(running: TwoNodes) -> TwoNodes:
    """Return the cluster with both nodes."""
    running.replace_dead()
    return running


def test_a_node_dies_in_the_middle(cluster: TwoNodes, tmp_path: Path) -> None:
    with open_engine(Execution("ray", cluster.address, 1)) as engine:
        seen: set[str] = set()
        while seen != cluster.names:
            seen |= set(engine.map(node_of, range(8)))
        with ThreadPoolExecutor(1) as other:
            killing = other.submit(kill_newest, cluster, tmp_path)
            names = list(engine.map(partial(slow_line, tmp_path), range(10)))
            interrupted = killing.result()
        assert names == [f"{number}.txt" for number in range(10)]
        lines = [(tmp_path / name).read_text(encoding="utf-8") for name in names]
        assert lines == [f"line {number}\n" for number in range(10)]
        begun = Counter(attempt[0] for attempt in attempts(tmp_path))
        assert begun[interrupted] >= 2

        with pytest.raises(UsageError, match=r"^3: The number is odd\. Give another one\.$"):
            list(engine.map(refuse_three, range(5)))
        with pytest.raises(UnitError, match=r"^3: ZeroDivisionError: "):
            list(engine.map(break_three, range(5)))
    assert not sys.modules["ray"].is_initialized()
    with open_engine(
        Execution("ray", cluster.address, 1)
    ) as engine:  # leaving it did not end the cluster
        assert list(engine.map(square, range(5))) == [0, 1, 4, 9, 16]


def kill_newest(cluster: TwoNodes, directory: Path) -> str:
    """Kill the node that began a unit last, and return the unit."""
    while not attempts(directory):
        time.sleep(0.01)
    number, node = attempts(directory)[-1]
    cluster.kill(node)
    (directory / "dead").write_text(node, encoding="utf-8")
    (directory / "dead").rename(directory / "killed")
    return number


def attempts(directory: Path) -> list[tuple[str, str]]:
    """Return the units that were begun, each with its node."""
    log = directory / "attempts"
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    return [(number, node) for number, node in map(str.split, lines)]


def test_no_cluster_answers() -> None:
    with pytest.raises(EngineError, match=r"No Ray cluster answers at 127\.0\.0\.1:1 "):
        open_engine(Execution("ray", "127.0.0.1:1", 1))


@pytest.mark.nightly
def test_the_command_makes_a_cluster_of_its_own(tmp_path: Path) -> None:
    write_hours(tmp_path, made_up_hours(2, 30))
    contents = []
    for engine in ("local", "ray"):
        done = run(
            *("build", "issue-type", "--engine", engine, "--workers", "2", "--json"),
            *("--workspace", tmp_path, "--output", tmp_path / engine),
            folder=tmp_path,
            TMPDIR="/tmp",  # Ray's sockets lie there, whose paths have to be short
        )
        assert done.code == 0, done.err
        assert json.loads(done.out)["units"] == 2
        contents.append(files_below(tmp_path / engine))
    assert contents[0] == contents[1]

"""The Ray engine on a real cluster of two nodes, one of which dies."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from goldpan.core.engine import EngineError, UnitError, open_engine
from goldpan.core.errors import UsageError
from tests.engine_work import break_three, node_of, refuse_three, slow_line, square
from tests.ray_cluster import TwoNodes, two_nodes


@pytest.fixture
def cluster() -> Iterator[TwoNodes]:
    with two_nodes() as nodes:
        yield nodes


def test_a_node_dies_in_the_middle(cluster: TwoNodes, tmp_path: Path) -> None:
    with open_engine("ray", 1, cluster.address) as engine:
        seen: set[str] = set()
        while seen != cluster.names:
            seen |= set(engine.map(node_of, range(8)))
        results = engine.map(partial(slow_line, tmp_path), range(10))
        found = [next(results), next(results)]
        number, node = under_way(tmp_path)
        cluster.kill(node)
        found += results
        assert found == [f"{number}.txt" for number in range(10)]
        lines = [(tmp_path / name).read_text(encoding="utf-8") for name in found]
        assert lines == [f"line {number}\n" for number in range(10)]
        begun = Counter(attempt[0] for attempt in attempts(tmp_path))
        assert begun[number] >= 2

        with pytest.raises(UsageError, match=r"^3: The number is odd\. Give another one\.$"):
            list(engine.map(refuse_three, range(5)))
        with pytest.raises(UnitError, match=r"^3: ZeroDivisionError: "):
            list(engine.map(break_three, range(5)))
    assert not sys.modules["ray"].is_initialized()
    with open_engine("ray", 1, cluster.address) as engine:  # leaving it did not end the cluster
        assert list(engine.map(square, range(5))) == [0, 1, 4, 9, 16]


def under_way(directory: Path) -> tuple[str, str]:
    """Return a unit that is not done, and the node that works on it."""
    while True:
        for number, node in reversed(attempts(directory)):
            if not (directory / f"{number}.txt").exists():
                return number, node
        time.sleep(0.01)


def attempts(directory: Path) -> list[tuple[str, str]]:
    lines = (directory / "attempts").read_text(encoding="utf-8").splitlines()
    return [(number, node) for number, node in map(str.split, lines)]


def test_no_cluster_answers() -> None:
    with pytest.raises(EngineError, match=r"No Ray cluster answers at 127\.0\.0\.1:1 "):
        open_engine("ray", 1, "127.0.0.1:1")

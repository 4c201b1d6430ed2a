"""An issue-type dataset made on a Ray cluster that loses a node, beside one made here."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from goldpan.builders.issue_type.build import build_issue_types, make_request
from goldpan.builders.issue_type.closings import EventSource
from goldpan.builders.issue_type.profile import load_profile
from goldpan.core.engine import Engine, open_engine
from goldpan.core.progress import Reporter
from goldpan.core.workspace import Workspace
from tests.console import run
from tests.integration.test_issue_type_build import files
from tests.issue_hours import made_up_hours, write_hours
from tests.ray_cluster import TwoNodes, two_nodes

T = TypeVar("T")
R = TypeVar("R")


class LosingANode:
    """An engine under which a node dies after the third result."""

    def __init__(self, engine: Engine, cluster: TwoNodes) -> None:
        self._engine = engine
        self._cluster = cluster

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return

    def map(self, work: Callable[[T], R], units: Sequence[T]) -> Iterator[R]:
        for count, result in enumerate(self._engine.map(work, units)):
            if count == 2:
                self._cluster.kill(min(self._cluster.names))
            yield result


def build(root: Path, engine: Engine, directory: str) -> Path:
    request = make_request(
        EventSource(Workspace(root), "gharchive", ()),
        load_profile("default"),
        balance="project:25",
        directory=root / directory,
    )
    (written,) = build_issue_types(request, engine, Reporter(quiet=True)).written
    return written.directory


def test_both_engines_give_the_same_bytes_though_a_node_dies(tmp_path: Path) -> None:
    write_hours(tmp_path, made_up_hours(14, 50))
    with open_engine("local", 1) as engine:
        expected = files(build(tmp_path, engine, "local"))
    with two_nodes() as cluster, open_engine("ray", 1, cluster.address) as engine:
        found = files(build(tmp_path, LosingANode(engine, cluster), "ray"))
        assert len(cluster.names) == 1
    assert found == expected
    assert sorted(found) == [
        "README.md",
        "croissant.json",
        "data/test-00000-of-00001.parquet",
        "data/train-00000-of-00001.parquet",
        "data/validation-00000-of-00001.parquet",
        "provenance.json",
    ]


def test_the_command_makes_a_cluster_of_its_own(tmp_path: Path) -> None:
    write_hours(tmp_path, made_up_hours(2, 30))
    found = []
    for engine in ("local", "ray"):
        done = run(
            *("build", "issue-type", "--engine", engine, "--processes", "2", "--json"),
            *("--workspace", tmp_path, "--output", tmp_path / engine),
            folder=tmp_path,
            TMPDIR="/tmp",  # Ray's sockets lie there, whose paths have to be short
        )
        assert done.code == 0, done.err
        assert json.loads(done.out)["units"] == 2
        found.append(files(tmp_path / engine))
    assert found[0] == found[1]

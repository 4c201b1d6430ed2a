"""Hours that are read on a Ray cluster which loses a node, beside hours that are read here."""

from __future__ import annotations

from pathlib import Path

from rich.progress import TaskID

from tests.gharchive_hours import write_day
from tests.integration.test_gharchive_mine import TEN, bring, files
from tests.mining import Notes
from tests.ray_cluster import TwoNodes, two_nodes


class Killer(Notes):
    """Kills a node of a cluster when the third hour is done."""

    def __init__(self, cluster: TwoNodes) -> None:
        super().__init__()
        self.cluster = cluster
        self.killed = 0

    def _update(self, task: TaskID | None, done: int, total: int) -> None:
        if done == 3:
            self.cluster.kill(min(self.cluster.names))
            self.killed += 1


def test_a_node_dies_and_no_byte_changes(tmp_path: Path) -> None:
    write_day(tmp_path / "hours", TEN, 400)
    assert bring(tmp_path / "here", tmp_path / "hours").complete
    with two_nodes() as cluster:
        killer = Killer(cluster)
        found = bring(
            tmp_path / "there",
            tmp_path / "hours",
            engine="ray",
            address=cluster.address,
            notes=killer,
        )
    assert (found.complete, found.reused, killer.killed) == (True, 0, 1)
    assert files(tmp_path / "there") == files(tmp_path / "here")

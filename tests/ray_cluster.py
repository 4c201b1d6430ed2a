"""A Ray cluster of two nodes on this machine; a node can die."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

_STORE = 80 * 2**20


class TwoNodes:
    """The head holds no processor, so all work is done on the two others.

    Each says that it has a GPU, which nothing here uses.
    """

    def __init__(self, cluster: Any) -> None:
        self._cluster = cluster
        self.address: str = cluster.address
        self.nodes: list[Any] = []
        self.replace_dead()

    def _node(self) -> Any:
        return self._cluster.add_node(num_cpus=1, num_gpus=1, object_store_memory=_STORE)

    @property
    def names(self) -> set[str]:
        """The nodes' names for Ray."""
        return {str(node.node_id) for node in self.nodes}

    def replace_dead(self) -> None:
        """Have two nodes again, whichever were killed."""
        while len(self.nodes) < 2:
            self.nodes.append(self._node())
        self._cluster.wait_for_nodes()

    @contextmanager
    def another(self, **resources: float) -> Iterator[None]:
        """Have one more node while the block runs, with what it says that it has."""
        node = self._cluster.add_node(object_store_memory=_STORE, **resources)
        self._cluster.wait_for_nodes()
        try:
            yield
        finally:
            self._cluster.remove_node(node, allow_graceful=False)

    def kill(self, name: str) -> None:
        """Kill a node at once, with the work on it."""
        (node,) = (node for node in self.nodes if node.node_id == name)
        self.nodes.remove(node)
        self._cluster.remove_node(node, allow_graceful=False)


@contextmanager
def two_nodes() -> Iterator[TwoNodes]:
    """Run a cluster while the block runs; it listens on 127.0.0.1 alone."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # Ray then keeps to 127.0.0.1
    cluster = import_module("ray.cluster_utils").Cluster(
        initialize_head=True,
        head_node_args={
            "num_cpus": 0,
            "object_store_memory": _STORE,
            "node_ip_address": "127.0.0.1",
            "include_dashboard": False,
        },
    )
    try:
        yield TwoNodes(cluster)
    finally:
        cluster.shutdown()

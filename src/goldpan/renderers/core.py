"""What people see of a store."""

from __future__ import annotations

from collections.abc import Iterator

from goldpan.core.remote.mirror import Pruned
from goldpan.core.result import Block, Line, renders


@renders(Pruned)
def pruned(result: Pruned) -> Iterator[Block]:
    """Yield how much it was."""
    yield Line(f"{result.pieces:,} pieces deleted, {result.bytes / 1e6:,.1f} MB")

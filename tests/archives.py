"""Archives of mined twins with other replies than the twin's own, and the tables of them."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from goldpan.core.storage.archive import Archive
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.miners.github.announced import Path as Via
from goldpan.miners.tables.normalize import normalize
from tests.mining import SLUICE, mine_twin
from tests.twin import Twin, synthetic_world

Record = tuple[dict[str, Any], bytes]
Change = Callable[[dict[str, Any], Any], object]
"""Changes a record's parsed body in place, given its meta; what it returns takes its place."""


@cache
def records_of(via: Via) -> tuple[Record, ...]:
    """Return meta and body of every reply of the synthetic world."""
    with tempfile.TemporaryDirectory() as directory, Twin(synthetic_world()) as twin:
        mine_twin(twin, Path(directory), via)
        archive = Archive(WorkspaceLayout(Path(directory)).raw(SLUICE))
        return tuple((record.meta, record.read()) for record in archive.records)


def keep(root: Path, records: tuple[Record, ...], change: Change | None = None) -> WorkspaceLayout:
    """Write an archive of these records, each changed, as a run of its own workspace."""
    workspace = WorkspaceLayout(root)
    with Archive(workspace.raw(SLUICE)) as target:
        target.begin(resume=False)
        for meta, body in records:
            fields = {name: meta[name] for name in meta if name not in ("size", "packed", "sha256")}
            target.append({**fields, "run": 1}, changed(meta, body, change), sync=False)
    return workspace


def changed(meta: dict[str, Any], body: bytes, change: Change | None) -> bytes:
    """Return a body with a change made to what it says."""
    if change is None or not body.startswith((b"{", b"[")):
        return body
    data = json.loads(body)
    replaced = change(meta, data)
    if isinstance(replaced, bytes):
        return replaced
    return json.dumps(data if replaced is None else replaced).encode()


def make_tables(workspace: WorkspaceLayout) -> None:
    """Make the tables of an archive."""
    normalize(workspace, SLUICE, Reporter(quiet=True), workers=1)

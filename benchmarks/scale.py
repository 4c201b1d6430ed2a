"""Makes a large archive out of a small one: its replies repeated under new numbers."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import Any

from goldpan.core.settings.config import Settings
from goldpan.core.storage.archive import Archive
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.miners.github.limits import Pace
from goldpan.miners.mine import MineResult, mine
from tests.twin import Twin, World, load_backup, workload_world

REPO = "bitcoin-core/secp256k1"
FAST = Pace(backoff=0.01, secondary=0.1, margin=0.1, per_minute=10**6)
_NUMBER = re.compile(rb'("number":|#)(\d{1,6})\b')
_DATABASE_ID = re.compile(rb'("fullDatabaseId":")(\d+)')
_OID = re.compile(rb'("(?:oid|baseRefOid|headRefOid)":")[0-9a-f]{5}')


def real_backup() -> Path | None:
    """Return the real repository's backup, or None where the real data is missing."""
    folder = Path(os.environ.get("GOLDPAN_REAL_DATA", "../shared/data"))
    path = folder / "github" / "bitcoin-core__secp256k1" / "entries.jsonl.xz"
    return path if path.exists() else None


def real_world() -> World | None:
    """Return the real repository, or None where the real data is missing."""
    path = real_backup()
    return load_backup(path, REPO) if path else None


def base_world() -> World:
    """Return the real repository, or a synthetic one of about its size without the real data."""
    return real_world() or workload_world(issues=520, pulls=1_300)


def mine_world(world: World, workspace: Path, via: str = "graphql") -> MineResult:
    """Mine a world's main repository over HTTP."""
    with Twin(world) as twin:
        settings = Settings(
            workspace=workspace,
            api_url=twin.url,
            tokens=("benchmark",),
            via=via,  # type: ignore[arg-type]
        )
        return mine_one(settings, world.main.full_name)


def mine_one(settings: Settings, repo: str) -> MineResult:
    """Mine a repository."""
    mined = mine(settings, [repo], Reporter(quiet=True), FAST)[repo.lower()]
    assert isinstance(mined, MineResult), mined
    return mined


def repeat(source: WorkspaceLayout, repo: str, target: WorkspaceLayout, entries: int) -> int:
    """Write an archive of at least `entries` entries and return how many it holds."""
    records = Archive(source.raw(repo)).records
    numbers = {node[1] for r in records if r.meta["part"] == "entries" for node in r.meta["nodes"]}
    step = (max(numbers) // 100 + 1) * 100
    copies = -(-entries // len(numbers))
    with Archive(target.raw(repo)) as archive:
        archive.begin(resume=False)
        for record in records:
            if record.meta["part"] in ("begin", "repository"):
                archive.append(plain_meta(record.meta), record.read(), sync=False)
        replies = [
            (record.meta, record.read())
            for record in records
            if record.meta["part"] in ("entries", "more")
        ]
        for copy in range(copies):
            for meta, body in replies:
                archive.append(shift_meta(meta, copy, step), _shift(body, copy, step), sync=False)
        archive.append({"part": "end", "run": 1, "keys": [], "at": "", "figures": {}})
    return copies * len(numbers)


def scratch() -> tempfile.TemporaryDirectory[str]:
    """Give a directory for a measurement."""
    return tempfile.TemporaryDirectory(prefix="goldpan-benchmark-")


def plain_meta(meta: dict[str, Any]) -> dict[str, Any]:
    """Return what is said of a record but for what its body decides."""
    return {key: value for key, value in meta.items() if key not in ("size", "packed", "sha256")}


def shift_meta(meta: dict[str, Any], copy: int, step: int) -> dict[str, Any]:
    """Return what is said of a copy of a record."""
    shifted = plain_meta(meta)
    offset = copy * step
    shifted["nodes"] = [
        [index, number + offset, f"{owner}@{copy}", *rest]
        for index, number, owner, *rest in meta["nodes"]
    ]
    shifted["keys"] = [f"{key}@{copy}" for key in meta["keys"]]
    shifted["more"] = []
    return shifted


def _shift(body: bytes, copy: int, step: int) -> bytes:
    body = shift_numbers(body, copy, step)
    return _OID.sub(lambda m: m[1] + f"{copy:05x}".encode(), body)


def shift_numbers(body: bytes, copy: int, step: int) -> bytes:
    """Return a reply with the numbers and identifiers of a copy."""
    offset = copy * step
    body = _NUMBER.sub(lambda m: m[1] + str(int(m[2]) + offset).encode(), body)
    return _DATABASE_ID.sub(lambda m: m[1] + str(int(m[2]) + copy * 10**11).encode(), body)

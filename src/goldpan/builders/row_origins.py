"""What provenance and card tell of how rows came to be: mining and pairing rules."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from goldpan.core.archive import Archive
from goldpan.core.lineage import read_lineage
from goldpan.core.parquet import read_table
from goldpan.core.workspace import Workspace
from goldpan.datasets.provenance import MinedSource
from goldpan.filters.stored import inputs_digest
from goldpan.git.clone import read_heads
from goldpan.miners.coverage import measure_coverage
from goldpan.miners.pairing import find_rules


def cloned_source(workspace: Workspace, repo: str, source: MinedSource) -> MinedSource:
    """Return the same with what provenance says of the clone, where there is one."""
    clone = workspace.clone(repo)
    if not clone.exists():
        return source
    heads = read_heads(clone)
    inputs = {"git refs": heads.refs, **({"git HEAD": heads.head} if heads.head else {})}
    return replace(source, history=heads.source, inputs={**source.inputs, **inputs})


def mined_source(workspace: Workspace, repo: str, archive: Archive | None = None) -> MinedSource:
    """Return what provenance says of a mined repository; its `archive`, where that is open."""
    archive = archive or Archive(workspace.raw(repo))
    times = sorted(record.meta["at"] for record in archive.records if record.meta.get("at"))
    inputs = {"tables": inputs_digest(workspace, repo)}
    for path in sorted({record.path for record in archive.records}):
        with path.open("rb") as file:
            inputs[f"raw/{path.name}"] = hashlib.file_digest(file, "sha256").hexdigest()
    facts = read_table(workspace.table(repo, "repositories")).to_pylist()
    repository = facts[0] if facts else {}
    source = MinedSource(
        repo,
        datetime.fromisoformat(times[0]) if times else None,
        datetime.fromisoformat(times[-1]) if times else None,
        inputs,
        license=repository.get("license"),
        license_source=repository.get("license_source"),
    )
    if not archive.records:  # tables without replies: what GitHub announced is not known
        return source
    coverage = measure_coverage(workspace, repo, archive.records)
    return replace(
        source,
        via=coverage.via,
        complete=coverage.complete,
        announced={count.kind: count.announced for count in coverage.counts},
        stored={count.kind: count.stored for count in coverage.counts},
    )


def stored_rules(workspace: Workspace, repos: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return what the rules asked for that paired repositories, by name, as their pairs tell.

    So those of a plugin need not be known here.
    """
    described = {}
    for repo in repos:
        if name := workspace.rules_of(repo):
            stored = read_lineage(workspace.tables(repo), f"pair.{name}").get("rules")
            described[name] = stored or find_rules(name).plain()
    return dict(sorted(described.items()))

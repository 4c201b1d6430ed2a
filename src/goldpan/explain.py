"""Says what is known of one issue or pull request, and where it comes from: `goldpan why`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import duckdb
import pyarrow as pa

from goldpan.core.config import repository_name
from goldpan.core.errors import UsageError, WorkspaceError
from goldpan.core.query import open_tables
from goldpan.core.sealed import verify_parquet
from goldpan.core.workspace import Workspace
from goldpan.filters.basis import Basis, find_basis
from goldpan.miners.sources import sources

_REFERENCES = """
SELECT signal, repo, number, target_repo, target_number, commit_sha, "at", keyword, stance,
       observed_on, evidence.where AS "where", evidence.source_id AS source_id,
       evidence.line AS line, evidence.excerpt AS excerpt
FROM refs
WHERE observed_on = $number OR (repo = $repo AND number = $number)
   OR (target_repo = $repo AND target_number = $number)
ORDER BY ALL
"""

_VERDICTS = """
SELECT profile, subject, issue, pull_repo, pull, criterion, decides, keep, reason, value, evidence
FROM verdicts
WHERE lower(repo) = lower($repo)
  AND ((subject = 'issue' AND issue = $number)
    OR (subject = 'pair' AND (issue = $number OR (pull_repo = $repo AND pull = $number))))
ORDER BY profile, subject, issue, pull_repo, pull, NOT decides, criterion
"""


_LEDGER = """
SELECT part, announced, stored, state, reason FROM ledger WHERE number = $number ORDER BY part
"""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything in the tables and the archive about one entry."""

    repo: str
    number: int
    entry: dict[str, Any] | None
    references: tuple[dict[str, Any], ...]
    basis: Basis
    """By which rules its pairs were made, and the verdicts on them."""
    pairs: tuple[dict[str, Any], ...]
    verdicts: tuple[dict[str, Any], ...]
    """What every criterion said of it and of its fix pairs, under each profile that was run."""
    ledger: tuple[dict[str, Any], ...]
    """What GitHub announced and what is stored of the entry and of each of its lists."""
    records: tuple[str, ...]
    """The archived replies that hold something of the entry, as ``run-0001.zst@OFFSET``."""


def explain(workspace: Workspace, subject: str) -> Explanation:
    """Explain ``OWNER/NAME#N``.

    Raises `UsageError` for another spelling, `WorkspaceError` where the entry is not known.
    """
    match = re.fullmatch(r"(.+?)(?:#|/(?:issues|pull)/)(\d{1,10})", subject.strip())
    if not match:
        raise UsageError(
            f"{subject!r} does not name an issue or a pull request", "Write OWNER/NAME#NUMBER"
        )
    repo, number = repository_name(match[1]), int(match[2])
    tables = ("entries", "references", "ledger", "repositories")
    with open_tables(workspace, repo, tables, optional=("pairs",)) as connection:
        rows = connection.execute("SELECT repo FROM repositories").fetchall()
        repo = str(rows[0][0]) if rows else repo
        values = {"repo": repo, "number": number}
        only = {"number": number}
        entries = _rows(connection, "FROM entries WHERE number = $number", only)
        ledger = _rows(connection, _LEDGER, only)
        references = _rows(connection, _REFERENCES, values)
        verdicts = []
        people = (workspace.root / "annotations").glob("*/verdicts.parquet")
        for path in (
            *sorted(workspace.verdicts(repo, "any").parent.glob("*.parquet")),
            *sorted(people),
        ):
            relation = connection.read_parquet(str(verify_parquet(path)))
            connection.register("verdicts", relation)
            verdicts += _rows(connection, _VERDICTS, values)
        pairs = []
        (basis,) = find_basis(workspace, [repo], None)
        if basis.rules is not None:
            pairs = _rows(
                connection,
                "FROM pairs WHERE issue = $number OR (pull_repo = $repo AND pull = $number)",
                values,
            )
    records = sources(workspace, repo).get(number, ())
    if not entries and not ledger and not references:
        raise WorkspaceError(
            f"{repo}#{number} was not seen in {workspace.root}",
            "It was deleted, is a discussion, or is newer than the last goldpan mine",
        )
    return Explanation(
        repo,
        number,
        entries[0] if entries else None,
        tuple(references),
        basis,
        tuple(pairs),
        tuple(verdicts),
        tuple(ledger),
        records,
    )


def _rows(
    connection: duckdb.DuckDBPyConnection, query: str, values: Mapping[str, object]
) -> list[dict[str, Any]]:
    table: pa.Table = connection.sql(query, params=dict(values)).to_arrow_table()
    return [{name: _plain(value) for name, value in row.items()} for row in table.to_pylist()]


def _plain(value: object) -> object:
    return value.isoformat() if isinstance(value, datetime) else value

"""Says what is known of an issue, pull request or discussion, and whence: `goldpan why`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import duckdb

from goldpan.core.errors import UsageError, WorkspaceError
from goldpan.core.result import Result
from goldpan.core.settings.config import repository_name
from goldpan.core.storage.archive import Archive
from goldpan.core.storage.parquet import open_tables
from goldpan.core.storage.sealed import verify_parquet
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.filters.basis import Basis, find_basis
from goldpan.miners.journal import sources

_NAMED = re.compile(r"(.+?)(?:#|/(?:issues|pull|discussions)/)(\d{1,10})(?:[/?#].*)?")
"""OWNER/NAME#N, or an address on GitHub, whatever part of the page it leads to."""
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
  AND ((subject IN ('issue', 'discussion') AND issue = $number)
    OR (subject = 'pair' AND (issue = $number OR (pull_repo = $repo AND pull = $number))))
ORDER BY profile, subject, issue, pull_repo, pull, NOT decides, criterion
"""

_ENTRY = "FROM entries WHERE number = $number"
_PAIRS = "FROM pairs WHERE issue = $number OR (pull_repo = $repo AND pull = $number)"
_LEDGER = """
SELECT part, announced, stored, state, reason FROM ledger WHERE number = $number ORDER BY part
"""


@dataclass(frozen=True, slots=True)
class Explanation(Result):
    """Everything in the tables and the archive about one entry."""

    repo: str
    number: int
    entry: dict[str, Any] | None
    references: tuple[dict[str, Any], ...]
    basis: Basis
    """By which rules its pairs were made, and the verdicts on them."""
    pairs: tuple[dict[str, Any], ...]
    verdicts: tuple[dict[str, Any], ...]
    """Verdicts of all criteria on it and on its fix pairs, under each profile that was run."""
    ledger: tuple[dict[str, Any], ...]
    """Counts that GitHub announced and that are stored, of the entry and of each of its lists."""
    records: tuple[str, ...]
    """The archived replies that hold something of the entry, as ``run-0001.zst@OFFSET``."""
    discussion: dict[str, Any] | None = None
    """Columns of a discussion beside its entry: its category, and which answer was accepted."""


def explain(workspace: WorkspaceLayout, subject: str) -> Explanation:
    """Explain ``OWNER/NAME#N``, or what an address on GitHub shows.

    Raises `UsageError` for another spelling, `WorkspaceError` where the entry is not known.
    """
    match = _NAMED.fullmatch(subject.strip())
    if not match:
        raise UsageError(
            f"{subject!r} does not name an issue, a pull request or a discussion",
            "Write OWNER/NAME#NUMBER",
        )
    repo, number = repository_name(match[1]), int(match[2])
    tables = ("entries", "references", "ledger", "repositories")
    with open_tables(workspace, repo, tables, optional=("pairs", "discussions")) as connection:
        named = connection.execute("SELECT repo FROM repositories").fetchall()
        repo = str(named[0][0]) if named else repo
        rows = partial(_rows, connection, {"repo": repo, "number": number})
        entries, ledger, references = rows(_ENTRY), rows(_LEDGER), rows(_REFERENCES)
        is_discussed = workspace.table(repo, "discussions").exists()
        discussions = rows("FROM discussions WHERE number = $number") if is_discussed else ()
        verdicts = []
        judged = workspace.verdicts(repo, "any").parent.glob("[!.]*.parquet")
        people = (workspace.root / "annotations").glob("*/verdicts.parquet")
        for path in (*sorted(judged), *sorted(people)):
            connection.register("verdicts", connection.read_parquet(str(verify_parquet(path))))
            verdicts += rows(_VERDICTS)
        (basis,) = find_basis(workspace, [repo], None)
        pairs = rows(_PAIRS) if basis.rules is not None else ()
    if not entries and not ledger and not references:
        raise WorkspaceError(
            f"{repo}#{number} was not seen in {workspace.root}",
            "There may be none of that number, or it is newer than the last goldpan mine, was "
            "deleted, or is a discussion (goldpan mine --include discussions brings them)",
        )
    return Explanation(
        repo=repo,
        number=number,
        entry=next(iter(entries), None),
        references=tuple(references),
        basis=basis,
        pairs=tuple(pairs),
        verdicts=tuple(verdicts),
        ledger=tuple(ledger),
        records=sources(Archive(workspace.raw(repo)).records).get(number, ()),
        discussion=next(iter(discussions), None),
    )


def _rows(
    connection: duckdb.DuckDBPyConnection, values: Mapping[str, object], query: str
) -> list[dict[str, Any]]:
    used = {name: value for name, value in values.items() if f"${name}" in query}
    rows: list[dict[str, Any]] = connection.sql(query, params=used).to_arrow_table().to_pylist()
    return rows

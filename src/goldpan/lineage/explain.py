"""Says what is known of an issue, pull request or discussion, and whence: `goldpan why`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

import duckdb
import pyarrow as pa

from goldpan.core.errors import UsageError, WorkspaceError
from goldpan.core.result import Block, Line, Result, Title
from goldpan.core.settings.config import repository_name
from goldpan.core.storage.parquet import open_tables
from goldpan.core.storage.sealed import verify_parquet
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.filters.basis import Basis, basis_blocks, find_basis
from goldpan.miners.journal import sources
from goldpan.miners.pairing import relation

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

    def blocks(self) -> Iterator[Block]:
        """Yield all that is known of the entry."""
        yield Line(f"{self.repo}#{self.number}", "bold")
        yield from self._entry()
        for row in self.ledger:
            if row["state"] not in ("complete", "unseen"):
                state = f"{row['part']} {row['state']}: ".capitalize()
                yield Line(f"{state}{row['reason']}")
        # Both ends may have shown the same link; people need to read it once.
        lines = dict.fromkeys(map(_reference, self.references))
        yield Title("References", f" ({len(lines):,})")
        yield from map(Line, lines)
        yield Title("Fix pairs", f" ({len(self.pairs):,})")
        yield from basis_blocks([self.basis])
        for pair in self.pairs:
            yield Line(
                f"  issue #{pair['issue']} {relation(pair)} {pair['pull_repo']}#{pair['pull']}: "
                f"{', '.join(pair['signals'])}"
            )
            yield from evidence_blocks(pair, "    ")
        yield from self._verdicts()
        yield Title("Raw replies", f" ({len(self.records):,})")
        for record in self.records:
            yield Line(f"  {record}")

    def _entry(self) -> Iterator[Block]:
        entry = self.entry
        if entry is None:
            yield Line("Not stored as an entry.")
            return
        merged = ", merged" if entry["merged"] else ""
        yield Line(
            f"{entry['kind']}, {entry['state']}{merged}, by {entry['author'] or 'ghost'}, "
            f"{entry['created_at']}"
        )
        yield Line(str(entry["title"]))
        if self.discussion is not None:
            yield from map(Line, _discussion(self.discussion))

    def _verdicts(self) -> Iterator[Block]:
        """Yield profiles' verdicts on each subject: the result, then what stood against it."""

        def subject(row: Mapping[str, Any]) -> tuple[str, str]:
            pair = f" and {row['pull_repo']}#{row['pull']}" if row["subject"] == "pair" else ""
            kind = "discussion" if row["subject"] == "discussion" else "issue"
            return row["profile"], f"{kind} #{row['issue']}{pair}"

        for (profile, name), group in groupby(self.verdicts, subject):
            rows = list(group)
            against = [row for row in rows if row["keep"] is not True]
            out = any(row["decides"] for row in against)
            yield Title(f"Verdict of profile {profile} on {name}")
            yield Line(f"  {'dropped' if out else 'kept'} ({len(rows)} criteria)")
            for row in against:
                line = f"  {row['criterion']}: {row['reason'] or 'undecided'}"
                if row["value"] is not None:
                    line += f" ({row['value']:g})"
                if not row["decides"]:
                    line += " (does not decide)"
                yield Line(f"{line}  {row['evidence']}" if row["evidence"] else line)


def _discussion(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield what people read of a discussion: category, and who accepted which answer."""
    takes = "" if row["is_answerable"] else ", which takes no answers"
    yield f"category {row['category']}{takes}"
    if row["answer_chosen_at"] is not None:
        answer = f"comment {row['answer_id']}" if row["answer_id"] else "a comment that is gone"
        by = row["answer_chosen_by"] or "ghost"
        yield f"accepted answer: {answer}, by {by}, {row['answer_chosen_at']}"


def evidence_blocks(pair: Mapping[str, Any], indent: str) -> Iterator[Block]:
    """Yield the texts that show that a pull request fixes an issue."""
    for evidence in pair["evidence"]:
        if evidence["excerpt"]:
            yield Line(f"{indent}{evidence['where']}: {evidence['excerpt']}")


def explain(workspace: WorkspaceLayout, subject: str) -> Explanation:
    """Explain ``OWNER/NAME#N``.

    Raises `UsageError` for another spelling, `WorkspaceError` where the entry is not known.
    """
    match = re.fullmatch(r"(.+?)(?:#|/(?:issues|pull|discussions)/)(\d{1,10})", subject.strip())
    if not match:
        raise UsageError(
            f"{subject!r} does not name an issue, a pull request or a discussion",
            "Write OWNER/NAME#NUMBER",
        )
    repo, number = repository_name(match[1]), int(match[2])
    tables = ("entries", "references", "ledger", "repositories")
    with open_tables(workspace, repo, tables, optional=("pairs", "discussions")) as connection:
        rows = connection.execute("SELECT repo FROM repositories").fetchall()
        repo = str(rows[0][0]) if rows else repo
        values = {"repo": repo, "number": number}
        only = {"number": number}
        entries = _rows(connection, "FROM entries WHERE number = $number", only)
        ledger = _rows(connection, _LEDGER, only)
        references = _rows(connection, _REFERENCES, values)
        discussions = []
        if workspace.table(repo, "discussions").exists():
            discussions = _rows(connection, "FROM discussions WHERE number = $number", only)
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
            "It was deleted, is a discussion (goldpan mine --include discussions brings them), or "
            "is newer than the last goldpan mine",
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
        discussions[0] if discussions else None,
    )


def _rows(
    connection: duckdb.DuckDBPyConnection, query: str, values: Mapping[str, object]
) -> list[dict[str, Any]]:
    table: pa.Table = connection.sql(query, params=dict(values)).to_arrow_table()
    return [plain_row(row) for row in table.to_pylist()]


def plain_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row whose moments are texts, as JSON has them."""
    return {name: _plain(value) for name, value in row.items()}


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return plain_row(value) if isinstance(value, dict) else value


def _reference(row: Mapping[str, Any]) -> str:
    source = _name(row["repo"], row["number"], row["commit_sha"])
    target = _name(row["target_repo"], row["target_number"], None)
    notes = [
        row["keyword"] or "",
        row["stance"] if row["stance"] != "stated" else "",
        f"in {row['where']}" if row["where"] not in (None, "timeline", "links") else "",
        f"line {row['line']}" if row["line"] else "",
    ]
    note = ", ".join(note for note in notes if note)
    line = f"  {row['signal']}: {source} -> {target}" + (f" ({note})" if note else "")
    return f"{line}  {row['excerpt']}" if row["excerpt"] else line


def _name(repo: str | None, number: int | None, sha: str | None) -> str:
    if sha:
        return f"commit {sha[:12]}"
    return f"{repo or '?'}#{number}" if number is not None else str(repo)

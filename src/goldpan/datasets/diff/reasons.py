"""Why rows came or went: the sources, and the verdicts that a workspace still has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import duckdb
import pyarrow as pa

from goldpan.core.errors import WorkspaceError
from goldpan.core.parquet import connect, read_metadata
from goldpan.core.workspace import UNPAIRED, Workspace
from goldpan.datasets.diff.version import DatasetVersion, parquet_scan
from goldpan.filters.stored import INPUTS_KEY

_SUBJECT = {True: "pair", False: "issue"}
_SAME = {True: "v.issue = d.issue AND v.pull = d.pull", False: "v.issue = d.issue"}


@dataclass(frozen=True, slots=True)
class _Wording:
    """The words for a criterion that does not keep a row's subject."""

    did: str
    decide: tuple[str, ...]
    """The criteria that count, in their order."""
    fresh: tuple[str, ...] = ()
    """The criteria that decide in the newer version alone."""


def explain_rows(
    connection: duckdb.DuckDBPyConnection,
    old: DatasetVersion,
    new: DatasetVersion,
    workspace: Workspace | None,
) -> list[str]:
    """Put a reason to rows that came or went; return what could not be told."""
    _new_sources(connection, old, new)
    judged_by_old = list(_verdicts(workspace, old))
    judged_by_new = list(_verdicts(workspace, new))
    paired = "pull" in new.schema.names
    before = _Wording(" dropped it before", old.decide)
    left = tuple(name for name in old.decide if name not in new.decide)
    freed = _Wording(", which would drop it, no longer decides", left)
    fresh = tuple(name for name in new.decide if name not in old.decide)
    now = _Wording(" drops it", new.decide, fresh)
    for repo, path in judged_by_old:
        _by_criterion(connection, "added", repo, path, paired, before)
    for repo, path in judged_by_new:
        _by_criterion(connection, "added", repo, path, paired, freed)
        _by_criterion(connection, "gone", repo, path, paired, now)
        _without_verdict(connection, repo, path, paired)
    return _notes(connection, old, new, workspace, judged_by_old, judged_by_new)


def _new_sources(
    connection: duckdb.DuckDBPyConnection, old: DatasetVersion, new: DatasetVersion
) -> None:
    for change, other, text in (
        ("added", old, "its repository is a new source"),
        ("gone", new, "its repository is no longer a source"),
    ):
        if other.sources:
            connection.execute(
                "UPDATE differences SET reason = $text WHERE change = $change "
                "AND repo IS NOT NULL AND NOT list_contains($known::VARCHAR[], lower(repo))",
                {"text": text, "change": change, "known": list(other.sources)},
            )
    for repo, source in old.sources.items():
        if until := source.get("mined_until"):
            connection.execute(
                "UPDATE differences SET reason = 'it was opened after the older version was mined' "
                "WHERE change = 'added' AND reason IS NULL AND lower(repo) = $repo "
                "AND moment > $until",
                {"repo": repo, "until": datetime.fromisoformat(str(until))},
            )


def _verdicts(workspace: Workspace | None, version: DatasetVersion) -> Iterator[tuple[str, Path]]:
    """Yield the verdicts by which a version was made, as far as the workspace still has them."""
    profile = version.provenance.get("profile", {}).get("name")
    if workspace is None or not profile:
        return
    for repo, source in version.sources.items():
        try:
            path = workspace.by_rules(source.get("rules") or UNPAIRED).verdicts(repo, str(profile))
            if path.exists() and _fits(path, version, source.get("inputs", {}).get("tables")):
                yield repo, path
        except (WorkspaceError, OSError, pa.ArrowException, duckdb.Error):
            continue  # damaged or gone: as if there were none


def _fits(path: Path, version: DatasetVersion, tables: str | None) -> bool:
    """Tell whether a version was made from the tables and settings of these verdicts."""
    if tables is None or read_metadata(path).get(INPUTS_KEY) != tables.encode():
        return False
    digests = version.provenance.get("digests", {})
    with connect() as connection:
        row = connection.execute(
            f"SELECT DISTINCT criterion, settings FROM {parquet_scan([path])}"  # noqa: S608 - quoted
        ).fetchall()
    return all(digests.get(criterion) == settings for criterion, settings in row)


def _by_criterion(
    connection: duckdb.DuckDBPyConnection,
    change: str,
    repo: str,
    path: Path,
    paired: bool,
    wording: _Wording,
) -> None:
    """Name the first of the criteria that does not keep a row's subject."""
    connection.execute(
        f"""
        UPDATE differences SET reason = found.text FROM (
            SELECT id, arg_min('the criterion ' || criterion || fresh || $did || why, rank) AS text
            FROM (
                SELECT d.id, v.criterion, list_position($decide::VARCHAR[], v.criterion) AS rank,
                       CASE WHEN list_contains($fresh::VARCHAR[], v.criterion)
                            THEN ', which decides now,' ELSE '' END AS fresh,
                       CASE WHEN v.keep IS NULL THEN ' (it could not judge)'
                            WHEN v.reason IS NULL THEN '' ELSE ' (' || v.reason || ')' END AS why
                FROM differences d JOIN {parquet_scan([path])} v ON {_SAME[paired]}
                WHERE d.change = $change AND d.reason IS NULL AND lower(d.repo) = $repo
                AND v.subject = $subject AND v.keep IS DISTINCT FROM true
                AND list_contains($decide::VARCHAR[], v.criterion)
            ) GROUP BY id
        ) found WHERE differences.id = found.id AND differences.change = $change
        """,  # noqa: S608 - the path is quoted, values are parameters
        {
            "did": wording.did,
            "decide": list(wording.decide),
            "fresh": list(wording.fresh),
            "change": change,
            "repo": repo,
            "subject": _SUBJECT[paired],
        },
    )


def _without_verdict(
    connection: duckdb.DuckDBPyConnection, repo: str, path: Path, paired: bool
) -> None:
    """Give a reason to rows that are gone and that no criterion drops."""
    reason = (
        "the pairing rules no longer name the pair"
        if paired
        else "its issue is no longer in the tables"
    )
    values = {"repo": repo, "subject": _SUBJECT[paired]}
    connection.execute(
        f"""
        UPDATE differences d SET reason = CASE WHEN EXISTS (
            SELECT 1 FROM {parquet_scan([path])} v
            WHERE {_SAME[paired]} AND v.subject = $subject
        ) THEN 'the filters keep it, and it gave no row: see the counts in the provenance'
        ELSE '{reason}' END
        WHERE d.change = 'gone' AND d.reason IS NULL AND lower(d.repo) = $repo
        AND d.issue IS NOT NULL
        """,  # noqa: S608 - the path is quoted, values are parameters
        values,
    )


def _notes(
    connection: duckdb.DuckDBPyConnection,
    old: DatasetVersion,
    new: DatasetVersion,
    workspace: Workspace | None,
    judged_by_old: list[tuple[str, Path]],
    judged_by_new: list[tuple[str, Path]],
) -> list[str]:
    untold = dict(
        connection.execute(
            "SELECT change, count(*) FROM differences WHERE reason IS NULL "
            "AND change IN ('added', 'gone') GROUP BY change"
        ).fetchall()
    )
    notes = []
    for change, version, judged, age in (
        ("added", old, judged_by_old, "older"),
        ("gone", new, judged_by_new, "newer"),
    ):
        if rows := untold.get(change):
            has_sources = workspace is not None and version.sources.keys() <= {
                name for name, _ in judged
            }
            cause = (
                "the verdicts do not tell"
                if has_sources
                else f"the verdicts by which the {age} version was made are not in the workspace"
            )
            notes.append(f"why {rows:,} rows are {change} is not known: {cause}")
    return notes

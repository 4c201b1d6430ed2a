"""Tables and verdicts of several repositories as one: counts of each, and dropped subjects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from goldpan.core.errors import DamagedError, WorkspaceError
from goldpan.core.resources import told_otherwise
from goldpan.core.sanitize import line
from goldpan.core.schemas.mined import COMMENTS, ENTRIES, REPOSITORIES
from goldpan.core.schemas.stages import CHANGES, PAIRS, REVISIONS, VERDICTS
from goldpan.core.schemas.table import TableSchema
from goldpan.core.storage.parquet import connect
from goldpan.core.storage.sealed import verify_parquet
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.text.markdown import excerpt
from goldpan.text.redaction import redact

_OVERVIEW = """
WITH found AS (
  SELECT repo, count(*) FILTER (kind = 'issue') AS issues,
         count(*) FILTER (kind = 'pull') AS pulls,
         strftime(min(created_at), '%Y-%m-%d') AS first,
         strftime(max(updated_at), '%Y-%m-%d') AS last
  FROM entries GROUP BY repo
), said AS (
  SELECT repo, count(*) FILTER (kind = 'comment') AS comments,
         count(*) FILTER (kind = 'review_comment') AS review_comments
  FROM comments GROUP BY repo
),
tied AS (SELECT repo, count(*) AS pairs FROM pairs GROUP BY repo),
passed AS (
  SELECT repo, count(*) FILTER (subject = 'issue') AS kept_issues,
         count(*) FILTER (subject = 'pair') AS kept_pairs
  FROM kept GROUP BY repo
), known AS (SELECT repo, any_value(language) AS language, any_value(license) AS license
             FROM repositories GROUP BY repo)
SELECT repo, coalesce(language, '') AS language, coalesce(license, '') AS license,
       coalesce(first, '') AS first, coalesce(last, '') AS last, issues, pulls,
       coalesce(comments, 0) AS comments, coalesce(review_comments, 0) AS review_comments,
       coalesce(kept_issues, 0) AS kept_issues,
       coalesce(pairs, 0) AS pairs, coalesce(kept_pairs, 0) AS kept_pairs
FROM found LEFT JOIN said USING (repo) LEFT JOIN tied USING (repo)
LEFT JOIN passed USING (repo) LEFT JOIN known USING (repo)
ORDER BY issues + pulls DESC, repo
"""


_COUNTS = ("issues", "pulls", "comments", "review_comments", "kept_issues", "pairs", "kept_pairs")


def overview(connection: duckdb.DuckDBPyConnection) -> list[dict[str, Any]]:
    """Return the numbers of each repository, the largest first.

    `first` is the day of the oldest entry, `last` that of the last change that was mined.
    `comments` are on issues and pull requests, as `goldpan status` counts them, `review_comments`
    on lines of code.
    """
    return rows(connection, _OVERVIEW)


def total(repositories: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Add up the numbers of several repositories."""
    first = [repository["first"] for repository in repositories if repository["first"]]
    last = [repository["last"] for repository in repositories]
    counts = {name: sum(repository[name] for repository in repositories) for name in _COUNTS}
    return {**counts, "first": min(first, default=""), "last": max(last, default="")}


_TABLES = (REPOSITORIES, ENTRIES, COMMENTS, PAIRS, REVISIONS, CHANGES)
_KEPT = """
CREATE TEMP TABLE kept AS
SELECT repo, subject, issue, pull_repo, pull FROM verdicts
GROUP BY ALL HAVING bool_and(coalesce(keep, false)) FILTER (decides) IS DISTINCT FROM false
"""


@contextmanager
def open_repositories(
    workspace: WorkspaceLayout, repos: Sequence[str], profile: str
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a connection with a view of each table over all `repos`; missing tables are empty.

    `verdicts` holds those of the profile, `kept` the issues and pairs that pass it. Raises
    `WorkspaceError` where a file is damaged, also while it is queried.
    """
    with connect() as connection:
        try:
            for table in _TABLES:
                files = [workspace.table(repo, table.name) for repo in repos]
                _create_view(connection, table, files)
            _create_view(
                connection, VERDICTS, [workspace.verdicts(repo, profile) for repo in repos]
            )
            connection.execute(_KEPT)
            yield connection
        except (duckdb.Error, DamagedError) as error:
            if told_otherwise(error):
                raise
            raise WorkspaceError(
                f"Tables in {workspace.root} cannot be read ({str(error).splitlines()[0]})",
                "Rebuild them with goldpan normalize, goldpan pair and goldpan filter",
            ) from error


def rows(
    connection: duckdb.DuckDBPyConnection, query: str, **values: object
) -> list[dict[str, Any]]:
    """Return the answer to a query; `values` are its ``$name`` parameters."""
    table = connection.sql(query, params=values or None).to_arrow_table()
    return list(table.to_pylist())


def _create_view(
    connection: duckdb.DuckDBPyConnection, table: TableSchema, files: Sequence[Path]
) -> None:
    existing = [str(verify_parquet(path)) for path in files if path.exists()]
    if existing:
        connection.read_parquet(existing, union_by_name=True).create_view(table.name)
    else:
        connection.register(table.name, table.schema.empty_table())


_LONGEST = 20_000
# The smallest digests of each reason: drawn in one pass, whatever the number of verdicts.
_DROPPED = """
CREATE OR REPLACE TEMP TABLE drawn AS
WITH picked AS (
  SELECT subject, criterion, reason, min_by(
    {'repo': repo, 'issue': issue, 'pull_repo': pull_repo, 'pull': pull,
     'value': value, 'evidence': evidence, 'undecided': keep IS NULL},
    md5(concat_ws(' ', $seed, criterion, repo, issue, pull_repo, pull)), $most
  ) AS ones
  FROM verdicts WHERE keep IS DISTINCT FROM true GROUP BY subject, criterion, reason
), apart AS (SELECT subject, criterion, reason, unnest(ones) AS one FROM picked)
SELECT subject, criterion, reason, unnest(one),
       md5(concat_ws(' ', $seed, criterion, one.repo, one.issue, one.pull_repo, one.pull)) AS lot
FROM apart
"""

# One of each reason comes first, then the next of each.
_SHOWN = """
WITH ranked AS (
  SELECT *, row_number() OVER (PARTITION BY subject, criterion, reason ORDER BY lot) AS place
  FROM drawn
), shown AS (
  SELECT * FROM ranked
  QUALIFY row_number() OVER (PARTITION BY subject, criterion ORDER BY place, reason) <= $most
), others AS (
  SELECT s.lot, list(v.criterion ORDER BY v.criterion) AS others
  FROM shown s JOIN verdicts v
    ON v.repo = s.repo AND v.subject = s.subject AND v.issue = s.issue
       AND v.pull_repo IS NOT DISTINCT FROM s.pull_repo AND v.pull IS NOT DISTINCT FROM s.pull
  WHERE v.decides AND v.keep IS DISTINCT FROM true AND v.criterion <> s.criterion
  GROUP BY s.lot
)
SELECT s.* EXCLUDE (lot, place), left(i.title, $longest) AS title, left(i.body, $longest) AS body,
       left(p.title, $longest) AS pull_title, coalesce(others, []) AS others
FROM shown s
LEFT JOIN others USING (lot)
LEFT JOIN entries i ON i.repo = s.repo AND i.number = s.issue
LEFT JOIN entries p ON p.repo = s.pull_repo AND p.number = s.pull
ORDER BY s.subject, s.criterion, s.place, s.reason
"""


def draw_dropped(
    connection: duckdb.DuckDBPyConnection, seed: int, most: int = 3
) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Draw at most `most` dropped subjects a criterion, of different reasons first.

    Keys are subject and criterion. Private data in the texts are redacted, as in datasets. `others`
    are the other deciding criteria that drop a subject as well.
    """
    connection.execute(_DROPPED, {"seed": str(seed), "most": most})
    samples: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows(connection, _SHOWN, most=most, longest=_LONGEST):
        dropped = {
            **row,
            **{name: public_line(row[name]) for name in ("title", "pull_title", "evidence")},
            "body": excerpt(redact(row["body"] or "").text, 280, 280),
            "reason": row["reason"] or ("undecided" if row["undecided"] else "dropped"),
        }
        samples.setdefault((row["subject"], row["criterion"]), []).append(dropped)
    return samples


def public_line(text: str | None) -> str:
    """Return a text on one line, with private data redacted."""
    return line(redact(text or "").text)

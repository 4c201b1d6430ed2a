"""Says what each repository gave."""

from __future__ import annotations

from dataclasses import dataclass, fields

import duckdb

from goldpan.report.tables import rows

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


@dataclass(frozen=True, slots=True)
class Overview:
    """The numbers of one repository, or of all together."""

    repo: str
    language: str
    license: str
    first: str
    """The day of the oldest entry."""
    last: str
    """The day of the last change that was mined."""
    issues: int
    pulls: int
    comments: int
    """On issues and pull requests, as `goldpan status` counts them."""
    review_comments: int
    """On lines of code."""
    kept_issues: int
    pairs: int
    kept_pairs: int


_COUNTS = [field.name for field in fields(Overview) if field.type in ("int", int)]


def overview(connection: duckdb.DuckDBPyConnection) -> list[Overview]:
    """Return the numbers of each repository, the largest first."""
    return [Overview(**row) for row in rows(connection, _OVERVIEW)]


def total(overviews: list[Overview]) -> Overview:
    """Add up the numbers of several repositories."""
    counts = {name: sum(getattr(repository, name) for repository in overviews) for name in _COUNTS}
    days = [repository.first for repository in overviews if repository.first]
    last = max((repository.last for repository in overviews), default="")
    return Overview("", "", "", min(days, default=""), last, **counts)

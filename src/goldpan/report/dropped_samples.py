"""Draws subjects that criteria drop, so that a reader sees what a filter throws away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from goldpan.core.sanitize import line
from goldpan.report.tables import rows
from goldpan.text.excerpts import Excerpt, excerpt
from goldpan.text.redaction import redact

_LONGEST = 20_000

# The smallest digests of each reason: drawn in one pass, whatever the number of verdicts.
_DRAWN = """
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


@dataclass(frozen=True, slots=True)
class Dropped:
    """A subject that a criterion drops, or cannot judge."""

    repo: str
    issue: int
    pull_repo: str | None
    pull: int | None
    title: str
    pull_title: str
    body: Excerpt
    reason: str
    value: float | None
    evidence: str
    others: Sequence[str]
    """The other deciding criteria that drop it as well."""


def draw_dropped(
    connection: duckdb.DuckDBPyConnection, seed: int, most: int = 3
) -> dict[tuple[str, str], list[Dropped]]:
    """Draw at most `most` dropped subjects a criterion, of different reasons first.

    Keys are subject and criterion. What is private in the texts is made unreadable, as in
    datasets.
    """
    connection.execute(_DRAWN, {"seed": str(seed), "most": most})
    samples: dict[tuple[str, str], list[Dropped]] = {}
    for row in rows(connection, _SHOWN, most=most, longest=_LONGEST):
        dropped = Dropped(
            repo=row["repo"],
            issue=row["issue"],
            pull_repo=row["pull_repo"],
            pull=row["pull"],
            title=_public(row["title"]),
            pull_title=_public(row["pull_title"]),
            body=excerpt(redact(row["body"] or "").text, 280, 280),
            reason=row["reason"] or ("undecided" if row["undecided"] else "dropped"),
            value=row["value"],
            evidence=_public(row["evidence"]),
            others=row["others"],
        )
        samples.setdefault((row["subject"], row["criterion"]), []).append(dropped)
    return samples


def _public(text: str | None) -> str:
    return line(redact(text or "").text)

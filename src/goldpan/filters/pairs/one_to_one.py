"""Keeps pairs whose issue and pull request belong to each other alone."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import pyarrow as pa

from goldpan.filters.criterion import Criterion
from goldpan.filters.pairs import says_fixes
from goldpan.filters.repo_view import RepoView


@dataclass(frozen=True, slots=True)
class OneToOneSettings:
    """Which pairs count as others."""

    merged: bool = True
    """Whether only pairs with a merged pull request count, as the paper drops the rest before;
    those of pull requests in repositories that were not mined always do."""
    doubted: bool = False
    """Whether pairs count whose claim does not, by the criterion `says-fixes` as it is by default:
    "does not fix #1" says nothing against the pull request that does."""


_QUERY = f"""
WITH {says_fixes.CLAIMS}, named AS (
  SELECT *, lower(pull_repo) AS place,
         (NOT $merged OR merged IS NOT FALSE) AND ($doubted OR j.reason IS NULL) AS counts,
         CASE WHEN lower(pull_repo) = lower(repo) THEN '' ELSE pull_repo END || '#' || pull AS name
  FROM pairs JOIN (SELECT issue, pull_repo, pull, reason FROM judged) j
    USING (issue, pull_repo, pull)
), fixes AS (
  SELECT p.issue, p.place, p.pull, count(*) AS n,
         'the issue is also paired with ' || string_agg(o.name, ', ' ORDER BY o.name) AS told
  FROM named p JOIN named o ON o.issue = p.issue AND o.name <> p.name AND o.counts
  GROUP BY ALL
), fixed AS (
  SELECT p.issue, p.place, p.pull, count(*) AS n,
         'the pull is also paired with '
           || string_agg('#' || o.issue, ', ' ORDER BY o.issue) AS told
  FROM named p JOIN named o ON o.place = p.place AND o.pull = p.pull AND o.issue <> p.issue
                            AND o.counts
  GROUP BY ALL
)
SELECT issue, pull_repo, pull, a.n IS NULL AND b.n IS NULL AS keep,
       CASE WHEN a.n > 0 AND b.n > 0 THEN 'many-to-many' WHEN a.n > 0 THEN 'many-pulls'
            WHEN b.n > 0 THEN 'many-issues' END AS reason,
       coalesce(a.n, 0) + coalesce(b.n, 0) AS value,
       left(nullif(concat_ws('; ', a.told, b.told), ''), 200) AS evidence
FROM named LEFT JOIN fixes a USING (issue, place, pull) LEFT JOIN fixed b USING (issue, place, pull)
"""  # noqa: S608 - both parts are our own


def _judge(view: RepoView, settings: OneToOneSettings) -> pa.Table:
    claims = asdict(says_fixes.SaysFixesSettings())
    return view.sql(_QUERY, merged=settings.merged, doubted=settings.doubted, **claims)


CRITERION = Criterion(
    name="one-to-one",
    subject="pair",
    definition="Keeps pairs whose issue has no other fix and whose pull fixes no other issue.",
    source="FAUN-Eval, section 3.3.2, One-to-One Fix Check",
    settings=OneToOneSettings,
    judge=_judge,
)

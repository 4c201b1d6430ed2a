"""Keeps pairs whose issue passes criteria for issues."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from goldpan.core.errors import UsageError
from goldpan.filters.criterion import Criterion
from goldpan.filters.repo_view import RepoView


@dataclass(frozen=True, slots=True)
class IssueKeptSettings:
    """Which criteria the issue must pass."""

    criteria: tuple[str, ...] = (
        "bots",
        "redundancy",
        "text-quality",
        "language",
        "near-duplicates",
        "license",
        "private",
    )
    """Names of criteria for issues; one that cannot judge the issue counts as failed."""


_QUERY = """
SELECT p.issue, p.pull_repo, p.pull,
       CASE WHEN v.issue IS NOT NULL THEN failed IS NULL END AS keep,
       CASE WHEN v.issue IS NULL THEN 'issue-not-mined'
            WHEN failed IS NOT NULL THEN 'issue-dropped' END AS reason,
       n AS value, failed AS evidence
FROM pairs p LEFT JOIN (
  SELECT issue, count(*) FILTER (fails) AS n,
         string_agg(criterion || coalesce(' (' || reason || ')', ''), ', ' ORDER BY criterion)
           FILTER (fails) AS failed
  FROM (SELECT *, list_contains($criteria, criterion) AND keep IS DISTINCT FROM true AS fails
        FROM issue_verdicts)
  GROUP BY issue
) v USING (issue)
"""
_KNOWN = "SELECT DISTINCT criterion FROM issue_verdicts"


def _judge(view: RepoView, settings: IssueKeptSettings) -> pa.Table:
    criteria = view.sql(_KNOWN)["criterion"].to_pylist()
    if criteria and (strange := sorted(set(settings.criteria) - set(criteria))):
        raise UsageError(
            f"issue-kept names {strange[0]!r}, which is not a criterion for issues",
            f"Choose from {', '.join(sorted(criteria))}",
        )
    return view.sql(_QUERY, criteria=list(settings.criteria))


CRITERION = Criterion(
    name="issue-kept",
    subject="pair",
    definition="Keeps pairs whose issue passes the criteria for issues that the profile names.",
    source="Goldpan: an issue unfit for reading is unfit as a problem statement",
    settings=IssueKeptSettings,
    judge=_judge,
    reusable=False,
)

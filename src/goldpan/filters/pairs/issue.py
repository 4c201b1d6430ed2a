"""Criteria on the issue of a pair: closed by this fix, and fit for reading."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from goldpan.core.errors import UsageError
from goldpan.filters.criterion import Criterion, query_judge
from goldpan.filters.repo_view import RepoView


@dataclass(frozen=True, slots=True)
class IssueClosedSettings:
    """The signs of a closed issue that speak against the fix."""

    state_reasons: bool = True
    """True where an issue that was closed as not planned or as a duplicate counts as not fixed."""
    others: bool = True
    """True where an issue that GitHub closed by merging another pull request counts as fixed by
    that one."""
    before: bool = False
    """True where an issue that was closed before the merge counts as not fixed by it."""


_CLOSED = """
WITH closers AS (
  SELECT r.target_number AS issue, min(r.number) AS closer
  FROM refs r WHERE r.signal = 'closed_by' AND r.number IS NOT NULL
    AND lower(r.target_repo) = lower($repo)
  GROUP BY ALL
), judged AS (
  SELECT p.issue, p.pull_repo, p.pull, i.state_reason, c.closer,
         date_diff('minute', i.closed_at, q.merged_at) AS minutes_before,
         CASE WHEN i.number IS NULL THEN 'issue-not-mined'
              WHEN i.state <> 'closed' THEN 'still-open'
              WHEN $state_reasons AND i.state_reason = 'not_planned' THEN 'not-planned'
              WHEN $state_reasons AND i.state_reason = 'duplicate' THEN 'duplicate'
              WHEN $others AND c.closer <> p.pull
                   AND NOT list_has_any(p.signals, ['closed_by_pull', 'closed_by_commit'])
              THEN 'closed-by-another'
              WHEN $before AND minutes_before > 0 THEN 'closed-before' END AS reason
  FROM pairs p LEFT JOIN issues i ON i.number = p.issue
  LEFT JOIN pulls q ON q.number = p.pull AND lower(p.pull_repo) = lower(p.repo)
  LEFT JOIN closers c ON c.issue = p.issue
)
SELECT issue, pull_repo, pull,
       CASE WHEN reason IS DISTINCT FROM 'issue-not-mined' THEN reason IS NULL END AS keep, reason,
       CASE WHEN reason = 'closed-before' THEN minutes_before END AS value,
       CASE WHEN reason = 'closed-by-another' THEN 'closed by #' || closer END AS evidence
FROM judged
"""


ISSUE_CLOSED = Criterion(
    name="issue-closed",
    subject="pair",
    definition="Keeps pairs whose issue is closed as completed, and by no other pull request.",
    source="Goldpan: an issue that stays open after the merge is not fixed by it",
    settings=IssueClosedSettings,
    judge=query_judge(_CLOSED),
)


@dataclass(frozen=True, slots=True)
class IssueKeptSettings:
    """The criteria that the issue must pass."""

    criteria: tuple[str, ...] = (
        *("bots", "redundancy", "text-quality", "language"),
        *("near-duplicates", "license", "private"),
    )
    """Names of criteria for issues; one that cannot judge the issue counts as failed."""


_KEPT = """
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
    return view.sql(_KEPT, criteria=list(settings.criteria))


ISSUE_KEPT = Criterion(
    name="issue-kept",
    subject="pair",
    definition="Keeps pairs whose issue passes the criteria for issues that the profile names.",
    source="Goldpan: an issue unfit for reading is unfit as a problem statement",
    settings=IssueKeptSettings,
    judge=_judge,
    reusable=False,
)

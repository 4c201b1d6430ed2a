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
    hours_before: int = 1
    """How long before the merge an issue may have been closed where nobody's act ties the two:
    neither GitHub closed it by the merge or a commit, nor did a person link it by hand, nor name
    the pull request on closing it."""
    days_after: int = 30
    """How long after the merge, likewise."""


_CLOSED = """
WITH closed AS (
  SELECT number, "at" FROM events WHERE event = 'closed'
  UNION SELECT number, closed_at FROM issues WHERE closed_at IS NOT NULL
), named AS (
  SELECT DISTINCT r.number AS issue, r.target_number AS pull
  FROM refs r JOIN closings c USING (number)
  JOIN texts t ON t.number = r.number AND t.author = c.actor
              AND t.comment_id = try_cast(r.evidence.source_id AS BIGINT)
  WHERE r.signal = 'mention' AND lower(r.target_repo) = lower($repo)
    AND t.source = 'comment' AND abs(date_diff('minute', c."at", t.created_at)) <= 60
), delays AS (
  SELECT p.issue, p.pull,
         arg_min(date_diff('minute', q.merged_at, c."at"),
                 abs(date_diff('minute', q.merged_at, c."at"))) AS delay
  FROM pairs p JOIN pulls q ON q.number = p.pull JOIN closed c ON c.number = p.issue
  WHERE lower(p.pull_repo) = lower(p.repo)
    AND NOT list_has_any(p.signals, ['closed_by_pull', 'closed_by_commit', 'connected'])
    AND (p.issue, p.pull) NOT IN (FROM named)
  GROUP BY ALL
), closers AS (
  SELECT r.target_number AS issue, min(r.number) AS closer
  FROM refs r WHERE r.signal = 'closed_by' AND r.number IS NOT NULL
    AND lower(r.target_repo) = lower($repo)
  GROUP BY ALL
), judged AS (
  SELECT p.issue, p.pull_repo, p.pull, i.state_reason, c.closer,
         d.delay,
         CASE WHEN i.number IS NULL THEN 'issue-not-mined'
              WHEN i.state <> 'closed' THEN 'still-open'
              WHEN $state_reasons AND i.state_reason = 'not_planned' THEN 'not-planned'
              WHEN $state_reasons AND i.state_reason = 'duplicate' THEN 'duplicate'
              WHEN $others AND c.closer <> p.pull
                   AND NOT list_has_any(p.signals, ['closed_by_pull', 'closed_by_commit'])
              THEN 'closed-by-another'
              WHEN d.delay < -60 * $hours_before THEN 'closed-before'
              WHEN d.delay > 60 * 24 * $days_after THEN 'closed-after' END AS reason
  FROM pairs p LEFT JOIN issues i ON i.number = p.issue
  LEFT JOIN delays d ON d.issue = p.issue AND d.pull = p.pull
                    AND lower(p.pull_repo) = lower(p.repo)
  LEFT JOIN closers c ON c.issue = p.issue
)
SELECT issue, pull_repo, pull,
       CASE WHEN reason IS DISTINCT FROM 'issue-not-mined' THEN reason IS NULL END AS keep, reason,
       CASE WHEN reason IN ('closed-before', 'closed-after') THEN abs(delay) END AS value,
       CASE WHEN reason = 'closed-by-another' THEN 'closed by #' || closer
            WHEN reason IN ('closed-before', 'closed-after')
            THEN 'closed ' || CASE WHEN abs(delay) < 2880 THEN abs(delay) // 60 || ' hours'
                                   ELSE abs(delay) // 1440 || ' days' END
                 || CASE WHEN delay < 0 THEN ' before' ELSE ' after' END
                 || ' the merge, and no act ties it to #' || pull END AS evidence
FROM judged
"""


ISSUE_CLOSED = Criterion(
    name="issue-closed",
    subject="pair",
    definition="Keeps pairs whose issue is closed as completed, near the merge or by a tied act.",
    source="Goldpan: an issue that stays open after the merge is not fixed by it",
    settings=IssueClosedSettings,
    judge=query_judge(_CLOSED),
    version=2,
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

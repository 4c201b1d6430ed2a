"""Keeps pairs whose issue is closed, as done, and not by another pull request."""

from __future__ import annotations

from dataclasses import dataclass

from goldpan.filters.criterion import Criterion, query_judge


@dataclass(frozen=True, slots=True)
class IssueClosedSettings:
    """What a closed issue says against the fix."""

    state_reasons: bool = True
    """Whether an issue that was closed as not planned or as a duplicate counts as not fixed."""
    others: bool = True
    """Whether an issue that GitHub closed by merging another pull request counts as fixed by
    that."""
    before: bool = False
    """Whether an issue that was closed before the merge counts as not fixed by it."""


_QUERY = """
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


CRITERION = Criterion(
    name="issue-closed",
    subject="pair",
    definition="Keeps pairs whose issue is closed as completed, and by no other pull request.",
    source="Goldpan: an issue that stays open after the merge is not fixed by it",
    settings=IssueClosedSettings,
    judge=query_judge(_QUERY),
)

"""Keeps pairs whose pull request says plainly that it fixes the issue."""

from __future__ import annotations

from dataclasses import dataclass

from goldpan.filters.criterion import Criterion, query_judge


@dataclass(frozen=True, slots=True)
class SaysFixesSettings:
    """What counts as saying so."""

    hedged: bool = False
    """Whether a guess or a question counts ("might close #1", "does this fix #1?") where the issue
    was not closed by the merge, as GitHub says or within a minute of it."""
    comments: bool = True
    """Whether a keyword in a comment or review alone counts where the issue was not closed within
    `minutes` of the merge, nor linked to the pull request by GitHub. Each of the
    nine gold pairs that this alone would drop is a fix."""
    minutes: int = 60
    """How soon after the merge an issue was closed because of it."""


CLAIMS = """
keywords AS (
  SELECT issue, pull_repo, pull,
         bool_and(e.where IN ('comment', 'review', 'review_comment')) AS remarked,
         first(e.excerpt ORDER BY e.where = 'body' DESC, e.excerpt) AS excerpt
  FROM (SELECT issue, pull_repo, pull, unnest(evidence) AS e FROM pairs)
  WHERE e.signal = 'keyword'
  GROUP BY ALL
), claims AS (
  SELECT p.issue, p.pull_repo, p.pull, p.stance, k.remarked, k.excerpt,
         list_has_any(p.signals, ['closed_by_pull', 'closed_by_commit'])
           OR coalesce(date_diff('second', q.merged_at, i.closed_at) BETWEEN 0 AND 60, false)
           AS closed,
         list_has_any(p.signals, ['closed_by_pull', 'closed_by_commit', 'closing_reference',
                                  'connected']) AS linked,
         date_diff('minute', q.merged_at, i.closed_at) BETWEEN 0 AND $minutes AS soon
  FROM pairs p LEFT JOIN keywords k USING (issue, pull_repo, pull)
  LEFT JOIN issues i ON i.number = p.issue
  LEFT JOIN pulls q ON q.number = p.pull AND lower(p.pull_repo) = lower(p.repo)
), judged AS (
  SELECT *,
         CASE WHEN stance IN ('negated', 'partial') THEN stance
              WHEN stance IN ('supposed', 'asked') AND NOT $hedged AND NOT closed THEN stance
              WHEN remarked AND NOT linked AND NOT $comments AND soon IS NOT TRUE
              THEN 'only-in-comment' END AS reason
  FROM claims
)
"""
"""The query's part that gives each pair in `judged` the reason why its claim does not count."""

_QUERY = f"""
WITH {CLAIMS}
SELECT issue, pull_repo, pull, reason IS NULL AS keep, reason,
       CASE WHEN reason IS NOT NULL THEN excerpt END AS evidence
FROM judged
"""  # noqa: S608 - both parts are our own


CRITERION = Criterion(
    name="says-fixes",
    subject="pair",
    definition="Keeps pairs whose pull request says plainly that it fixes the whole issue.",
    source='Goldpan: "does not fix #1" and "might fix #1" hold a closing keyword too',
    settings=SaysFixesSettings,
    judge=query_judge(_QUERY),
)

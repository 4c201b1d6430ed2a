"""Keeps discussions that say enough and are not too large."""

from __future__ import annotations

from dataclasses import dataclass

from goldpan.filters.criterion import Criterion, query_judge


@dataclass(frozen=True, slots=True)
class CommentScaleSettings:
    """Bounds in characters (code points)."""

    minimum: int = 200
    """The fewest characters; the paper's value."""
    maximum: int = 10_000_000
    """The most characters; the paper says 10 MB."""
    title: bool = False
    """Whether the title counts."""
    bots: bool = False
    """Whether bots' texts count; the paper removes bots only after this check."""


_QUERY = """
SELECT i.number AS issue, n BETWEEN $minimum AND $maximum AS keep,
       CASE WHEN n < $minimum THEN 'too-short' WHEN n > $maximum THEN 'too-long' END AS reason,
       n AS value
FROM issues i JOIN (
  SELECT number,
         coalesce(sum(length(text)) FILTER (($title OR source <> 'title')
                                            AND ($bots OR NOT robot)), 0)::BIGINT AS n
  FROM texts GROUP BY number
) USING (number)
"""


CRITERION = Criterion(
    name="comment-scale",
    subject="issue",
    definition="Keeps issues whose discussion has at least 200 and at most 10 million characters.",
    source="FAUN-Eval, section 3.3.1, Comment Scale",
    settings=CommentScaleSettings,
    judge=query_judge(_QUERY),
    uses=("bots",),
)

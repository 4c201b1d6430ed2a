"""Keeps discussions with few events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from goldpan.filters.criterion import Criterion, query_judge


@dataclass(frozen=True, slots=True)
class EventCountSettings:
    """What counts as an event, and how many are allowed."""

    maximum: int = 10
    """The most events; the paper's value."""
    count: Literal["timeline", "discussion"] = "timeline"
    """timeline: all items of GitHub's timeline, comments and subscriptions included.
    discussion: the opening, each comment, and the closing, which are the events of GH Archive
    that StarCoder counted."""
    bots: bool = True
    """Whether bots' openings and comments count; the actors of other items are unknown."""


_QUERY = """
SELECT issue, n <= $maximum AS keep,
       CASE WHEN n IS NULL THEN 'no-timeline' WHEN n > $maximum THEN 'many-events' END AS reason,
       n AS value,
       CASE WHEN n > $maximum THEN comments || ' comments among them' END AS evidence
FROM (
  SELECT i.number AS issue, comments,
         CASE WHEN $count = 'timeline'
              THEN i.timeline_items - CASE WHEN $bots THEN 0 ELSE by_robots END
              ELSE (i.closed_at IS NOT NULL)::INT + CASE WHEN $bots THEN 1 + comments
                   ELSE (NOT i.robot)::INT + comments - by_robots END
         END AS n
  FROM issues i JOIN (
    SELECT number, count(*) FILTER (source = 'comment') AS comments,
           count(*) FILTER (source = 'comment' AND robot) AS by_robots
    FROM texts GROUP BY number
  ) USING (number)
)
"""


CRITERION = Criterion(
    name="event-count",
    subject="issue",
    definition="Keeps issues with at most ten events.",
    source="FAUN-Eval, section 3.3.1, Event Count",
    settings=EventCountSettings,
    judge=query_judge(_QUERY),
    uses=("bots",),
)

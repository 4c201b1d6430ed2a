"""Criteria on how much a discussion says, in how many events, and by whom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from goldpan.filters.bots import Bots
from goldpan.filters.criterion import Criterion, query_judge


@dataclass(frozen=True, slots=True)
class CommentScaleSettings:
    """Bounds in characters (code points)."""

    minimum: int = 200
    """The fewest characters; the paper's value."""
    maximum: int = 10_000_000
    """The most characters; the paper says 10 MB."""
    title: bool = False
    """True where the title counts."""
    bots: bool = False
    """True where bots' texts count; the paper removes bots only after this check."""


_CHARACTERS = """
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


COMMENT_SCALE = Criterion(
    name="comment-scale",
    subject="issue",
    definition="Keeps issues whose discussion has at least 200 and at most 10 million characters.",
    source="FAUN-Eval, section 3.3.1, Comment Scale",
    settings=CommentScaleSettings,
    judge=query_judge(_CHARACTERS),
    uses=("bots",),
)


@dataclass(frozen=True, slots=True)
class EventCountSettings:
    """The events that count, and how many are allowed."""

    maximum: int = 10
    """The most events; the paper's value."""
    count: Literal["timeline", "discussion"] = "timeline"
    """timeline: all items of GitHub's timeline, comments and subscriptions included.
    discussion: the opening, each comment, and the closing, which are the events of GH Archive
    that StarCoder counted."""
    bots: bool = True
    """True where bots' openings and comments count; the actors of other items are unknown."""


_EVENTS = """
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


EVENT_COUNT = Criterion(
    name="event-count",
    subject="issue",
    definition="Keeps issues with at most ten events.",
    source="FAUN-Eval, section 3.3.1, Event Count",
    settings=EventCountSettings,
    judge=query_judge(_EVENTS),
    uses=("bots",),
)


@dataclass(frozen=True, slots=True)
class ParticipantsSettings:
    """The required people."""

    minimum: int = 2
    """The fewest people who wrote the issue or a comment; the paper's value."""
    deleted: bool = True
    """True where deleted accounts count, all of an issue's together as one person."""


_PEOPLE = """
SELECT number AS issue, n >= $minimum AS keep,
       CASE WHEN n < $minimum THEN 'few-participants' END AS reason, n AS value
FROM (
  SELECT number,
         count(DISTINCT author) FILTER (NOT robot)
         + CASE WHEN $deleted THEN max((author IS NULL AND NOT robot)::INT) ELSE 0 END AS n
  FROM texts GROUP BY number
)
"""


PARTICIPANTS = Criterion(
    name="participants",
    subject="issue",
    definition="Keeps issues with texts by at least two people, not counting bots.",
    source="FAUN-Eval, section 3.3.1, Participant Count",
    settings=ParticipantsSettings,
    judge=query_judge(_PEOPLE),
    uses=("bots",),
)


_ROBOTS = """
SELECT i.number AS issue, NOT i.robot AS keep,
       CASE WHEN i.robot THEN 'bot-' || i.robot_sign END AS reason,
       coalesce(n, 0) AS value,
       CASE WHEN i.robot THEN 'opened by ' || coalesce(i.author, 'a deleted account')
            WHEN n > 0 THEN 'comments by bots: ' || names END AS evidence
FROM issues i LEFT JOIN (
  SELECT number, count(*) AS n,
         left(string_agg(DISTINCT coalesce(author, 'a deleted account'), ', '
                         ORDER BY coalesce(author, 'a deleted account')), 150) AS names
  FROM texts WHERE robot AND source = 'comment' GROUP BY number
) USING (number)
"""


BOTS = Criterion(
    name="bots",
    subject="issue",
    definition="Keeps issues opened by people, and ignores what bots wrote in them.",
    source="FAUN-Eval, section 3.3.1, Robot Detection",
    settings=Bots,
    judge=query_judge(_ROBOTS),
    discussions=True,
)

"""Keeps discussions between people."""

from __future__ import annotations

from dataclasses import dataclass

from goldpan.filters.criterion import Criterion, query_judge


@dataclass(frozen=True, slots=True)
class ParticipantsSettings:
    """How many people there must be, and who is one."""

    minimum: int = 2
    """The fewest people who wrote the issue or a comment; the paper's value."""
    deleted: bool = True
    """Whether deleted accounts count, all of an issue's together as one person."""


_QUERY = """
SELECT number AS issue, n >= $minimum AS keep,
       CASE WHEN n < $minimum THEN 'few-participants' END AS reason, n AS value
FROM (
  SELECT number,
         count(DISTINCT author) FILTER (NOT robot)
         + CASE WHEN $deleted THEN max((author IS NULL AND NOT robot)::INT) ELSE 0 END AS n
  FROM texts GROUP BY number
)
"""


CRITERION = Criterion(
    name="participants",
    subject="issue",
    definition="Keeps issues with texts by at least two people, not counting bots.",
    source="FAUN-Eval, section 3.3.1, Participant Count",
    settings=ParticipantsSettings,
    judge=query_judge(_QUERY),
    uses=("bots",),
)

"""Keeps issues that somebody answered."""

from __future__ import annotations

from dataclasses import dataclass

from goldpan.filters.criterion import Criterion, query_judge


@dataclass(frozen=True, slots=True)
class AnsweredSettings:
    """What an answer needs."""

    closed: bool = True
    """Whether the issue must be closed: an open one may still wait for its answer."""


_QUERY = """
SELECT i.number AS issue, (NOT $closed OR i.state = 'closed') AND n > 0 AS keep,
       CASE WHEN n = 0 THEN 'no-reply'
            WHEN $closed AND i.state <> 'closed' THEN 'still-open' END AS reason,
       n AS value
FROM issues i JOIN (
  SELECT t.number,
         count(*) FILTER (t.source = 'comment' AND NOT t.robot
                          AND t.author IS DISTINCT FROM e.author) AS n
  FROM texts t JOIN entries e USING (number) GROUP BY t.number
) USING (number)
"""


CRITERION = Criterion(
    name="answered",
    subject="issue",
    definition="Keeps closed issues with a reply by a person other than the asker.",
    source="Goldpan: a question without a reply has no reference answer",
    settings=AnsweredSettings,
    judge=query_judge(_QUERY),
    uses=("bots",),
)

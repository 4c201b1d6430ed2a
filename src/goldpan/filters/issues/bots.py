"""Drops what bots wrote, and with it their part in discussions."""

from __future__ import annotations

from goldpan.filters.bots import Bots
from goldpan.filters.criterion import Criterion, query_judge

_QUERY = """
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


CRITERION = Criterion(
    name="bots",
    subject="issue",
    definition="Keeps issues opened by people, and ignores what bots wrote in them.",
    source="FAUN-Eval, section 3.3.1, Robot Detection",
    settings=Bots,
    judge=query_judge(_QUERY),
    discussions=True,
)

"""Keeps one issue of each cluster of near duplicates."""

from __future__ import annotations

from goldpan.filters.criterion import Criterion, query_judge
from goldpan.filters.duplicates.settings import DuplicateSettings

# GitHub makes discussions of issues, which stay behind as copies: of a cluster whose first text is
# of the other kind, the first of this kind is kept.
_QUERY = """
WITH copies AS (
  SELECT d.*, relation = 'sibling' OR lower(d.representative_repo) = lower($repo)
           AND d.representative_number NOT IN (SELECT number FROM issues)
           AND i.number = min_by(i.number, (i.created_at, i.number)) OVER (PARTITION BY d.cluster)
         AS stays
  FROM issues i JOIN duplicates d ON d.number = i.number AND lower(d.repo) = lower($repo)
  WHERE d.relation <> 'representative'
)
SELECT i.number AS issue, coalesce(stays, true) AS keep,
       CASE WHEN stays THEN NULL
            WHEN relation = 'exact' THEN 'exact-duplicate'
            WHEN relation = 'near' THEN 'near-duplicate' END AS reason,
       similarity AS value,
       'duplicate of ' || representative_repo || '#' || representative_number AS evidence
FROM issues i LEFT JOIN copies USING (number)
"""


CRITERION = Criterion(
    name="near-duplicates",
    subject="issue",
    definition="Keeps the earliest of issues that say nearly the same, and tasks of one template.",
    source="Goldpan: copies weigh double and leak from training into test data",
    settings=DuplicateSettings,
    judge=query_judge(_QUERY),
    discussions=True,
    version=2,
    reusable=False,
)

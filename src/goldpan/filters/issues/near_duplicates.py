"""Keeps one issue of each cluster of near duplicates."""

from __future__ import annotations

import pyarrow as pa

from goldpan.filters.criterion import Criterion
from goldpan.filters.duplicates.settings import DuplicateSettings
from goldpan.filters.repo_view import RepoView

_QUERY = """
SELECT i.number AS issue, relation IS NULL OR relation = 'sibling' AS keep,
       CASE relation WHEN 'exact' THEN 'exact-duplicate' WHEN 'near' THEN 'near-duplicate' END
         AS reason,
       similarity AS value,
       'duplicate of ' || representative_repo || '#' || representative_number AS evidence
FROM issues i LEFT JOIN (
  FROM duplicates WHERE lower(repo) = lower($repo) AND relation <> 'representative'
) USING (number)
"""


def _judge(view: RepoView, settings: DuplicateSettings) -> pa.Table:
    return view.sql(_QUERY, repo=view.repo)


CRITERION = Criterion(
    name="near-duplicates",
    subject="issue",
    definition="Keeps the earliest of issues that say nearly the same, and tasks of one template.",
    source="Goldpan: copies weigh double and leak from training into test data",
    settings=DuplicateSettings,
    judge=_judge,
    discussions=True,
    version=2,
    reusable=False,
)

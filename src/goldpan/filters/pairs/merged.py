"""Keeps pairs whose pull request was merged."""

from __future__ import annotations

from goldpan.filters.criterion import Criterion, NoSettings, query_judge

_QUERY = """
SELECT issue, pull_repo, pull, merged AS keep,
       CASE WHEN merged IS NULL THEN 'pull-not-mined'
            WHEN NOT merged THEN 'not-merged' END AS reason
FROM pairs
"""


CRITERION = Criterion(
    name="merged",
    subject="pair",
    definition="Keeps pairs whose pull request was merged.",
    source="FAUN-Eval, section 3.3.2, Merged Check",
    settings=NoSettings,
    judge=query_judge(_QUERY),
)

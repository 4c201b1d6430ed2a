"""Keeps pairs whose pull request was merged."""

from __future__ import annotations

import pyarrow as pa

from goldpan.filters.criterion import Criterion, NoSettings
from goldpan.filters.repo_view import RepoView

_QUERY = """
SELECT issue, pull_repo, pull, merged AS keep,
       CASE WHEN merged IS NULL THEN 'pull-not-mined'
            WHEN NOT merged THEN 'not-merged' END AS reason
FROM pairs
"""


def _judge(view: RepoView, settings: NoSettings) -> pa.Table:
    return view.sql(_QUERY)


CRITERION = Criterion(
    name="merged",
    subject="pair",
    definition="Keeps pairs whose pull request was merged.",
    source="FAUN-Eval, section 3.3.2, Merged Check",
    settings=NoSettings,
    judge=_judge,
)

"""Keeps pairs whose pull request stands in the issue's repository."""

from __future__ import annotations

from goldpan.filters.criterion import Criterion, NoSettings, query_judge

_QUERY = """
SELECT issue, pull_repo, pull, lower(pull_repo) = lower(repo) AS keep,
       CASE WHEN lower(pull_repo) <> lower(repo) THEN 'elsewhere' END AS reason,
       CASE WHEN lower(pull_repo) <> lower(repo) THEN 'the fix is in ' || pull_repo END AS evidence
FROM pairs
"""


CRITERION = Criterion(
    name="same-repository",
    subject="pair",
    definition="Keeps pairs whose pull request is in the repository of the issue.",
    source="FAUN-Eval, section 3.2.2: pairs are those of one repository",
    settings=NoSettings,
    judge=query_judge(_QUERY),
)

"""Keeps pairs whose change git tells as GitHub does."""

from __future__ import annotations

from dataclasses import dataclass

from goldpan.filters.criterion import Criterion, query_judge


@dataclass(frozen=True, slots=True)
class RevisionAgreesSettings:
    """How sure the change must be."""

    agrees: bool = True
    """Whether files and lines must be as GitHub announced; else any known state will do."""


_QUERY = """
SELECT p.issue, p.pull_repo, p.pull,
       CASE WHEN r.number IS NULL THEN NULL
            ELSE r.state <> 'none' AND (NOT $agrees OR coalesce(r.agrees, true)) END AS keep,
       CASE WHEN r.number IS NULL THEN 'no-history' WHEN r.state = 'none' THEN 'no-state'
            WHEN $agrees AND NOT r.agrees THEN 'differs' END AS reason,
       CASE WHEN r.number IS NULL THEN 'run goldpan clone' WHEN r.state = 'none' THEN r.problem
            ELSE concat_ws(', ', 'read by ' || r.state, nullif(array_to_string(r.notes, ', '), ''))
       END AS evidence
FROM pairs p LEFT JOIN revisions r ON r.number = p.pull AND lower(p.pull_repo) = lower(p.repo)
"""


CRITERION = Criterion(
    name="revision-agrees",
    subject="pair",
    definition="Keeps pairs whose files and line counts in git match those that GitHub announced.",
    source="Goldpan: files and patches come from git, which can have lost what was merged",
    settings=RevisionAgreesSettings,
    judge=query_judge(_QUERY),
)

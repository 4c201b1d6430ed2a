"""Keeps pairs whose pull request changes one file."""

from __future__ import annotations

from dataclasses import dataclass

from goldpan.filters.criterion import Criterion, query_judge


@dataclass(frozen=True, slots=True)
class SingleFileSettings:
    """How many files there may be."""

    maximum: int = 1
    """The most changed files; the paper's value."""


# Git tells what was merged; without it, GitHub's own count stands for it.
_QUERY = """
WITH counts AS (
  SELECT p.number,
         CASE WHEN coalesce(r.state, 'none') <> 'none' THEN coalesce(c.files, 0)
              ELSE p.changed_files END AS files,
         coalesce(r.state, 'none') <> 'none' AS by_git
  FROM pulls p LEFT JOIN revisions r USING (number)
  LEFT JOIN (SELECT number, count(*) AS files FROM changes GROUP BY number) c USING (number)
)
SELECT p.issue, p.pull_repo, p.pull, files BETWEEN 1 AND $maximum AS keep,
       CASE WHEN n.number IS NULL THEN 'pull-not-mined' WHEN files IS NULL THEN 'files-unknown'
            WHEN files = 0 THEN 'no-files' WHEN files > $maximum THEN 'many-files' END AS reason,
       files AS value,
       CASE WHEN files IS NULL THEN NULL WHEN by_git THEN 'as git tells' ELSE 'as GitHub tells' END
         AS evidence
FROM pairs p LEFT JOIN counts n ON n.number = p.pull AND lower(p.pull_repo) = lower(p.repo)
"""


CRITERION = Criterion(
    name="single-file",
    subject="pair",
    definition="Keeps pairs whose pull request changes exactly one file.",
    source="FAUN-Eval, section 3.3.2, File-Changed Count",
    settings=SingleFileSettings,
    judge=query_judge(_QUERY),
)

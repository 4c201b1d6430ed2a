"""Fix pairs as problem and solution (FAUN-Eval, section 3.3.3)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from goldpan.annotation.review.answer import ReviewItem, SubjectKind
from goldpan.annotation.review.subjects.issue import question
from goldpan.filters.repo_view import RepoView
from goldpan.git.patches import patches
from goldpan.llm.parts import Part

_AT_ONCE = 64
_FILES = 30
"""Changed files that are shown."""
_LONGEST = 200_000
"""Characters of one file's diff that are looked at: a diff, unlike other texts, has no limit."""
_FILE = re.compile(r"^(?=diff --git )", re.M)
_PAIRS = """
SELECT k.issue, k.pull_repo, k.pull, i.title, i.body, p.title AS pull_title, p.body AS pull_body,
       r.merge_base, r.after_sha
FROM kept k JOIN issues i ON i.number = k.issue
LEFT JOIN pulls p ON p.number = k.pull AND lower(k.pull_repo) = lower($repo)
LEFT JOIN revisions r ON r.number = p.number
ORDER BY k.issue, k.pull_repo, k.pull
"""


def read(view: RepoView) -> Iterator[ReviewItem]:
    """Yield each kept pair with its diff; without a diff nobody can judge it."""
    relation = view.connection.sql(_PAIRS, params={"repo": view.repo})
    clone = view.workspace.clone(view.repo)
    cloned = clone.exists()
    for batch in relation.to_arrow_reader(_AT_ONCE):
        rows = batch.to_pylist()
        cloned_rows = [row for row in rows if cloned and row["merge_base"] and row["after_sha"]]
        spans = [(row["pull"], row["merge_base"], row["after_sha"]) for row in cloned_rows]
        diffs = patches(clone, spans) if spans else iter(())
        for row in rows:
            yield _case(view.repo, row, next(diffs).text if row in cloned_rows else None)


def _case(repo: str, row: dict[str, Any], patch: str | None) -> ReviewItem:
    case = ReviewItem(repo, "pair", row["issue"], row["pull_repo"], row["pull"])
    if not patch:
        return replace(case, obstacle="no-diff")
    files = [file for file in _FILE.split(patch) if file.strip()]
    return replace(
        case,
        parts=(
            *question(row),
            Part("pull request title", row["pull_title"] or ""),
            Part("pull request body", row["pull_body"] or ""),
            *(
                Part(f"change {number} of {len(files)}", file[:_LONGEST], "code")
                for number, file in enumerate(files[:_FILES], 1)
            ),
        ),
    )


KIND = SubjectKind("pair", "problem-solution", (), read)

"""Reads kept fix pairs with the one file that each changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from goldpan.builders.context import BuildContext
from goldpan.builders.earlier import REASONS, UNTOLD

PAIR_REASONS = {
    "no-history": "the history of the code was not cloned, or lies in another repository",
    "no-state": "the states before and after the pull request are lost",
    "several-files": "the pull request changes more than one file, or none",
    **REASONS,
}
"""Why a kept pair may give no example, by reason."""
_PAIRS = """
WITH single AS (
  SELECT number, count(*) AS files, any_value(COLUMNS(* EXCLUDE (repo, number)))
  FROM changes GROUP BY number
)
SELECT k.issue, k.pull, i.title, i.body, i.created_at, i.updated_at, i.closed_at, i.labels,
       p.title AS pull_title, p.body AS pull_body, p.created_at AS pull_created_at,
       p.merged_at, pairs.signals,
       r.state, r.before_sha, r.after_sha, r.merge_base, single.*
FROM kept k
JOIN pairs USING (issue, pull_repo, pull)
JOIN issues i ON i.number = k.issue
LEFT JOIN pulls p ON p.number = k.pull AND k.pull_repo = $repo
LEFT JOIN revisions r ON r.number = p.number
LEFT JOIN single ON single.number = p.number
ORDER BY k.issue, k.pull_repo, k.pull
"""


def fix_pairs(
    context: BuildContext, family: str, *, several_files: bool = False
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield each kept pair that can be built, and the columns that its examples share.

    The others are counted in `context.dropped` with the reason. Unless `several_files` are wanted,
    a pair has the columns of the one file that it changes.
    """
    repository = context.repository()
    repo, earlier = repository["repo"], context.earlier()
    for pair in context.rows(_PAIRS, repo=repo):
        reason = _obstacle(pair, several_files)
        if reason:
            context.dropped[reason] += 1
            continue
        if earlier:
            work = earlier.work.get(pair["pull"])
            texts = earlier.question(pair["issue"], work.begun) if work else UNTOLD
            if isinstance(texts, str):
                context.dropped[texts] += 1
                continue
            pair["title"], pair["body"] = texts
        raw = (*context.raw.get(pair["issue"], ()), *context.raw.get(pair["pull"], ()))
        yield (
            pair,
            {
                **repository,
                "id": f"{family}:{repo}#{pair['issue']}+{pair['pull']}",
                "issue": pair["issue"],
                "pull": pair["pull"],
                "title": context.text(pair["title"]),
                "body": context.text(pair["body"]),
                "created_at": pair["created_at"],
                "updated_at": pair["updated_at"],
                "closed_at": pair["closed_at"],
                "merged_at": pair["merged_at"],
                "labels": [context.text(label) for label in pair["labels"] or ()],
                "signals": pair["signals"],
                "raw": tuple(dict.fromkeys(raw)),
            },
        )


def _obstacle(pair: dict[str, Any], several_files: bool) -> str | None:
    """Return why no example can be built of a pair, or None."""
    if pair["state"] is None:
        return "no-history"
    if pair["state"] == "none":
        return "no-state"
    if pair["files"] != 1 and not several_files:
        return "several-files"
    return None

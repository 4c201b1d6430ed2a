"""Finds the references in a text as its row is made (FAUN-Eval, Algorithm 1, lines 2-7)."""

from __future__ import annotations

from typing import Any

from goldpan.miners.tables.rows import Rows
from goldpan.text.keywords import find_closing_keywords, find_mentions

_AROUND = 60


def read_text(
    rows: Rows,
    row: int,
    number: int,
    where: str,
    source_id: str | None,
    at: str | None,
    text: object,
    *,
    of_pull: bool,
) -> None:
    """Add what a text mentions; closing keywords count only where a pull request says them."""
    if not text or not isinstance(text, str):
        return
    references = rows.facets["mentions"]
    mentions = find_mentions(text, hosts=rows.hosts)
    line, counted = 1, 0
    for mention in mentions:
        start = mention.start
        line += text.count("\n", counted, start)
        counted = start
        excerpt = text[max(0, start - _AROUND) : mention.end + _AROUND]
        references.append(
            (
                rows.repo,
                number,
                _same(mention.repo, rows.repo),
                mention.number,
                None,
                "mention",
                number,
                at,
                mention.pattern,
                None,
                None,
                where,
                source_id,
                start,
                line,
                " ".join(excerpt.split()),
                row,
            )
        )
    markdown = where not in ("title", "commit")
    if not of_pull or not (markdown or mentions):  # only markup hides a reference
        return
    for keyword in find_closing_keywords(text, markdown=markdown, hosts=rows.hosts):
        references.append(
            (
                rows.repo,
                number,
                _same(keyword.repo, rows.repo),
                keyword.number,
                None,
                "keyword",
                number,
                at,
                None,
                keyword.keyword,
                keyword.stance,
                where,
                source_id,
                keyword.start,
                keyword.line,
                keyword.excerpt,
                row,
            )
        )


def add_commit(
    rows: Rows, number: int, sha: Any, message: Any, authored: Any, committed: Any
) -> None:
    """Add a commit of a pull request and what its message refers to."""
    row = rows.next_row()
    rows.facets["commits"].append((number, sha, message, authored, committed, rows.sequence, row))
    read_text(rows, row, number, "commit", sha, committed, message, of_pull=True)


def _same(repo: str | None, own: str) -> str:
    """Return a repository as it is written here; GitHub's names ignore case."""
    return own if repo is None or repo.lower() == own.lower() else repo

"""Drops pairs whose titles are about documentation."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pyarrow as pa

from goldpan.filters.criterion import Criterion
from goldpan.filters.repo_view import RepoView


@dataclass(frozen=True, slots=True)
class DocumentationSettings:
    """Words for documentation; one that ends in `*` stands for all that begin so."""

    exact: tuple[str, ...] = ("DOC", "DOCS")
    """Words whose case counts."""
    words: tuple[str, ...] = ("docs", "documentation", "documentations", "docstring*", "readm*")
    """Words in any case."""
    prefixes: tuple[str, ...] = ("doc", "docs")
    """Words in any case that count at the beginning: `doc: x`, `[doc] x`, `doc(api): x`."""


_NOTHING = r"[^\x00-\x{10FFFF}]"

_QUERY = """
SELECT p.issue, p.pull_repo, p.pull, found IS NULL AS keep,
       CASE WHEN found IS NOT NULL THEN 'documentation' END AS reason,
       CASE WHEN found IS NOT NULL THEN place || ' title: ' || left(found, 150) END AS evidence
FROM pairs p
LEFT JOIN issues i ON i.number = p.issue
LEFT JOIN pulls q ON q.number = p.pull AND lower(p.pull_repo) = lower(p.repo),
LATERAL (
  SELECT regexp_matches(coalesce(i.title, ''), $pattern) AS by_issue,
         regexp_matches(coalesce(q.title, ''), $pattern) AS by_pull
),
LATERAL (
  SELECT CASE WHEN by_pull THEN 'pull' WHEN by_issue THEN 'issue' END AS place,
         CASE WHEN by_pull THEN q.title WHEN by_issue THEN i.title END AS found
)
"""


def _judge(view: RepoView, settings: DocumentationSettings) -> pa.Table:
    return view.sql(_QUERY, pattern=_pattern(settings))


def _pattern(settings: DocumentationSettings) -> str:
    """Return an expression, in RE2's syntax, for a title that has one of the words."""
    parts = [
        *(rf"(?:^|[^A-Za-z0-9_]){_word(word)}" for word in settings.exact),
        *(rf"(?i:(?:^|[^A-Za-z0-9_]){_word(word)})" for word in settings.words),
        *(rf"(?i:^[\s\[(]*{re.escape(word)}\s*[:\])(])" for word in settings.prefixes),
    ]
    return "|".join(parts) or _NOTHING


def _word(word: str) -> str:
    whole = word.removesuffix("*")
    return re.escape(whole) + ("" if whole != word else r"(?:[^A-Za-z0-9_]|$)")


DOCUMENTATION = Criterion(
    name="documentation",
    subject="pair",
    definition="Keeps pairs without a word for documentation in either title.",
    source="FAUN-Eval, section 3.3.2, Doc Change Detection",
    settings=DocumentationSettings,
    judge=_judge,
)

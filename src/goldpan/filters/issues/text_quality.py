"""Keeps issues whose text was written for its readers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from goldpan.filters.criterion import Criterion, answer_table
from goldpan.filters.repo_view import RepoView
from goldpan.text.lines import template_lines
from goldpan.text.quality import Fault, QualityRules, describe, find_fault, has_prose, is_worded


@dataclass(frozen=True, slots=True)
class Settings:
    """How little a text may say for itself."""

    least_prose: int = 20
    """Letters of prose beside a trace or a template, or in the title over nothing at all."""
    least_title: int = 10
    """Letters of a title in several words that say what a trace below it is about."""
    trace_share: float = 0.5
    """The share of what is no template from which on a text with so little prose is a trace."""
    template_share: float = 0.05
    """The share of a repository's issues from which on a line is part of its template; 0 for
    common templates alone."""


_QUERY = """
SELECT number AS issue, coalesce(title, '') AS title, coalesce(body, '') AS text
FROM issues ORDER BY number
"""
_BATCH = 4_096

_ANSWER = """
SELECT i.number AS issue, f.issue IS NULL AS keep, f.reason, f.value, f.evidence
FROM issues i LEFT JOIN text_faults f ON f.issue = i.number
"""


def _judge(view: RepoView, settings: Settings) -> pa.Table:
    faults = answer_table(list(_faults(view, settings)), "issue")
    return view.sql_over("text_faults", faults, _ANSWER)


def _faults(view: RepoView, settings: Settings) -> Iterator[dict[str, object]]:
    rules = QualityRules(settings.least_prose, settings.trace_share)
    template: frozenset[str] = frozenset()
    if settings.template_share > 0:
        bodies = (text for batch in _bodies(view) for text in batch["text"].to_pylist())
        template = template_lines(bodies, settings.template_share)
    for batch in _bodies(view):
        for row in batch.to_pylist():
            if has_prose(row["text"], rules.least_prose, template):
                continue
            quality = describe(row["text"], template)
            fault = find_fault(quality, rules)
            if fault and not _says_it(row["title"], fault, settings):
                yield {
                    "issue": row["issue"],
                    "reason": fault if fault == "empty" else f"only-{fault}",
                    "value": quality.prose_characters,
                    "evidence": f"{quality.prose_characters} letters of prose, "
                    f"{quality.trace_share:.0%} trace, {quality.template_share:.0%} template",
                }


def _says_it(title: str, fault: Fault, settings: Settings) -> bool:
    """Say whether a title is the report that the text below it is not.

    Whoever leaves a template as it is was asked for more than a title.
    """
    if fault == "template":
        return False
    return is_worded(title, settings.least_title if fault == "trace" else settings.least_prose)


def _bodies(view: RepoView) -> Iterator[pa.RecordBatch]:
    yield from view.connection.sql(_QUERY).to_arrow_reader(_BATCH)


CRITERION = Criterion(
    name="text-quality",
    subject="issue",
    definition="Keeps issues whose title and text are more than a trace or an unfilled template.",
    source="Goldpan: a text that nobody wrote for a reader is not a problem statement",
    settings=Settings,
    judge=_judge,
    discussions=True,
    version=2,
)

"""Keeps issues whose text was written for its readers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from goldpan.filters.criterion import Criterion, answer_table
from goldpan.filters.repo_view import RepoView
from goldpan.text.lines import LineKind, TextLine, classify, is_choice, read_lines, template_lines
from goldpan.text.prose import letters, opening_letters, prose_of

Fault = Literal["empty", "trace", "template"]

_ATTACHMENT = re.compile(r"!\[|<img\b|<video\b|https?://")
_WORD = re.compile(r"[^\W_]")
_TITLE_WORDS, _WORD_LETTERS = 2, 2


@dataclass(frozen=True, slots=True)
class TextQualitySettings:
    """The least that a text has to say."""

    least_prose: int = 20
    """Letters of prose beside a trace or a template, or in the title over nothing at all."""
    least_title: int = 10
    """Letters of a title in several words that say what a trace below it is about."""
    trace_share: float = 0.5
    """The share of what is no template from which on a text with so little prose is a trace."""
    template_share: float = 0.05
    """The share of a repository's issues from which on a line is part of its template; 0 for
    common templates alone."""


@dataclass(frozen=True, slots=True)
class Quality:
    """The parts of a text; characters are counted without white space."""

    characters: int
    prose_characters: int  # letters of prose, quotes included
    code_characters: int
    trace_share: float  # of the characters: logs and stack traces, marked as code or not
    template_share: float  # of the characters: template headings, instructions, empty answers
    has_attachment: bool  # a link, an image or a video
    has_words: bool  # a letter or digit of its writer's, be it in a name or a number


def describe(text: str, template: frozenset[str] = frozenset()) -> Quality:
    """Measure a text; `template` has the repository's own template lines (`template_lines`)."""
    lines = classify(text, template)
    sizes: Counter[LineKind] = Counter()
    for kind, line in lines:
        sizes[kind] += len(line) - line.count(" ") - line.count("\t")
    total = sum(sizes.values())
    written = prose_of(lines, quotes=True)
    own = [line for kind, line in lines if kind is LineKind.PROSE or kind is LineKind.QUOTE]
    return Quality(
        characters=total,
        prose_characters=letters(written),
        code_characters=sizes[LineKind.CODE],
        trace_share=_share(sizes[LineKind.TRACE], total),
        template_share=_share(sizes[LineKind.TEMPLATE] + sizes[LineKind.COMMENT], total),
        has_attachment=any(map(_ATTACHMENT.search, own)),
        has_words=bool(written) or any(map(_WORD.search, own)),
    )


def _share(part: int, total: int) -> float:
    return round(part / total, 4) if total else 0.0


def find_fault(quality: Quality, settings: TextQualitySettings) -> Fault | None:
    """Return why a text is of no use, None where it is of use.

    `template`: there is a template, and beside it less than a sentence, no code, trace or link.
    `trace`: most of the rest is logs or stack traces, with less than a sentence of prose.
    `empty`: nothing at all, not even a word.
    """
    if quality.prose_characters >= settings.least_prose:
        return None
    rest = 1 - quality.template_share
    if quality.trace_share and quality.trace_share >= settings.trace_share * rest:
        return "trace"
    if quality.code_characters or quality.trace_share or quality.has_attachment:
        return None
    if quality.template_share:
        return "template"
    return None if quality.has_words else "empty"


def is_worded(title: str, least: int) -> bool:
    """Return whether a title has `least` letters in several words, those in backticks included.

    The title over a trace is mostly its message, often marked as code.
    """
    written = prose_of([TextLine(LineKind.PROSE, title.replace("`", " "))])
    words = [word for word in written.split() if letters(word) >= _WORD_LETTERS]
    return len(words) >= _TITLE_WORDS and letters(written) >= least


def has_prose(text: str, least: int, template: frozenset[str] = frozenset()) -> bool:
    """Return whether a text surely has `least` letters of prose, reading no further than these."""
    letter_count = 0
    for kind, line in read_lines(text, template):
        if kind is not LineKind.PROSE or not line or is_choice(line):
            continue
        if letter_count + opening_letters(line) >= least:
            return True
        letter_count += letters(prose_of((TextLine(kind, line),)))
        if letter_count >= least:
            return True
    return False


_QUERY = """
SELECT number AS issue, coalesce(title, '') AS title, coalesce(body, '') AS text
FROM issues ORDER BY number
"""
_BODIES = "SELECT coalesce(body, '') AS text FROM issues ORDER BY number"

_ANSWER = """
SELECT i.number AS issue, f.issue IS NULL AS keep, f.reason, f.value, f.evidence
FROM issues i LEFT JOIN text_faults f ON f.issue = i.number
"""


def _judge(view: RepoView, settings: TextQualitySettings) -> pa.Table:
    faults = answer_table(list(_faults(view, settings)), "issue")
    return view.sql_over("text_faults", faults, _ANSWER)


def _faults(view: RepoView, settings: TextQualitySettings) -> Iterator[dict[str, object]]:
    template: frozenset[str] = frozenset()
    if settings.template_share > 0:
        bodies = (row["text"] for row in view.rows(_BODIES))
        template = template_lines(bodies, settings.template_share)
    for row in view.rows(_QUERY):
        if has_prose(row["text"], settings.least_prose, template):
            continue
        quality = describe(row["text"], template)
        fault = find_fault(quality, settings)
        if fault and not _title_suffices(row["title"], fault, settings):
            yield {
                "issue": row["issue"],
                "reason": fault if fault == "empty" else f"only-{fault}",
                "value": quality.prose_characters,
                "evidence": f"{quality.prose_characters} letters of prose, "
                f"{quality.trace_share:.0%} trace, {quality.template_share:.0%} template",
            }


def _title_suffices(title: str, fault: Fault, settings: TextQualitySettings) -> bool:
    """Return whether a title is the report that the text below it is not.

    Over an unfilled template it is not, as the template asks for more.
    """
    if fault == "template":
        return False
    return is_worded(title, settings.least_title if fault == "trace" else settings.least_prose)


TEXT_QUALITY = Criterion(
    name="text-quality",
    subject="issue",
    definition="Keeps issues whose title and text are more than a trace or an unfilled template.",
    source="Goldpan: a text that nobody wrote for a reader is not a problem statement",
    settings=TextQualitySettings,
    judge=_judge,
    discussions=True,
    version=3,
)

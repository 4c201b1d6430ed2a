"""What an issue's text consists of, and whether anything in it was written for its readers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from goldpan.text.lines import Kind, Line, classify, is_choice, read_lines
from goldpan.text.prose import letters, opening_letters, prose_of

Fault = Literal["empty", "trace", "template"]

_ATTACHMENT = re.compile(r"!\[|<img\b|<video\b|https?://")
_WORD = re.compile(r"[^\W_]")
_TITLE_WORDS, _WORD_LETTERS = 2, 2


@dataclass(frozen=True, slots=True)
class Quality:
    """What a text consists of; characters are counted without white space."""

    characters: int
    prose_characters: int  # letters of prose, quotes included
    code_characters: int
    trace_share: float  # of the characters: logs and stack traces, marked as code or not
    template_share: float  # of the characters: template headings, instructions, empty answers
    has_attachment: bool  # a link, an image or a video
    has_words: bool  # a letter or digit of its writer's, be it in a name or a number


@dataclass(frozen=True, slots=True)
class QualityRules:
    """How little a text may say for itself."""

    least_prose: int = 20  # letters beside a trace or a template
    trace_share: float = 0.5  # of what is no template makes a text with so little prose a trace


def describe(text: str, template: frozenset[str] = frozenset()) -> Quality:
    """Measure a text; `template` has the repository's own template lines (`template_lines`)."""
    lines = classify(text, template)
    sizes: Counter[Kind] = Counter()
    for kind, line in lines:
        sizes[kind] += len(line) - line.count(" ") - line.count("\t")
    total = sum(sizes.values())
    written = prose_of(lines, quotes=True)
    own = [line for kind, line in lines if kind is Kind.PROSE or kind is Kind.QUOTE]
    return Quality(
        characters=total,
        prose_characters=letters(written),
        code_characters=sizes[Kind.CODE],
        trace_share=_share(sizes[Kind.TRACE], total),
        template_share=_share(sizes[Kind.TEMPLATE] + sizes[Kind.COMMENT], total),
        has_attachment=any(map(_ATTACHMENT.search, own)),
        has_words=bool(written) or any(map(_WORD.search, own)),
    )


def _share(part: int, total: int) -> float:
    return round(part / total, 4) if total else 0.0


def find_fault(quality: Quality, rules: QualityRules | None = None) -> Fault | None:
    """Say why a text is of no use, if it is.

    `template`: there is a template, and beside it less than a sentence, no code, trace or link.
    `trace`: most of the rest is logs or stack traces, with less than a sentence of prose.
    `empty`: nothing at all, not even a word.
    """
    rules = rules or QualityRules()
    if quality.prose_characters >= rules.least_prose:
        return None
    rest = 1 - quality.template_share
    if quality.trace_share and quality.trace_share >= rules.trace_share * rest:
        return "trace"
    if quality.code_characters or quality.trace_share or quality.has_attachment:
        return None
    if quality.template_share:
        return "template"
    return None if quality.has_words else "empty"


def is_worded(title: str, least: int) -> bool:
    """Say whether a title has `least` letters in several words, those between backticks included.

    What a person writes over a trace is mostly its message, often marked as code.
    """
    written = prose_of([Line(Kind.PROSE, title.replace("`", " "))])
    words = [word for word in written.split() if letters(word) >= _WORD_LETTERS]
    return len(words) >= _TITLE_WORDS and letters(written) >= least


def find_faults(
    texts: Iterable[str],
    template: frozenset[str] = frozenset(),
    rules: QualityRules | None = None,
) -> Iterator[Fault | None]:
    """Yield `find_fault(describe(text, template), rules)` of each text, most of them at once.

    A text is read only as far as its first sentence, unless it has none.
    """
    rules = rules or QualityRules()
    for text in texts:
        if has_prose(text, rules.least_prose, template):
            yield None
        else:
            yield find_fault(describe(text, template), rules)


def has_prose(text: str, least: int, template: frozenset[str] = frozenset()) -> bool:
    """Say whether a text surely has `least` letters of prose; it is not read beyond them."""
    letter_count = 0
    for kind, line in read_lines(text, template):
        if kind is not Kind.PROSE or not line or is_choice(line):
            continue
        if letter_count + opening_letters(line) >= least:
            return True
        letter_count += letters(prose_of((Line(kind, line),)))
        if letter_count >= least:
            return True
    return False

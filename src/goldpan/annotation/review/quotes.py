"""Quotations of a model, found in a text as people would find them.

White space, case, the marks of Markdown and punctuation at the ends make no difference. An ellipsis
stands for what was left out between two passages of one text, and one word may have one typo.
Whatever would change what is said is another text: a word more or less, a number, a negation.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rapidfuzz.distance import OSA

from goldpan.llm.parts import PromptPart
from goldpan.text.markers import nfkc
from goldpan.text.prose import split_sentences

_LINKS = re.compile(r"!?\[([^\[\]\n]{1,300})\]\([^()\s]{1,2000}\)")
_MARKS = re.compile(r"[*`]+|~~|(?<!\w)_+|_+(?!\w)|^[ \t]{0,3}(?:#{1,6}[ \t]+|(?:>[ \t]?)+)", re.M)
_STRAIGHT = str.maketrans("\u201c\u201d\u2018\u2019", "\"\"''")
_ELLIPSIS = re.compile(r"\[(?:\.{3}|\u2026)\]|\((?:\.{3}|\u2026)\)|\.{3,}|\u2026")
_ENDS = " \t\n.,;:!?\"'()[]"
_FEWEST_WORDS = 3  # of a passage beside an ellipsis
_CUT_OFF = 40  # characters from which on a quote may end within a word, cut by some limit
_WORDS_FOR_A_TYPO = 4
_LETTERS_FOR_A_TYPO = 5
_WORD = re.compile(r"\S+")
_NUMBER = re.compile(r"\s*(?:\[(\d{1,6})\].*|(\d{1,6})\.?)\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Shown:
    """What a model is shown of a case."""

    texts: tuple[str, ...]
    sentences: tuple[str, ...] = ()
    """The sentences that bear the numbers from 1 on; none where the model copies passages."""


def number_sentences(parts: Sequence[PromptPart]) -> tuple[tuple[PromptPart, ...], tuple[str, ...]]:
    """Return the parts with a number in brackets before each sentence, and the sentences."""
    numbered: list[PromptPart] = []
    sentences: list[str] = []
    for part in parts:
        text, at = "", 0
        for each in split_sentences(part.text, "join") if part.kind == "text" else ():
            sentences.append(part.text[each.start : each.end])
            text += f"{part.text[at : each.start]}[{len(sentences)}] "
            at = each.start
        numbered.append(replace(part, text=text + part.text[at:]))
    return tuple(numbered), tuple(sentences)


def quotations(evidence: Sequence[str], shown: Shown) -> list[str | None]:
    """Return the passage that each evidence quotes, or the sentence whose number it is.

    None for what stands in no text, for nothing, and for the number of no sentence.
    """
    texts = [_plain(text) for text in (*shown.texts, *shown.sentences)]
    quotes = (_quotation(each, shown.sentences) for each in evidence)
    return [quote if any(_is_in(quote, text) for text in texts) else None for quote in quotes]


def _quotation(evidence: str, sentences: Sequence[str]) -> str:
    match = _NUMBER.fullmatch(evidence) if sentences else None
    if match is None:
        return evidence
    number = int(match[1] or match[2])
    return sentences[number - 1] if 0 < number <= len(sentences) else ""


def _plain(text: str) -> str:
    """Return what a text says, as words with single spaces between."""
    unmarked = _MARKS.sub("", _LINKS.sub(r"\1", text.translate(_STRAIGHT)))
    return " ".join(nfkc(unmarked).casefold().split())


def _is_in(quote: str, text: str) -> bool:
    whole = _plain(quote).strip(_ENDS)
    if not whole:
        return False
    if _find(whole, text, 0) is not None:
        return True
    passages = [
        passage for part in _ELLIPSIS.split(quote) if (passage := _plain(part).strip(_ENDS))
    ]
    if len(passages) > 1 and any(len(each.split()) < _FEWEST_WORDS for each in passages):
        return False
    at: int | None = 0
    for passage in passages:
        at = None if at is None else _find(passage, text, at)
    return bool(passages) and at is not None


def _find(passage: str, text: str, start: int) -> int | None:
    """Return where a passage of whole words ends in the text; None where it is not in it."""
    end = r"(?!\d|'\w|\.\d|not\b)" if len(passage) >= _CUT_OFF else r"(?!\w|'\w|\.\d)"
    found = re.compile(rf"(?<!\w)(?<!\d\.){re.escape(passage)}{end}").search(text, start)
    return found.end() if found else _find_with_typo(passage, text, start)


def _find_with_typo(passage: str, text: str, start: int) -> int | None:
    wanted = [word.strip(_ENDS) for word in passage.split()]
    if len(wanted) < _WORDS_FOR_A_TYPO:
        return None
    words = [(word[0].strip(_ENDS), word.end()) for word in _WORD.finditer(text, start)]
    for at in range(len(words) - len(wanted) + 1):
        window = words[at : at + len(wanted)]
        other = (pair for pair in zip(wanted, window, strict=True) if pair[0] != pair[1][0])
        first, second = next(other, None), next(other, None)
        if second is None and (first is None or _is_typo(first[0], first[1][0])):
            return window[-1][1]
    return None


def _is_typo(word: str, there: str) -> bool:
    """Return whether two words differ by one letter, or two that changed places."""
    return (
        min(len(word), len(there)) >= _LETTERS_FOR_A_TYPO
        and word.isalpha()
        and there.isalpha()
        and word[0] == there[0]
        and OSA.distance(word, there, score_cutoff=1) == 1
    )

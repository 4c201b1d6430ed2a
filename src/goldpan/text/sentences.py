"""Sentences of code comments, cut and normalized as for NLBSE'23 (section III-A).

The paper tells the steps and not the rules. These rules were found by comparing the competition's
class comments with its sentences; they give 99 of 100 sentences letter by letter
(`docs/code-comments.md`). Sentences are cut out of the text as it stands, so that each keeps its
place there, and normalized one by one afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Wrapping = Literal["cut", "join"]
"""What the end of a line does to a sentence: `cut` ends it, as in the paper; `join` lets it go on
unless a blank line, a tag or a list item follows."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence where it stands in a text: character offsets, no white space at its ends."""

    start: int
    end: int


_LINE_END = re.compile(r"\r\n|\r|\n")
_STOP = re.compile(r"(?<![.!?])[.!?]++(?:[)\]}\"'»”’*`]++|(?![\w,@#&^%]))")
_GOES_ON = re.compile(r"\b(?:e\.g|i\.e|etc|vs|cf|[a-z])\Z", re.IGNORECASE)
_LOOK_BACK = 8
_NEW_ITEM = re.compile(
    r"[ \t]*+(?:[-*+•][ \t]|[@:\\]\w|\d{1,3}[.)][ \t]|</?(?:p|li|ul|ol|pre|br|h\d)\b|>>>|\.\. )",
    re.IGNORECASE,
)
_TAG = re.compile(r"<[^<>]{0,200}+>|&\w{1,20}+;")

_ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|etc)\.")
_NUMBER = re.compile(r"(\d++)(?:\.(\d++))?")
_RUN = re.compile(r"([.!?])\1++")
_DOTTED = re.compile(r"(\w++)(?:\.([^\W\d]\w*+))?")
_LEADING_DOT = re.compile(r"(?<![\w.])\.(?=\w)")
_SPECIAL = re.compile(r"[^\w,.@#&^%!?]|_")


def split_sentences(text: str, wrapping: Wrapping = "cut") -> list[Sentence]:
    """Return where the sentences of a comment stand, in order; those without a word are left out.

    A sentence ends at a full stop, question or exclamation mark after which no word goes on, but
    not at those of numbers, initials and abbreviations such as e.g. and etc.
    """
    sentences = []
    for start, end in _blocks(text, wrapping):
        at = start
        for stop in _STOP.finditer(text, start, end):
            if not _goes_on(text, stop, start):
                sentences.append(_trimmed(text, at, stop.end()))
                at = stop.end()
        sentences.append(_trimmed(text, at, end))
    return [sentence for sentence in sentences if has_words(text[sentence.start : sentence.end])]


def normalize_sentence(sentence: str) -> str:
    """Return a sentence in the form of NLBSE'23.

    Lower case, one space for each run of white space and special characters; of these only
    ``,.@#&^%!?`` stay. Letters of all scripts stay. Dots vanish from numbers and abbreviations,
    and become ``^`` within names such as ``os.path``.
    """
    text = _ABBREVIATION.sub(lambda match: match[0].replace(".", ""), sentence.lower())
    text = _NUMBER.sub(lambda match: match[1] + (match[2] or ""), text)
    text = _RUN.sub(r"\1", text).lstrip(" \t.!?")
    text = _DOTTED.sub(lambda match: f"{match[1]}^{match[2]}" if match[2] else match[1], text)
    text = _LEADING_DOT.sub("^", text)
    return " ".join(_SPECIAL.sub(" ", text).split())


def has_words(sentence: str) -> bool:
    """Tell whether a text says anything: a letter that is not part of a tag."""
    return any(char.isalpha() for char in _TAG.sub("", sentence))


def _blocks(text: str, wrapping: Wrapping) -> Iterator[tuple[int, int]]:
    """Yield the parts of a text that sentences do not cross, without their line ends."""
    open_block: tuple[int, int] | None = None
    for start, end in _lines(text):
        goes_on = (
            wrapping == "join"
            and open_block is not None
            and not text[start:end].isspace()
            and start < end
            and not _NEW_ITEM.match(text, start, end)
        )
        if goes_on and open_block is not None:
            open_block = (open_block[0], end)
            continue
        if open_block is not None:
            yield open_block
        open_block = (start, end) if text[start:end].strip() else None
    if open_block is not None:
        yield open_block


def _lines(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for match in _LINE_END.finditer(text):
        yield start, match.start()
        start = match.end()
    yield start, len(text)


def _goes_on(text: str, stop: re.Match[str], start: int) -> bool:
    """Tell a full stop that ends no sentence."""
    before = text[max(start, stop.start() - _LOOK_BACK) : stop.start()]
    return stop[0].startswith(".") and _GOES_ON.search(before) is not None


def _trimmed(text: str, start: int, end: int) -> Sentence:
    part = text[start:end]
    lead = len(part) - len(part.lstrip())
    return Sentence(start + lead, max(start + lead, start + len(part.rstrip())))

"""Issue reports beside their template: own words, lines of the template, structure.

A project's template fills most of an issue's body, so the own words are told apart from it. Which
lines are the template's is read off the train texts, without their answers; which of them stand in
an issue is evidence of its own, as templates differ by type and year.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_MOST_CHARACTERS, _TITLE_CHARACTERS = 20_000, 500
"""The most characters of a body and a title that are read: the rest of a log says nothing new."""
_CODE_WORDS = 12
"""The most words of a block of code or output: its first line often names what it is."""
_FEWEST, _SHARE = 4, 75
"""A line is the template's where at least 4 texts have it, or one in 75 if that is more."""
_LINE_CHARACTERS = 60

_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_FENCE = re.compile(r"(```|~~~)(.*?)(?:\1|\Z)", re.DOTALL)
_IMAGE = re.compile(r"!\[[^\]\[]{0,200}\]\([^)]{0,500}\)|<img[^>]{0,500}>", re.IGNORECASE)
_LINK = re.compile(r"\[([^\]\[]{0,200})\]\([^)]{0,500}\)")
_ADDRESS = re.compile(r"https?://\S+")
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,500}>")
_FAILURE = re.compile(
    r"Traceback \(most recent|^[ \t]{1,40}at [^\n(]{1,200}\([^\n]{0,200}:\d|\bat 0x"
    r"|Segmentation fault|core dumped|error:|Error:|Exception|undefined reference",
    re.MULTILINE,
)
_NO_LETTERS = re.compile(r"[\W\d_]+")
_ASKS = re.compile(
    r"(how|what|why|is|can|does|do|where|which|when|should|could|are|has|any)\b", re.IGNORECASE
)
_WISHES = re.compile(
    r"\b(add|support|allow|feature|request|implement|option|make|enable|provide|improve)\b",
    re.IGNORECASE,
)
_COMPLAINS = re.compile(
    r"\b(not|crash|error|fail|wrong|broken|bug|incorrect|fix|missing|cannot|can.t|doesn.t|unable)\b",
    re.IGNORECASE,
)
_PLEADS = re.compile(r"thank|please|help", re.IGNORECASE)
_MENTION = re.compile(r"@\w")
_NUMBER = re.compile(r"#\d{3,}")


@dataclass(frozen=True, slots=True)
class IssueText:
    """An issue report, taken apart."""

    title: str
    words: str
    """The body without the template, comments and markup; code and links are words that say so."""
    template: str
    """The template's lines that the body has, a word each."""
    structure: npt.NDArray[np.float64]
    """Lengths, marks and kinds of words, of title and body."""


def template_lines(texts: Iterable[str]) -> frozenset[str]:
    """Return the lines that many issues share, without digits, punctuation and case."""
    count = Counter[str]()
    issues = 0
    for text in texts:
        _, body = _title_and_body(text)
        count.update({_letters(line) for line in _COMMENT.sub(" ", body).split("\n")})
        issues += 1
    least = max(_FEWEST, issues // _SHARE)
    return frozenset(line for line, number in count.items() if line and number >= least)


def read_issue(text: str, template: frozenset[str]) -> IssueText:
    """Take apart a text whose first line is the title."""
    title, body = _title_and_body(text)
    words = _own_words(body, template)
    lines = (_letters(line) for line in body.split("\n"))
    template_words = (
        line.replace(" ", "_")[:_LINE_CHARACTERS] for line in lines if line in template
    )
    return IssueText(title, words, " ".join(template_words), _structure(title, body, words))


def _title_and_body(text: str) -> tuple[str, str]:
    title, _, body = text.partition("\n")
    return title[:_TITLE_CHARACTERS], body[:_MOST_CHARACTERS].replace("\r", "")


def _letters(line: str) -> str:
    return _NO_LETTERS.sub(" ", line).strip().lower()


def _own_words(body: str, template: frozenset[str]) -> str:
    text = _FENCE.sub(_block_words, _COMMENT.sub(" ", body))
    text = _LINK.sub(r"\1", _IMAGE.sub(" screenshot ", text))
    text = _TAG.sub(" ", _ADDRESS.sub(" link ", text))
    own = (line for line in text.split("\n") if _letters(line) not in template)
    return " ".join(" ".join(own).split())


def _block_words(block: re.Match[str]) -> str:
    kind = "errorlog" if _FAILURE.search(block[2]) else "codeblock"
    return f"\n {kind} {' '.join(block[2].split()[:_CODE_WORDS])}\n"


def _structure(title: str, body: str, words: str) -> npt.NDArray[np.float64]:
    return np.array(
        [
            np.log1p(len(body)),
            np.log1p(len(words)),
            np.log1p(len(title)),
            len(title.split()),
            "?" in title,
            _ASKS.match(title) is not None,
            ":" in title,
            title.startswith("["),
            min(body.count("```") // 2, 6),
            _FAILURE.search(body) is not None,
            min(len(_IMAGE.findall(body)), 4),
            min(len(_ADDRESS.findall(body)), 6),
            min(words.count("?"), 5),
            "<!--" in body,
            "### " in body,
            "**" in body,
            min(body.count("#"), 20),
            _WISHES.search(title) is not None,
            _COMPLAINS.search(title) is not None,
            "errorlog" in words,
            "screenshot" in words,
            body.count("_No response_"),
            words.count(" I "),
            _MENTION.search(body) is not None,
            _NUMBER.search(body) is not None,
            not body.strip(),
            _PLEADS.search(words) is not None,
        ],
        dtype=np.float64,
    )

"""The prose of an issue or a comment, without code, traces, templates and markup.

`split_sentences` cuts code comments as for NLBSE'23 (section III-A). The paper gives the steps and
not the rules. These rules were found by comparing the competition's class comments with its
sentences; they give 99 of 100 sentences letter by letter (`docs/code-comments.md`). Sentences are
cut out of the text as it stands, so that each keeps its place there, and normalized one by one
afterwards.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from goldpan.text.lines import LineKind, TextLine, classify

_LETTER_SHARE = 0.5  # of a line's visible characters makes it prose; numbers and code have fewer

# Whole texts go through these in turn. None reaches over the end of a line, and each is linear:
# what repeats is possessive, bounded, or ends where the next match could begin.
_TAGS = re.compile(r"</?[A-Za-z][^<>\n]*+>|<(?:https?:|mailto:)[^<>\s]*+>")
_CODE_TAGS = re.compile(r"<(code|kbd|tt|samp)>[^<>\n]*+</\1>", re.I)
_TICKS = re.compile(r"`++")
_LINKS = re.compile(
    r"(!?)\[([^\[\]\n]*+)\]\([^()\s]*+(?:\([^()\s]*+\)[^()\s]*+)?(?:[ \t]+\"[^\"\n]*+\")?\)"
)
_URLS = re.compile(
    r"(?:https?://|ftp://|file:/|mailto:|www\.)[^\s<>()\]]++(?:\([^\s<>()\]]*+\)[^\s<>()\]]*+)*"
)
_NAMES = re.compile(r"@(?<![\w@/]@)[A-Za-z0-9][A-Za-z0-9_-]*+(?:/[A-Za-z0-9_-]++)?|#[0-9]++\b")
# It begins with a character, to which the matcher jumps; that is twice as fast as a word boundary.
_HASHES = re.compile(
    r"[0-9a-fA-F](?<!\w.)(?:(?<=0)x(?=[a-fA-F]{0,40}[0-9])[0-9a-fA-F]{7,}+"
    r"|(?:(?<=[0-9])|(?=[a-fA-F]{0,39}[0-9]))[0-9a-fA-F]{6,}+)\b"
)
_RUNS = re.compile(r"[!-~]{40,}+")  # nothing that people read is so long without a space
_EMOJI = re.compile(r":[a-z][a-z0-9_+-]{1,40}:")
_MARKS = re.compile(
    r"^[ \t]*(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]+(?:\[[ xX]?\][ \t])?|#{1,6}[ \t])", re.M
)
# A line that begins with a sentence is prose, whatever numbers follow; no expression above hits
# the words of one.
_SENTENCE = re.compile(
    r"(?:\(?[A-Za-z]{1,17}(?:['’-][A-Za-z]{1,17})?[,.:;!?)]{0,2} |[0-9]{1,6} ){4,}"
)
_UNDERLINES = re.compile(r"(?<!\w)_{1,3}|_{1,3}(?!\w)")
_SIGNS = "*|~`"
_SPACES = re.compile(r"[ \t]{2,}+")
_NO_LETTERS = bytes(code for code in range(128) if not chr(code).isalpha())


def prose(text: str) -> str:
    """Return the prose of a GitHub-flavored Markdown text, its lines in order, without markup.

    Taken out are code (fenced, indented, inline), logs, stack traces, diffs, shell prompts, lines
    of numbers, URLs, mentions, hashes, HTML tags and comments, lines of issue templates, and
    quotes.
    """
    return prose_of(classify(text))


def prose_of(lines: Iterable[TextLine], *, quotes: bool = False) -> str:
    """Return the prose of classified lines."""
    rows = [
        line.text.lstrip(" \t>") if line.kind is LineKind.QUOTE else line.text
        for line in lines
        if line.kind is LineKind.PROSE or (quotes and line.kind is LineKind.QUOTE)
    ]
    cleaned = _clean("\n".join(rows))
    return "\n".join(line for raw in cleaned.split("\n") if _reads_well(line := raw.strip()))


def _clean(text: str) -> str:
    if "`" in text:
        text = "\n".join(map(_without_code_spans, text.split("\n")))
    if "<" in text:
        text = _TAGS.sub(" ", _CODE_TAGS.sub(" ", text))
    if "](" in text:
        text = _LINKS.sub(lambda link: " " if link[1] else link[2], text)
    if ":/" in text or "www." in text or "mailto:" in text:
        text = _URLS.sub(" ", text)
    if "@" in text or "#" in text:
        text = _NAMES.sub(" ", text)
    text = _HASHES.sub(" ", _RUNS.sub(" ", text))
    if ":" in text:
        text = _EMOJI.sub(" ", text)
    text = _MARKS.sub("", text)
    for sign in _SIGNS:
        text = text.replace(sign, " ")
    if "_" in text:
        text = _UNDERLINES.sub(" ", text)
    if "&" in text:
        text = html.unescape(text)
    return _SPACES.sub(" ", text)


def _without_code_spans(line: str) -> str:
    """Leave out what stands between two runs of as many backticks, as CommonMark reads them."""
    if "`" not in line:
        return line
    runs = [run.span() for run in _TICKS.finditer(line)]
    closing: list[int | None] = []
    later: dict[int, int] = {}
    for index in reversed(range(len(runs))):
        start, end = runs[index]
        closing.append(later.get(end - start))
        later[end - start] = index
    closing.reverse()
    parts: list[str] = []
    index = copied = 0
    while index < len(runs):
        close = closing[index]
        if close is not None:
            parts += (line[copied : runs[index][0]], " ")
            index, copied = close, runs[close][1]
        index += 1
    return "".join([*parts, line[copied:]])


def letters(text: str) -> int:
    """Return how many letters of any script a text has."""
    if text.isascii():
        return len(text.encode().translate(None, _NO_LETTERS))
    return sum(map(str.isalpha, text))


def opening_letters(line: str) -> int:
    """Return the number of letters in a line's first sentence, all of which cleaning keeps."""
    sentence = _SENTENCE.match(line.lstrip())
    return letters(sentence[0]) if sentence else 0


def _reads_well(line: str) -> bool:
    if not line:
        return False
    if line.replace(" ", "").isalpha():
        return True
    characters = len(line) - line.count(" ")
    return letters(line) >= _LETTER_SHARE * characters or _SENTENCE.match(line) is not None


Wrapping = Literal["cut", "join"]
"""Effect of a line's end on a sentence: `cut` ends it, as in the paper; `join` lets it go on
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
_RUN = re.compile(r"([.!?])\1+")
_DOTTED = re.compile(r"(\w++)(?:\.([^\W\d]\w*+))?")
_LEADING_DOT = re.compile(r"(?<![\w.])\.(?=\w)")
_SPECIAL = re.compile(r"[^\w,.@#&^%!?]|_")


def split_sentences(text: str, wrapping: Wrapping = "cut") -> list[Sentence]:
    """Return the positions of a comment's sentences, in order, without those that have no word.

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
    """Return whether a text has a letter that is not part of a tag."""
    return any(char.isalpha() for char in _TAG.sub("", sentence))


def _blocks(text: str, wrapping: Wrapping) -> Iterator[tuple[int, int]]:
    """Yield the parts of a text that sentences do not cross, without their line ends."""
    open_block: tuple[int, int] | None = None
    for start, end in _lines(text):
        is_blank = not text[start:end].strip()
        if open_block is not None:
            if wrapping == "join" and not is_blank and not _NEW_ITEM.match(text, start, end):
                open_block = (open_block[0], end)
                continue
            yield open_block
        open_block = None if is_blank else (start, end)
    if open_block is not None:
        yield open_block


def _lines(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for match in _LINE_END.finditer(text):
        yield start, match.start()
        start = match.end()
    yield start, len(text)


def _goes_on(text: str, stop: re.Match[str], start: int) -> bool:
    """Return whether a full stop ends no sentence."""
    before = text[max(start, stop.start() - _LOOK_BACK) : stop.start()]
    return stop[0].startswith(".") and _GOES_ON.search(before) is not None


def _trimmed(text: str, start: int, end: int) -> Sentence:
    part = text[start:end]
    lead = len(part) - len(part.lstrip())
    return Sentence(start + lead, max(start + lead, start + len(part.rstrip())))

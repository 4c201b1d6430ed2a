"""Takes the comments of one file apart into sentences."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from goldpan.code.languages import language_of, second_language_of
from goldpan.papers.nlbse.comments.comment import Comment, Form
from goldpan.papers.nlbse.comments.declared import DocumentedClasses, read_declared
from goldpan.papers.nlbse.comments.docstrings import read_docstrings
from goldpan.papers.nlbse.comments.files import (
    PYTHON,
    SMALLTALK,
    SourceText,
    read_text,
    written_in,
)
from goldpan.papers.nlbse.comments.smalltalk import is_tonel, read_filetree, read_tonel
from goldpan.papers.nlbse.comments.text import Span
from goldpan.text.redaction import find_private, redact
from goldpan.text.sentences import (
    Wrapping,
    has_words,
    normalize_sentence,
    split_sentences,
)

LONGEST_COMMENT = 65_536
"""Characters; what is longer is data or code that was commented out."""
MOST_SENTENCES = 1_000
_LONGEST_SHOWN = 4_000
_LINES_OF_CODE = 20
_LONGEST_CODE = 2_000
_LINE_END = re.compile(rb"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class Source:
    """A file to be read."""

    path: str
    data: bytes = field(repr=False)
    wrapping: Wrapping = "cut"
    kinds: frozenset[str] = frozenset({"class"})
    """Of docstrings: class, module, function."""


@dataclass(frozen=True, slots=True)
class SentenceFound:
    """A sentence and where it stands: bytes of the file as it is, lines from 1."""

    sentence: str
    """As it stands, without what is private."""
    text: str
    """Normalized."""
    span: Span
    line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class CommentFound:
    """A comment and its sentences."""

    name: str
    kind: str
    form: Form
    span: Span
    comment: str
    """What it says, without its marks and what is private, cut where it is long."""
    code: str | None
    """The first lines of what it is about, without the comment."""
    sentences: tuple[SentenceFound, ...]


@dataclass(frozen=True, slots=True)
class FileRead:
    """What a file holds."""

    path: str
    language: str
    encoding: str
    comments: tuple[CommentFound, ...] = ()
    problem: Literal["binary"] | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    redacted: Mapping[str, int] = field(default_factory=dict)


def read_file(source: Source) -> FileRead:
    """Read the comments of a file. Nothing bounds the time that a hostile file takes."""
    text = read_text(source.data)
    language = written_in(source.path) or ""
    if text is None:
        return FileRead(source.path, language, "", problem="binary")
    counts: Counter[str] = Counter()
    redacted: Counter[str] = Counter()
    file_comments, language = _comments(text.utf8, source, language)
    if not file_comments.clean:
        counts["syntax-errors"] += 1
    taker = _Taker(text, source.wrapping, counts, redacted)
    comments = [
        taker.take(comment)
        for comment in sorted(file_comments.comments, key=lambda comment: comment.span.start)
    ]
    present = tuple(comment for comment in comments if comment is not None)
    return FileRead(source.path, language, text.encoding, present, None, counts, redacted)


def _comments(utf8: bytes, source: Source, language: str) -> tuple[DocumentedClasses, str]:
    if language == SMALLTALK:
        tonel = is_tonel(source.path)
        comment = read_tonel(utf8, source.path) if tonel else read_filetree(utf8, source.path)
        return DocumentedClasses((comment,) if comment else (), clean=True), language
    if language == PYTHON:
        module = source.path.rpartition("/")[2].partition(".")[0]
        return read_docstrings(utf8, module, source.kinds), language
    grammar = language_of(source.path)
    declarations = read_declared(utf8, grammar.name if grammar else language)
    second = second_language_of(source.path) if language == "C" else None
    if second is None or (declarations.clean and declarations.comments):
        return declarations, language
    other = read_declared(utf8, second.name)
    better = (len(other.comments), other.clean) > (len(declarations.comments), declarations.clean)
    return (other, second.name) if better else (declarations, language)


class _Taker:
    """Takes comments of one file apart, and counts what is left out."""

    def __init__(
        self, text: SourceText, wrapping: Wrapping, counts: Counter[str], redacted: Counter[str]
    ) -> None:
        self._text = text
        self._wrapping = wrapping
        self._counts = counts
        self._redacted = redacted
        self._line_ends = [match.end() for match in _LINE_END.finditer(text.utf8)]

    def take(self, comment: Comment) -> CommentFound | None:
        """Return a comment's sentences; None where it has none or too many."""
        words = comment.text.text
        if len(words) > LONGEST_COMMENT:
            self._counts["comment-too-long"] += 1
            return None
        private = [
            finding for finding in find_private(words) if "\n" in words[finding.start : finding.end]
        ]
        parts = []
        for part in split_sentences(words, self._wrapping):
            if any(finding.start < part.end and part.start < finding.end for finding in private):
                self._counts["private"] += 1
            else:
                parts.append((part, redact(words[part.start : part.end]).text))
        parts = [(part, sentence) for part, sentence in parts if has_words(sentence)]
        if len(parts) > MOST_SENTENCES:
            self._counts["comment-too-long"] += 1
            return None
        if not parts:
            self._counts["comment-without-words"] += 1
            return None
        part_spans = [comment.text.span(part.start, part.end) for part, _ in parts]
        whole, *spans = self._text.original([comment.span, *part_spans])
        return CommentFound(
            comment.name,
            comment.kind,
            comment.form,
            whole,
            self._public(words)[:_LONGEST_SHOWN].strip(),
            self._code(comment),
            tuple(
                SentenceFound(
                    sentence,
                    normalize_sentence(sentence),
                    span,
                    self._line(position.start),
                    self._line(position.end - 1),
                )
                for (_, sentence), position, span in zip(parts, part_spans, spans, strict=True)
            ),
        )

    def _line(self, index: int) -> int:
        return bisect_right(self._line_ends, index) + 1

    def _code(self, comment: Comment) -> str | None:
        about, span = comment.about, comment.span
        if about is None:
            return None
        data = self._text.utf8
        if about.start <= span.start and span.end <= about.end:
            head = data[about.start : span.start][:_LONGEST_CODE].rstrip()
            code = head + data[span.end : min(about.end, span.end + _LONGEST_CODE)]
        else:
            code = data[about.start : min(about.end, about.start + _LONGEST_CODE)]
        lines = code[:_LONGEST_CODE].decode(errors="ignore").splitlines()[:_LINES_OF_CODE]
        return self._public("\n".join(lines))

    def _public(self, text: str) -> str:
        redacted = redact(text)
        self._redacted.update(redacted.counts)
        return redacted.text

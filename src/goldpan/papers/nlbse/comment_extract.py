"""Reads the comments of the files of commits, and takes them apart into sentences.

A commit a repository; each file is read in a sandbox (`read_file`).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from goldpan.papers.nlbse.comment_declarations import (
    RULES,
    Comment,
    is_filetree,
    is_tonel,
    read_declared,
    read_docstrings,
    read_smalltalk,
)
from goldpan.plugins import data
from goldpan.plugins.data import (
    LARGEST,
    Encoding,
    Failed,
    Objects,
    Reporter,
    TreeFile,
    UsageError,
    WorkspaceLayout,
    Wrapping,
    encodings,
    find_private,
    has_words,
    language_of,
    map_in_sandbox,
    normalize_sentence,
    redact,
    second_language_of,
    split_sentences,
)

PYTHON, SMALLTALK = "Python", "Smalltalk"
LANGUAGES: tuple[str, ...] = tuple(sorted({*RULES, PYTHON, SMALLTALK} - {"TSX"}))
"""The languages whose class comments can be read; TSX belongs to TypeScript."""
LONGEST_COMMENT = 65_536
"""Characters; what is longer is data or code that was commented out."""
MOST_SENTENCES = 1_000
_LONGEST_SHOWN = 4_000
_LINES_OF_CODE = 20
_LONGEST_CODE = 2_000
_LINE_END = re.compile(rb"\r\n|\r|\n")
LEFT_OUT = {
    "absent": "files that are not in the clone",
    "pointer": "files that Git LFS keeps elsewhere",
    "too-large": "files of more than a megabyte",
    "binary": "files that are no text",
    "timeout": "files that took too long to parse",
    "crash": "files at which the parser failed",
    "syntax-errors": "files with syntax errors, read as far as they can be",
    "comment-too-long": "comments of more than 65,536 characters or 1,000 sentences",
    "comment-without-words": "comments without a word",
    "private": "sentences within a secret of several lines",
}
"""Explanations by the reason under which something is left out."""
_OTHER_NAMES = {"pharo": SMALLTALK, "csharp": "C#", "cpp": "C++"}


@dataclass(frozen=True, slots=True)
class CommentSource:
    """A file to be read."""

    path: str
    data: bytes = field(repr=False)
    wrapping: Wrapping = "cut"
    kinds: frozenset[str] = frozenset({"class"})
    """Kinds of docstrings: class, module, function."""


@dataclass(slots=True)
class FileRead:
    """The sentences of a file's comments."""

    language: str
    encoding: Encoding | None
    """None where the file is binary."""
    comments: int = 0
    """Comments that have sentences."""
    rows: list[dict[str, Any]] = field(default_factory=list)
    """Each sentence with its comment, by the columns of the dataset. What is private is made
    unreadable."""
    counts: Counter[str] = field(default_factory=Counter)
    """Comments that were left out, by reason."""
    redacted: Counter[str] = field(default_factory=Counter)


def written_in(path: str) -> str | None:
    """Return the language whose comments a file may hold."""
    if is_tonel(path) or is_filetree(path):
        return SMALLTALK
    language = language_of(path)
    name = "TypeScript" if language and language.name == "TSX" else language and language.name
    return name if name in LANGUAGES and name != SMALLTALK else None


def read_file(source: CommentSource) -> FileRead:
    """Read the comments of a file. Nothing bounds the time that a hostile file takes."""
    language = written_in(source.path) or ""
    encoding = next(iter(encodings(source.data)), None)
    try:
        text = source.data.decode(encoding).removeprefix("\ufeff").encode() if encoding else b""
    except UnicodeEncodeError:  # half of a pair in UTF-16
        encoding = None
    if encoding is None:
        return FileRead(language, None)
    comments, clean, language = _comments(text, source, language)
    file = FileRead(language, encoding)
    if not clean:
        file.counts["syntax-errors"] += 1
    cut = _Cut(text, source.wrapping, file)
    for comment in sorted(comments, key=lambda comment: comment.span.start):
        cut.take(comment)
    return file


def _comments(text: bytes, source: CommentSource, language: str) -> tuple[list[Comment], bool, str]:
    """Return the comments of a file, whether it parses without error, and its language."""
    if language == SMALLTALK:
        comment = read_smalltalk(text, source.path)
        return [comment] if comment else [], True, language
    if language == PYTHON:
        module = source.path.rpartition("/")[2].partition(".")[0]
        return *read_docstrings(text, module, source.kinds), language
    first = language_of(source.path)
    assert first
    comments, clean = read_declared(text, first)
    second = second_language_of(source.path) if language == "C" else None
    if second is None or (clean and comments):
        return comments, clean, language
    others, other_clean = read_declared(text, second)
    if (len(others), other_clean) > (len(comments), clean):
        return others, other_clean, second.name
    return comments, clean, language


class _Cut:
    """Cuts comments of one file into sentences, and counts what is left out."""

    def __init__(self, text: bytes, wrapping: Wrapping, file: FileRead) -> None:
        self._text = text
        self._wrapping = wrapping
        self._file = file
        self._line_ends = [match.end() for match in _LINE_END.finditer(text)]
        self._groups: dict[str, str] = {}

    def take(self, comment: Comment) -> None:
        """Add the sentences of a comment, unless it has none or too many.

        Comments that read the same are near duplicates. A class that a file declares twice is one
        subject, so all its comments go with the first.
        """
        words = comment.text
        sentences = self._sentences(words) if len(words) <= LONGEST_COMMENT else []
        if len(words) > LONGEST_COMMENT or len(sentences) > MOST_SENTENCES:
            self._file.counts["comment-too-long"] += 1
        elif not sentences:
            self._file.counts["comment-without-words"] += 1
        else:
            content = "\n".join(map(normalize_sentence, sentences))
            fingerprint = data.copies_key(content)
            about = {
                "class": comment.name,
                "kind": comment.kind,
                "form": comment.form,
                "start": comment.span.start,
                "line": bisect_right(self._line_ends, comment.span.start) + 1,
                "sentences": len(sentences),
                "comment": self._public(words)[:_LONGEST_SHOWN].strip(),
                "code": self._code(comment),
                data.GROUP: self._groups.setdefault(comment.name, fingerprint),
            }
            self._file.comments += 1
            self._file.rows += [
                {
                    **about,
                    "position": position,
                    "sentence": sentence,
                    "text": normalize_sentence(sentence),
                }
                for position, sentence in enumerate(sentences)
            ]

    def _sentences(self, words: str) -> list[str]:
        """Return the sentences that say anything and stand in no secret of several lines."""
        private = [
            finding for finding in find_private(words) if "\n" in words[finding.start : finding.end]
        ]
        sentences = []
        for part in split_sentences(words, self._wrapping):
            if any(finding.start < part.end and part.start < finding.end for finding in private):
                self._file.counts["private"] += 1
                continue
            sentence = redact(words[part.start : part.end]).text
            if has_words(sentence):
                sentences.append(sentence)
        return sentences

    def _code(self, comment: Comment) -> str | None:
        about, span = comment.about, comment.span
        if about is None:
            return None
        text = self._text
        if about.start <= span.start and span.end <= about.end:
            head = text[about.start : span.start][:_LONGEST_CODE].rstrip()
            code = head + text[span.end : min(about.end, span.end + _LONGEST_CODE)]
        else:
            code = text[about.start : min(about.end, about.start + _LONGEST_CODE)]
        shown = code[:_LONGEST_CODE].decode(errors="ignore").replace("\r\n", "\n")
        lines = shown.removesuffix("\n").split("\n")[:_LINES_OF_CODE]
        return self._public("\n".join(lines))

    def _public(self, text: str) -> str:
        redacted = redact(text)
        self._file.redacted.update(redacted.counts)
        return redacted.text


@dataclass(frozen=True, slots=True)
class CommentReading:
    """Settings of reading files, and of fetching those that a partial clone lacks."""

    languages: Collection[str]
    wrapping: Wrapping = "cut"
    kinds: frozenset[str] = frozenset({"class"})
    workers: int = 2
    timeout: float = 20.0
    """Seconds of processor time for a file."""
    token: str | None = field(default=None, repr=False)
    host: str = "github.com"


def find_languages(names: Iterable[str]) -> frozenset[str]:
    """Return languages by their names, all where none is named; raises `UsageError`."""
    return frozenset(map(find_language, names)) or frozenset(LANGUAGES)


def find_language(name: str) -> str:
    """Return a language by its name; raises `UsageError`."""
    known = {language.casefold(): language for language in LANGUAGES} | _OTHER_NAMES
    if name.casefold() not in known:
        raise UsageError(
            f"Comments in {name!r} cannot be read", f"Choose among {', '.join(LANGUAGES)}"
        )
    return known[name.casefold()]


def wanted_files(files: Sequence[TreeFile], languages: Collection[str]) -> list[TreeFile]:
    """Return the files of a commit that may hold comments in these languages, no path twice."""
    paths = {file.path: file for file in files}
    return [
        file
        for file in paths.values()
        if file.kind == "file"
        and written_in(file.path) in languages
        and (
            not is_filetree(file.path) or f"{file.path.rpartition('/')[0]}/properties.json" in paths
        )
    ]


def files_of(
    workspace: WorkspaceLayout, commit: data.Commit, reading: CommentReading, reporter: Reporter
) -> list[TreeFile]:
    """Return the files of a commit that may hold comments, and fetch what the clone lacks.

    Raises `GitError` where the commit lists too many files, or its files cannot be fetched.
    """
    # A partial clone is locked while it is completed.
    is_partial = data.promisor(commit.clone) is not None
    with data.lock_repository(workspace, commit.repo) if is_partial else nullcontext():
        with Objects(commit.clone) as objects:
            files = wanted_files(objects.files(commit.id), reading.languages)
        ids = {file.id for file in files}
        data.prefetch(commit.clone, ids, reporter, token=reading.token, host=reading.host)
    return files


def read_commit(
    commit: data.Commit, files: Sequence[TreeFile], reading: CommentReading, counts: Counter[str]
) -> Iterator[tuple[TreeFile, FileRead]]:
    """Yield the files that could be read, in order; what could not is counted.

    A few are in memory at a time.
    """
    sent: list[TreeFile] = []

    def sources(objects: Objects) -> Iterator[CommentSource]:
        for file, blob in zip(files, objects.read(file.id for file in files), strict=True):
            problem = _problem(blob)
            if problem or blob is None or blob.data is None:
                counts[problem or "absent"] += 1
            else:
                sent.append(file)
                yield CommentSource(file.path, blob.data, reading.wrapping, reading.kinds)

    with Objects(commit.clone, most_bytes=LARGEST) as objects:
        results = map_in_sandbox(read_file, sources(objects), reading.workers, reading.timeout)
        for index, result in enumerate(results):
            if isinstance(result, Failed):
                counts[result.reason] += 1
            elif result.encoding is None:
                counts["binary"] += 1
            else:
                counts.update(result.counts)
                yield sent[index], result


def _problem(blob: data.Object | None) -> str | None:
    if blob is None or blob.kind != "blob":
        return "absent"
    if blob.data is None:
        return "too-large"
    return "pointer" if data.is_pointer(blob.data) else None

"""Precedents of what a fix introduces: the names, messages and calls of the code before.

A precedent has the same text. For a name of several words, precedents are also two names in the
same folders that differ from it in one and the same word, which has to be `known`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from posixpath import dirname

from goldpan.audit.finding import Span, Text, span_of
from goldpan.code.languages import language_of
from goldpan.code.substance import LARGEST
from goldpan.core.errors import GitError
from goldpan.git.objects import Objects
from goldpan.git.trees import TreeFile

_MOST = 3
"""Precedents that are shown."""
_MOST_READ = 30
_LEAST_ALIKE = 2
"""Names that make a convention."""
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_WORD = re.compile(r"\w+")


def find_name(
    code: CodeBefore, name: str, near: Sequence[str], known: Collection[str]
) -> tuple[Span, ...]:
    """Return the precedents of a name that is defined or called."""
    if same := tuple(_places(code, name, _used(name), near)):
        return same
    parts = list(_PARTS.finditer(name))
    for part in parts if len(parts) > 1 else ():
        if part[0].lower() in known:
            start, end = map(re.escape, (name[: part.start()], name[part.end() :]))
            alike = _alike(code, code.beside(near), f"{start}{_letters(part[0])}{end}")
            if len(alike) >= _LEAST_ALIKE:
                return _named(code, alike)
    return ()


def find_literal(code: CodeBefore, text: str, near: Sequence[str]) -> tuple[Span, ...]:
    """Return the precedents of a number, or of a text between quotes."""
    pattern = re.compile(rf"(?<![\w.]){re.escape(text)}(?!\w)")
    if not text[0].isdigit():
        pattern = re.compile(rf"(?<=[\"'`]){re.escape(text)}(?=[\"'`])")
        if len(text.split()) > 1:
            pattern = re.compile(re.escape(text))
    return tuple(_places(code, text, pattern, near))


def parts_of(text: str) -> set[str]:
    """Return the words of a text and of the names in it, in lower case."""
    words = set(_WORD.findall(text))
    return {part.lower() for word in words for part in _PARTS.findall(word)}


def _used(name: str) -> re.Pattern[str]:
    """Return the pattern of a name where it is defined, reached or called."""
    word = re.escape(name)
    return re.compile(
        rf"(?<!\w){word}(?=\(|\s*=(?!=)|:)|(?<=\w[.]){word}(?!\w)|(?<=->|::){word}(?!\w)"
        rf"|(?:class|struct|enum|def|func|fn|function|import|interface|type)\s+{word}(?!\w)"
    )


def _places(
    code: CodeBefore, text: str, pattern: re.Pattern[str], near: Sequence[str]
) -> Iterator[Span]:
    words = [word for word in _WORD.findall(text) if len(word) > 1]
    shown = 0
    for file in code.having(words, near)[:_MOST_READ] if words else ():
        if shown < _MOST and (found := pattern.search(content := code.text(file))):
            shown += 1
            yield span_of(Text(file.path, content), "precedent", *found.span())


def _letters(part: str) -> str:
    """Return the pattern of words that could stand in the place of this one."""
    if len(part) > 1 and part.isupper():
        return "[A-Z0-9]+"
    return "[A-Z][a-z0-9]*" if part[0].isupper() else "[a-z0-9]+"


def _alike(code: CodeBefore, files: Sequence[TreeFile], pattern: str) -> dict[str, TreeFile]:
    """Return the names that match a pattern, each with the first file that has it."""
    whole = re.compile(rf"(?<![^\n]){pattern}(?![^\n])")
    found: dict[str, TreeFile] = {}
    for file in files:
        for name in whole.findall(code.words[file.id]):
            found.setdefault(name, file)
    return found


def _named(code: CodeBefore, names: Mapping[str, TreeFile]) -> tuple[Span, ...]:
    spans = []
    for name, file in sorted(names.items())[:_MOST]:
        text = Text(file.path, code.text(file))
        if found := re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text.text):
            spans.append(span_of(text, "precedent", *found.span()))
    return tuple(spans)


# The code of a repository at the commit before a fix: which files have a name.

_LONG_WORD = re.compile(r"\w{2,}")
_ENDS = re.compile(r"\r\n?")
_MOST_KEPT = 100_000
"""Files whose words are kept: what commits share is read once."""


class CodeHistory:
    """The code of a repository, commit by commit."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._words: dict[str, str] = {}

    def at(self, commit: str) -> CodeBefore | None:
        """Return the code at a commit, None where the history does not have it."""
        try:
            every = self._objects.files(commit)
        except GitError:
            return None
        files = [file for file in every if file.kind == "file" and language_of(file.path)]
        missing = list(dict.fromkeys(file.id for file in files if file.id not in self._words))
        if len(self._words) + len(missing) > _MOST_KEPT:
            needed = {file.id for file in files}
            self._words = {id: words for id, words in self._words.items() if id in needed}
        for id, object_ in zip(missing, self._objects.read(missing), strict=True):
            data = object_.data if object_ and object_.data and object_.size <= LARGEST else b""
            self._words[id] = words_of(data)
        return CodeBefore(tuple(files), self._words, self._objects.blob)


def words_of(data: bytes) -> str:
    """Return each word of a file once, between line feeds."""
    words = dict.fromkeys(_LONG_WORD.findall(data.decode("utf-8", "replace")))
    return "\n".join(["", *words, ""])


@dataclass(frozen=True, slots=True)
class CodeBefore:
    """The files of code at one commit."""

    files: tuple[TreeFile, ...]
    words: Mapping[str, str]
    """The result of `words_of` for each file, by the file's id."""
    read: Callable[[str], bytes | None]
    """Returns a file by its id."""

    def having(self, words: Sequence[str], near: Sequence[str]) -> list[TreeFile]:
        """Return the files that have all of these words, those beside `near` first."""
        seams = [f"\n{word}\n" for word in words]
        found = [f for f in self.files if all(seam in self.words[f.id] for seam in seams)]
        folders = set(map(dirname, near))
        return sorted(found, key=lambda file: dirname(file.path) not in folders)

    def beside(self, near: Sequence[str]) -> list[TreeFile]:
        """Return the files in the folders of these paths."""
        folders = set(map(dirname, near))
        return [file for file in self.files if dirname(file.path) in folders]

    def text(self, file: TreeFile) -> str:
        """Return a file's text; empty for a large one."""
        data = self.read(file.id) or b""
        return _ENDS.sub("\n", data.decode("utf-8", "replace")) if len(data) <= LARGEST else ""

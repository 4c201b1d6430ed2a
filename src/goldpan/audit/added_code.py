"""The code and the strings of the lines that a diff adds, with where they stand in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from goldpan.audit.names_used import Use, read_arguments, read_uses
from goldpan.code.grammar import read
from goldpan.code.languages import Language, language_of
from goldpan.code.lexer import Stripped, strip
from goldpan.code.split_patch import split_patch
from goldpan.core.errors import UsageError

_HUNK = re.compile(r"@@ -\d")
_CALL = re.compile(r"(?<!\w)([^\W\d]\w{2,})\(")
_NEW = re.compile(r"^--- /dev/null$", re.M)
_QUOTED = re.compile(r"(\"\"\"|'''|[\"'`])(.*?)(?<!\\)\1", re.S)
_NUMBER = re.compile(r"(?<![\w.])\d(?:\w|\.(?=\d))*")


@dataclass(frozen=True, slots=True)
class PlacedUse:
    """A name of an added line, at its offset in the diff."""

    use: Use
    start: int


@dataclass(frozen=True, slots=True)
class Call:
    """A function where it is called or defined, at its offset in the diff."""

    name: str
    start: int
    arguments: tuple[str, ...]
    is_definition: bool


@dataclass(frozen=True, slots=True)
class AddedCode:
    """What a diff adds to files of code."""

    paths: tuple[str, ...]
    """The files, named as before where they were renamed."""
    uses: tuple[PlacedUse, ...]
    numbers: dict[str, int]
    """Literals by where each first stands."""
    strings: dict[str, tuple[int, int]]
    """Without their quotes; with them, where the first line of each stands."""
    new_files: dict[str, int]
    """The base names, without suffix, of files that were not there."""
    calls: tuple[Call, ...]
    """Calls and definitions of functions."""
    kept: str
    """The lines that it removes or leaves, with which it shows what was there."""


def read_added(diff: str) -> AddedCode:
    """Return what a git diff with line feeds adds to files whose language Goldpan reads.

    Raises `ValueError` for what is no git diff, and `UsageError` where a grammar is not installed.
    """
    paths: list[str] = []
    new_files: dict[str, int] = {}
    kept: list[str] = []
    lines = _Lines()
    offset = 0
    for part in split_patch(diff):
        language = language_of(part.path)
        if language and (language.grammar or language.lexis) and not part.is_binary:
            paths.append(part.moved_from or part.path)
            if _NEW.search(part.text.partition("\n@@ ")[0]):
                stem = part.path.rpartition("/")[2].partition(".")[0]
                new_files.setdefault(stem, offset + max(0, part.text.find(stem)))
            for hunk in _hunks(part.text, offset):
                kept += [line.text for line in hunk if line.mark != "+"]
                lines.read([line for line in hunk if line.mark != "-"], language)
        offset += len(part.text)
    return AddedCode(
        tuple(paths),
        tuple(lines.uses),
        lines.numbers,
        lines.strings,
        new_files,
        tuple(lines.calls),
        "\n".join(kept),
    )


@dataclass(frozen=True, slots=True)
class _Line:
    mark: str
    text: str
    start: int
    """Of the text, in the diff."""

    def place(self, part: str) -> int:
        """Return where a part of the line stands in the diff."""
        found = re.search(rf"(?<!\w){re.escape(part)}(?!\w)", self.text)
        return self.start + (found.start() if found else 0)


def _hunks(part: str, offset: int) -> Iterator[list[_Line]]:
    lines: list[_Line] = []
    is_hunk = False
    for line in part.split("\n"):
        if _HUNK.match(line):
            yield lines
            lines, is_hunk = [], True
        elif is_hunk and (mark := line[:1] or " ") in "+- ":
            lines.append(_Line(mark, line[1:], offset + 1))
        offset += len(line) + 1
    yield lines


@dataclass(slots=True)
class _Lines:
    """What was read of added lines."""

    uses: list[PlacedUse] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)
    strings: dict[str, tuple[int, int]] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)

    def read(self, lines: Sequence[_Line], language: Language) -> None:
        """Read the lines after a change."""
        if not any(line.mark == "+" for line in lines):
            return
        stripped = _strip("\n".join(line.text for line in lines), language)
        code = stripped.code.decode("utf-8", "replace").split("\n")[: len(lines)]
        functions: set[tuple[str, int]] = set()
        for use in read_uses(code):
            line = lines[use.line]
            if line.mark == "+":
                self.uses.append(PlacedUse(use, line.place(use.name)))
            if use.is_function:
                functions.add((use.name, use.line))
        for line, text in zip(lines, code, strict=False):
            for number in _NUMBER.findall(text) if line.mark == "+" else ():
                self.numbers.setdefault(number, line.place(number))
        self._read_calls(lines, "\n".join(code), functions)
        self._read_strings(lines, stripped)

    def _read_calls(
        self, lines: Sequence[_Line], code: str, functions: set[tuple[str, int]]
    ) -> None:
        for found in _CALL.finditer(code):
            number = code.count("\n", 0, found.start())
            line = lines[number]
            if line.mark == "+":
                arguments = read_arguments(code, found.end() - 1)
                is_definition = (found[1], number) in functions
                self.calls.append(Call(found[1], line.place(found[1]), arguments, is_definition))

    def _read_strings(self, lines: Sequence[_Line], stripped: Stripped) -> None:
        for raw in stripped.strings:
            literal = raw.decode("utf-8", "replace")
            first = literal.partition("\n")[0]
            line = next((x for x in lines if x.mark == "+" and first in x.text), None)
            if line is not None:
                parts = [match[2] for match in _QUOTED.finditer(literal)]
                start = line.start + line.text.find(first)
                self.strings.setdefault("".join(parts), (start, start + len(first)))


def _strip(text: str, language: Language) -> Stripped:
    if language.lexis:
        return strip(text.encode("utf-8", "replace"), language.lexis)
    if language.grammar is None:
        raise UsageError(f"Goldpan reads no {language.name}", "Read the row")
    return read(text.encode("utf-8", "replace"), language.grammar).stripped

"""The code and the strings of the lines that a diff adds, with where they stand in it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from goldpan.audit.names_used import Use, read_arguments, read_uses
from goldpan.code.grammar import read
from goldpan.code.languages import Language, language_of
from goldpan.code.lexer import Stripped, strip
from goldpan.code.patch import split_patch
from goldpan.core.errors import UsageError

_HUNK = re.compile(r"@@ -\d")
_CALL = re.compile(r"(?<!\w)([^\W\d]\w{2,})\(")
_NEW = re.compile(r"^--- /dev/null$", re.M)
_QUOTED = re.compile(r"(\"\"\"|'''|[\"'`])(.*?)(?<!\\)\1", re.S)
_LONGEST, _MOST = 200_000, 2_000
"""Characters of a hunk, and its calls and strings, that are read: longer ones are generated."""
_NUMBER = re.compile(r"(?<![\w.])\d(?:\w|\.(?=\d))*")


@dataclass(frozen=True, slots=True)
class AddedLine:
    """A line of a diff after the change."""

    mark: str
    text: str
    start: int
    """Of the text, in the diff."""

    def place(self, part: str) -> tuple[int, int]:
        """Return where a part of the line stands in the diff."""
        found = re.search(rf"(?<!\w){re.escape(part)}(?!\w)", self.text)
        start = self.start + (found.start() if found else 0)
        return start, start + len(part)


@dataclass(frozen=True, slots=True)
class PlacedUse:
    """A name of an added line."""

    use: Use
    line: AddedLine

    @property
    def place(self) -> tuple[int, int]:
        """Where it stands in the diff."""
        return self.line.place(self.use.name)


@dataclass(frozen=True, slots=True)
class Call:
    """A function where it is called or defined."""

    name: str
    line: AddedLine
    arguments: tuple[str, ...]
    is_definition: bool


@dataclass(frozen=True, slots=True)
class AddedCode:
    """What a diff adds to files of code."""

    paths: tuple[str, ...]
    """The files, named as before where they were renamed."""
    uses: tuple[PlacedUse, ...]
    numbers: dict[str, AddedLine]
    """Literals, each with the first line that has it."""
    strings: dict[str, tuple[int, int]]
    """Without their quotes; with them, where the first line of each stands."""
    new_files: dict[str, tuple[int, int]]
    """The base names, without suffix, of files that were not there."""
    calls: tuple[Call, ...]
    """Calls and definitions of functions."""
    kept: str
    """The lines that it removes or leaves, with which it shows what was there."""


def read_added(diff: str, wanted: Collection[str]) -> AddedCode:
    """Return what a git diff with line feeds adds to files whose language Goldpan reads.

    Of names only those that are `wanted`, and functions that are defined. Raises `ValueError` for
    what is no git diff, and `UsageError` where a grammar is not installed.
    """
    paths: list[str] = []
    new_files: dict[str, tuple[int, int]] = {}
    kept: list[str] = []
    lines = _Lines(wanted)
    offset = 0
    for part in split_patch(diff):
        language = language_of(part.path)
        if language and (language.grammar or language.lexis) and not part.is_binary:
            paths.append(part.moved_from or part.path)
            if _NEW.search(part.text.partition("\n@@ ")[0]):
                stem = part.path.rpartition("/")[2].partition(".")[0]
                start = offset + max(0, part.text.find(stem))
                new_files.setdefault(stem, (start, start + len(stem)))
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


def _hunks(part: str, offset: int) -> Iterator[list[AddedLine]]:
    lines: list[AddedLine] = []
    is_hunk = False
    for line in part.split("\n"):
        if _HUNK.match(line):
            yield lines
            lines, is_hunk = [], True
        elif is_hunk and (mark := line[:1] or " ") in "+- ":
            lines.append(AddedLine(mark, line[1:], offset + 1))
        offset += len(line) + 1
    yield lines


@dataclass(slots=True)
class _Lines:
    """What was read of added lines."""

    wanted: Collection[str]
    uses: list[PlacedUse] = field(default_factory=list)
    numbers: dict[str, AddedLine] = field(default_factory=dict)
    strings: dict[str, tuple[int, int]] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)

    def read(self, lines: Sequence[AddedLine], language: Language) -> None:
        """Read the lines after a change."""
        text = "\n".join(line.text for line in lines)
        if len(text) > _LONGEST or not any(line.mark == "+" for line in lines):
            return
        stripped = _strip(text, language)
        code = stripped.code.decode("utf-8", "replace").split("\n")[: len(lines)]
        functions: set[tuple[str, int]] = set()
        for use in read_uses(code, self.wanted):
            line = lines[use.line]
            if line.mark == "+" and use.name in self.wanted:
                self.uses.append(PlacedUse(use, line))
            if use.is_function:
                functions.add((use.name, use.line))
        for line, tokens in zip(lines, code, strict=False):
            for number in _NUMBER.findall(tokens) if line.mark == "+" else ():
                self.numbers.setdefault(number, line)
        self._read_calls(lines, "\n".join(code), functions)
        self._read_strings(lines, stripped)

    def _read_calls(
        self, lines: Sequence[AddedLine], code: str, functions: set[tuple[str, int]]
    ) -> None:
        for found in islice(_CALL.finditer(code), _MOST):
            number = code.count("\n", 0, found.start())
            line = lines[number]
            if line.mark == "+":
                arguments = read_arguments(code, found.end() - 1)
                is_definition = (found[1], number) in functions
                self.calls.append(Call(found[1], line, arguments, is_definition))

    def _read_strings(self, lines: Sequence[AddedLine], stripped: Stripped) -> None:
        for raw in stripped.strings[:_MOST]:
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

"""Edits, applied to a text exactly or not at all, and what can be wrong with them.

    EditError
    ├── MalformedError    a text does not hold blocks as the grammar wants them
    ├── NoMatchError      a block's SEARCH occurs nowhere in the file
    ├── AmbiguousError    a block's SEARCH stands at several places
    ├── OverlapError      two blocks change the same lines
    └── FileError         a file cannot be edited: not there, outside the root, not text

A score can tell them apart; each names the block or the line.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from goldpan.core.errors import GoldpanError

# Lines as edits see them: each with its end, which is LF, CRLF or a lone CR.

LINE_ENDS = "line ends"
SPACES = "white space at the ends of lines"
MOST_CHARACTERS = 0x110000
"""How many different lines can have a character of their own."""
_LINE = re.compile(r"[^\r\n]*+(?:\r\n|\n|\r)|[^\r\n]++")


@dataclass(frozen=True, slots=True)
class Forgiveness:
    """Differences in which lines of a patch still stand for those of a file."""

    line_ends: bool = False
    spaces: bool = False


def line_end(line: str) -> str:
    """Return the end of a line: LF, CRLF, CR or nothing."""
    return line[len(line.rstrip("\r\n")) :]


def split_lines(text: str) -> list[str]:
    """Return the lines with their ends, which together are the text.

    Other characters at which Unicode breaks lines, as U+2028, are ordinary ones inside a line.
    """
    return _LINE.findall(text)


def number_lines(*texts: Iterable[str]) -> dict[str, str]:
    """Return a character for each different line.

    A text with one character a line is compared and searched by `str` at full speed. Beyond
    `MOST_CHARACTERS` different lines some share one, so that equal characters suggest and do not
    prove equal lines.
    """
    characters: dict[str, str] = {}
    for lines in texts:
        for line in lines:
            if line not in characters:
                characters[line] = chr(len(characters) % MOST_CHARACTERS)
    return characters


def as_characters(lines: Iterable[str], characters: dict[str, str]) -> str:
    """Return the lines' characters, as `number_lines` gave them."""
    return "".join(map(characters.__getitem__, lines))


class EditError(GoldpanError):
    """Edits cannot be read from a text, or cannot be applied to a file."""


class MalformedError(EditError):
    """A text does not hold blocks as the grammar wants them."""


class NoMatchError(EditError):
    """A block's SEARCH occurs nowhere in the file."""


class AmbiguousError(EditError):
    """A block's SEARCH stands at several places of the file."""


class OverlapError(EditError):
    """Two blocks change the same lines."""


class FileError(EditError):
    """A file cannot be edited: it is not there, outside the root, not text or not writable."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One SEARCH/REPLACE block: whole lines of the file before, and those in their place.

    `search` is empty only where the file before is.
    """

    search: str
    replace: str
    line: int | None = None
    """Where the SEARCH begins in the file, from 1, if a text says so: it decides among places."""


@dataclass(frozen=True, slots=True)
class FileEdits:
    """The edits of one file; `removes` says that the file goes away instead of being emptied."""

    path: str | None
    """Where the file lies, with slashes; None where a text does not say."""
    edits: tuple[Edit, ...]
    removes: bool = False


_MOST_PLACES = 10
"""Places of an ambiguous SEARCH that the error names."""
_COMMON = 50
"""A line that stands more often says nothing about where a SEARCH was meant."""
_SHOWN = 80


@dataclass(frozen=True, slots=True)
class _Replacement:
    """Lines `start` to `end` of the file and what replaces them, for the block of that number."""

    start: int
    end: int
    replace: str
    block: int
    forgiven: str | None = None
    """The forgiven difference between its SEARCH and these lines."""


class _Index:
    """The lines of a file, in which others are found by a key."""

    def __init__(self, lines: list[str], key: Callable[[str], str]) -> None:
        self._key = key
        self._lines = [key(line) for line in lines]
        self._characters = number_lines(self._lines)
        self._text = as_characters(self._lines, self._characters)

    def find(self, search: list[str]) -> list[int]:
        """Return at which lines the wanted ones stand, and of many places only the first."""
        keys = [self._key(line) for line in search]
        if not self._characters.keys() >= set(keys):
            return []
        wanted_text = as_characters(keys, self._characters)
        starts: list[int] = []
        at = self._text.find(wanted_text)
        while at >= 0 and len(starts) <= _MOST_PLACES:
            if self._lines[at : at + len(keys)] == keys:
                starts.append(at)
            at = self._text.find(wanted_text, at + 1)
        return starts


def apply_edits(before: str, edits: Sequence[Edit], *, lenient: bool = False) -> str:
    """Return the file after: each SEARCH, found by whole lines, gives way to its REPLACE.

    All are found in `before` and not in what the others wrote, so their order does not matter.
    An empty SEARCH stands for an empty file. With `lenient` a SEARCH that stands nowhere is
    looked up again without regard to white space at the ends of lines, line ends included; its
    REPLACE then takes the file's line ends.

    Raises `NoMatchError`, `AmbiguousError` or `OverlapError`, naming blocks and lines from 1.
    """
    return apply_forgiving(before, edits, Forgiveness(lenient, lenient))[0]


def apply_forgiving(
    before: str, edits: Sequence[Edit], forgive: Forgiveness
) -> tuple[str, list[str]]:
    """Return the file after, as `apply_edits` does, and what was forgiven in which block."""
    lines = split_lines(before)
    indexes = _indexes(lines, forgive)
    placed = [
        _find(lines, indexes, edit, block, f"Block {block} of {len(edits)}")
        for block, edit in enumerate(edits, start=1)
    ]
    written: list[str] = []
    copied = 0
    last: _Replacement | None = None
    for position in sorted(placed, key=lambda position: (position.start, position.block)):
        if last and (position.start < copied or not lines):
            raise OverlapError(
                f"Blocks {last.block} and {position.block} of {len(edits)} overlap at line "
                f"{position.start + 1} of the file",
                "Merge them into one block",
            )
        written += [*lines[copied : position.start], position.replace]
        last, copied = position, position.end
    notes = [
        f"block {position.block}: {position.forgiven}" for position in placed if position.forgiven
    ]
    return "".join([*written, *lines[copied:]]), notes


def _indexes(lines: list[str], forgive: Forgiveness) -> list[tuple[str | None, _Index]]:
    """Return where a SEARCH is looked up, one after the other, and what each forgives."""
    indexes: list[tuple[str | None, _Index]] = [(None, _Index(lines, str))]
    if forgive.line_ends:
        indexes.append((LINE_ENDS, _Index(lines, _bare)))
    if forgive.spaces:
        indexes.append((SPACES, _Index(lines, str.rstrip)))
    return indexes


def _bare(line: str) -> str:
    return line.rstrip("\r\n")


def _find(
    lines: list[str],
    indexes: Sequence[tuple[str | None, _Index]],
    edit: Edit,
    block: int,
    name: str,
) -> _Replacement:
    """Return the only place of an edit in the file."""
    search = split_lines(edit.search)
    if not search:
        if lines:
            raise NoMatchError(
                f"{name} has an empty SEARCH, which stands for an empty file, but the file has "
                f"{_count(len(lines))}",
                "Put the lines next to the insertion into SEARCH and REPLACE",
            )
        return _Replacement(0, 0, edit.replace, block)
    looked_up = ((difference, index.find(search)) for difference, index in indexes)
    forgiven, starts = next((match for match in looked_up if match[1]), (None, []))
    if edit.line is not None and edit.line - 1 in starts:
        starts = [edit.line - 1]
    if not starts:
        raise NoMatchError(
            f"{name} does not match: its SEARCH ({_count(len(search))}) occurs nowhere in the "
            f"file{_nearest(lines, search)}",
            "Copy the SEARCH from the file as it is, white space included",
        )
    if len(starts) > 1:
        text = ", ".join(str(start + 1) for start in starts[:_MOST_PLACES])
        more = " and more" if len(starts) > _MOST_PLACES else ""
        raise AmbiguousError(
            f"{name} is ambiguous: its SEARCH matches at lines {text}{more}",
            "Add more of the lines around the change to it",
        )
    start, end = starts[0], starts[0] + len(search)
    replace = _with_line_ends(edit.replace, lines, start, end) if forgiven else edit.replace
    return _Replacement(start, end, replace, block, forgiven)


def _with_line_ends(replace: str, lines: list[str], start: int, end: int) -> str:
    """Return lines that end as those of the file do that they replace: `start` to `end`.

    In a file of several line ends a line that stays keeps its own.
    """
    usual = line_end(lines[start]) or line_end(lines[0]) or "\n"
    own = {_bare(line): line_end(line) for line in reversed(lines[start:end]) if line_end(line)}
    bare = [_bare(line) for line in split_lines(replace)]
    ends = [own.get(line, usual) for line in bare]
    if not line_end(lines[end - 1]):
        ends[-1:] = [""]
    return "".join(line + end for line, end in zip(bare, ends, strict=False))


def _nearest(lines: list[str], search: list[str]) -> str:
    """Return where in the file most of the wanted lines stand, and the first that differs there."""
    lines_of: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        lines_of.setdefault(line.strip(), []).append(number)
    votes: Counter[int] = Counter()
    for offset, line in enumerate(search):
        standing = lines_of.get(line.strip(), []) if line.strip() else []
        if len(standing) <= _COMMON:
            votes.update(number - offset for number in standing)
    if not votes:
        return ""
    start = max(min(votes, key=lambda start_: (-votes[start_], start_)), 0)
    pairs = zip_longest(lines[start : start + len(search)], search)
    for number, (line, wanted) in enumerate(pairs, start=start + 1):
        if line != wanted:
            text = "the file has ended" if line is None else f"the file has {_show(line)}"
            return (
                f"; the most alike are from line {start + 1} on, but at line {number} {text} "
                f"where SEARCH has {_show(wanted)}"
            )
    return ""


def _show(line: str) -> str:
    return repr(line if len(line) <= _SHOWN else f"{line[:_SHOWN]}...")


def _count(lines: int) -> str:
    return f"{lines} line{'' if lines == 1 else 's'}"

"""Edits, and what can be wrong with them.

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
from collections.abc import Iterable
from dataclasses import dataclass

from goldpan.core.errors import GoldpanError

# Lines as edits see them: each with its end, which is LF, CRLF or a lone CR.

LINE_ENDS = "line ends"
SPACES = "white space at the ends of lines"
MOST_CHARACTERS = 0x110000
"""How many different lines can have a character of their own."""
_LINE = re.compile(r"[^\r\n]*+(?:\r\n|\n|\r)|[^\r\n]++")


@dataclass(frozen=True, slots=True)
class Forgiveness:
    """In what the lines of a patch may differ from those of a file and stand for them."""

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


@dataclass(frozen=True, slots=True)
class FileEdits:
    """The edits of one file; `removes` says that the file goes away instead of being emptied."""

    path: str | None
    """Where the file lies, with slashes; None where a text does not say."""
    edits: tuple[Edit, ...]
    removes: bool = False

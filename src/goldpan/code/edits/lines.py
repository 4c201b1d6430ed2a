"""Lines as edits see them: each with its end, which is LF, CRLF or a lone CR."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

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

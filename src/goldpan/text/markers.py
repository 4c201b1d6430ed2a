"""Keeps texts from imitating the lines that give a prompt its structure.

The paper's prompts are plain: a line ``Output:`` is all that tells an output from an input. So a
line of a text that begins like one of these lines gets a backslash before it, which no line of
the structure has; `unescaped` gives the text back. What stands in the line itself stays readable,
and a model may still be talked into anything: a prompt can mark where a text ends, not more.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import cache

from goldpan.text.normal_form import nfkc

_HINT = re.compile(r"input|output|explanation|definition|example|now complete", re.IGNORECASE)
_LINE = re.compile(
    r"(?:input|output|explanation|definition) {0,8}:"
    r"|(?:(?:positive|negative) )?example {0,8}[0-9]{0,8} {0,8}[-:]"
    r"|now complete the following"
)
_SPACE = re.compile(r"\s")
_HEAD = 200
"""Characters of a line, after white space and the like, that can make it a marker."""


def escaped(text: str) -> str:
    """Return a text none of whose lines can be taken for a line of the structure."""
    if not _HINT.search(text if text.isascii() else _folded(text)):
        return text
    lines = text.splitlines(keepends=True)
    return "".join(f"\\{line}" if _is_marker(line) else line for line in lines)


def unescaped(text: str) -> str:
    """Return the text of which `escaped` made this one."""
    lines = text.splitlines(keepends=True)
    return "".join(line[1:] if line[0] == "\\" and _is_marker(line[1:]) else line for line in lines)


def _is_marker(line: str) -> bool:
    """Say whether a line begins with a marker, whatever white space, or backslashes, it has first.

    Backslashes do not count, so that escaping a line twice can be undone twice.
    """
    start = 0
    while start < len(line) and (line[start] == "\\" or _is_blank(line[start])):
        start += 1
    return bool(_LINE.match(_folded(line[start : start + _HEAD])))


def _is_blank(character: str) -> bool:
    return character.isspace() or ord(character) in _invisible()


def _folded(text: str) -> str:
    """Return a text with its letters and white space as markers have them."""
    plain = nfkc(text).casefold().translate(_invisible())
    return _SPACE.sub(" ", plain)


@cache
def _invisible() -> dict[int, None]:
    """Return the characters that show nothing of their own: format characters and accents."""
    kinds = ("Cf", "Mn")
    return {at: None for at in range(sys.maxunicode + 1) if unicodedata.category(chr(at)) in kinds}

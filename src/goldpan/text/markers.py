"""Keeps texts from imitating the lines that give a prompt its structure.

The paper's prompts are plain: only a line ``Output:`` separates an output from an input. So a line
of a text that begins like one of these lines gets a backslash before it, which no line of the
structure has; `unescaped` undoes it. The line stays readable, and a model may still be persuaded of
anything: a prompt can mark where a text ends, and no more.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterator
from functools import cache

# Unicode's compatibility form (NFKC) of hostile texts.
#
# Normalizing orders combining marks, which takes the square of their number where many follow
# each other: a megabyte of them would take hours.

_PIECE = 256
"""Characters without a blank or a line end that are normalized at once."""


def nfkc(text: str) -> str:
    """Return a text in NFKC, in linear time.

    Only within longer runs without white space may marks stay apart that belong together.
    """
    if text.isascii():
        return text
    return "".join(unicodedata.normalize("NFKC", piece) for piece in _pieces(text))


def _pieces(text: str) -> Iterator[str]:
    """Cut where nothing combines: before white space, else before a character that is no mark."""
    start = 0
    while len(text) - start > _PIECE:
        last = start + _PIECE
        cut = max(text.rfind(" ", start + 1, last), text.rfind("\n", start + 1, last))
        if cut < 0:
            marks = range(last, start + _PIECE // 2, -1)
            cut = next((at for at in marks if not unicodedata.combining(text[at])), last)
        yield text[start:cut]
        start = cut
    yield text[start:]


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
    """Return a text in which no line can be mistaken for a line of the structure."""
    if not _HINT.search(text if text.isascii() else _folded(text)):
        return text
    lines = text.splitlines(keepends=True)
    return "".join(f"\\{line}" if _is_marker(line) else line for line in lines)


def unescaped(text: str) -> str:
    """Undo `escaped`."""
    lines = text.splitlines(keepends=True)
    return "".join(line[1:] if line[0] == "\\" and _is_marker(line[1:]) else line for line in lines)


def _is_marker(line: str) -> bool:
    """Return whether a line begins with a marker, after any white space and backslashes.

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

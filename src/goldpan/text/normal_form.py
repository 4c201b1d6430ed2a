"""Unicode's compatibility form (NFKC) of hostile texts.

Normalizing orders combining marks, which takes the square of their number where many follow each
other: a megabyte of them would take hours.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

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

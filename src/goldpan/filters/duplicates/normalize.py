"""The form in which texts are compared: what a reader sees, without case, layout and marks."""

from __future__ import annotations

import re

from goldpan.text.markers import nfkc

# Scripts that are written without spaces: Thai and Lao, Myanmar, Khmer, Japanese, Chinese.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff"
)
_ANY_UNSPACED = re.compile(f"[{_UNSPACED}]")
_WORD = re.compile(r"\w+")
_UNSPACED_WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")
_ASCII_WORDS = {code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) == "_")}


def fold(text: str) -> str:
    """Return a text in NFKC, case folded, with white space collapsed and HTML comments left out.

    GitHub does not show HTML comments, and issue templates are full of them. Texts that are
    equal in this form are exact duplicates.
    """
    if "<!--" in text:
        text = _without_comments(text)
    text = text.lower() if text.isascii() else nfkc(text).casefold()
    return " ".join(text.split())


def words(folded: str) -> list[str]:
    """Return the words of a folded text: letters, digits and underscores, without punctuation.

    A character of a script that is written without spaces is a word.
    """
    if folded.isascii():
        return folded.translate(_ASCII_WORDS).split()
    # The general expression takes twice the time of the simple one.
    return (_UNSPACED_WORD if _ANY_UNSPACED.search(folded) else _WORD).findall(folded)


def _without_comments(text: str) -> str:
    """Leave out ``<!-- ... -->``; one that does not end stays."""
    pieces: list[str] = []
    at = 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start + 4)) >= 0:
        pieces += (text[at:start], " ")
        at = end + 3
    return "".join([*pieces, text[at:]])

"""Puts one token in the place of code, hashes, addresses and names (SELU, section III-B).

Every expression is linear: what repeats is possessive and ends where the next match could begin.
"""

from __future__ import annotations

import re

CODE, HASH, URL, USER = "CODE", "HASH", "URL", "USER"
"""What stands for what was masked."""

_FENCES = re.compile(r"`{3,}+|^[ \t]*+~{3,}+|<pre\b|</pre\s*+>", re.M | re.I)
_HASHES = re.compile(r"\b[0-9a-fA-F]{40}\b")
_URLS = re.compile(r"(?<![A-Za-z0-9])(?:(?:https?|ftp)://|www\.)[^\s<>\"'`\[\]{}|\\^]++")
_AFTER_URLS = ".,;:!?*_)"
_MENTIONS = re.compile(r"(?<![\w@/.`-])@[A-Za-z0-9][A-Za-z0-9_-]{0,99}+")


def mask_code(text: str) -> str:
    """Mask fenced code, and HTML between ``<pre>`` tags.

    A fence at the start of a line that nothing closes reaches to the end, as in Markdown.
    """
    parts: list[str] = []
    end = 0
    opened: re.Match[str] | None = None
    for mark in _FENCES.finditer(text):
        if opened is None:
            opened = None if mark[0].startswith("</") else mark
        elif _closes(mark, opened):
            parts += [text[end : opened.start()], CODE]
            end = mark.end()
            opened = None
    if opened is not None and not text[: opened.start()].rpartition("\n")[2].strip():
        parts += [text[end : opened.start()], CODE]
        end = len(text)
    return "".join([*parts, text[end:]])


def _closes(mark: re.Match[str], opened: re.Match[str]) -> bool:
    if opened[0].startswith("<"):
        return mark[0].startswith("</")
    return mark[0].strip()[0] == opened[0].strip()[0]


def mask_hashes(text: str) -> str:
    """Mask hashes of 40 hexadecimal digits, such as those of commits."""
    return _HASHES.sub(HASH, text)


def mask_urls(text: str) -> str:
    """Mask web addresses; the punctuation after one stays."""

    def masked(match: re.Match[str]) -> str:
        return URL + match[0][len(match[0].rstrip(_AFTER_URLS)) :]

    return _URLS.sub(masked, text)


def mask_mentions(text: str) -> str:
    """Mask mentions of users, such as ``@octocat``, but not what follows an @ in an address."""
    return _MENTIONS.sub(USER, text)

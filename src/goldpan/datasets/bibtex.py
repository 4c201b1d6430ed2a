"""Reads BibTeX roughly: enough to see that an entry is one."""

from __future__ import annotations

import re

_HEAD = re.compile(r"\s*+@([A-Za-z]+)\s*\{\s*([^\s,{}]+)\s*,")
_FIELD = re.compile(r"(?:^[^\S\n]*|,\s*)([A-Za-z]+)\s*=", re.M)
_NEEDED = ("title", "author", "year")


def bibtex_problem(text: str) -> str:
    """Return why a text is no BibTeX, or nothing where each of its entries looks like one.

    An entry has a type, a key, balanced braces, and the fields title, author and year.
    """
    text = text.strip()
    if not text:
        return "it is empty"
    end = -1
    while end + 1 < len(text):
        head = _HEAD.match(text, end + 1)
        if head is None:
            return f"{text[end + 1 :].lstrip()[:40]!r} begins no entry"
        end = _closing(text, text.index("{", head.start()))
        if end < 0:
            return f"the braces of {head[2]} are not balanced"
        fields = {name.lower() for name in _FIELD.findall(text[head.end() - 1 : end])}
        if missing := [name for name in _NEEDED if name not in fields]:
            return f"{head[2]} has no {missing[0]}"
    return ""


def _closing(text: str, start: int) -> int:
    depth = 0
    for at in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return at
    return -1

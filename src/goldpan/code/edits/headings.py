"""Finds the path of a file above a block, as Goldpan, people and language models write it.

    src/a.py        "with space.py"      `src/a.py`      **src/a.py**:      ### src/a.py
    File: src/a.py        ```python src/a.py        ```python:src/a.py
    In `src/a.py`, the loop has to go:

A path alone on the line right above the block, or above its fence, may be any word (`Makefile`);
elsewhere it needs a slash or a suffix.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from goldpan.code.path_names import quote_path, unquote_path

_MOST_LINES = 3
"""Lines of prose above a block in which a path is looked for."""
_MOST_WRAPPINGS = 4

_FENCE = re.compile(r"(?:`{3,}+|~{3,}+)(.*)")
_NOTE = re.compile(r"""(?:[\w+#.-]{1,30}[:=])?["']?([^"']*)["']?""")
_LEAD = re.compile(r"(?:#{1,6}|[-*+>]|//|\d{1,3}[.)])\s++(?=\S)")
_LABEL = re.compile(r"\**(?:file|path|file ?name|file ?path)\**:\**\s*+(?=\S)", re.IGNORECASE)
_WRAPPINGS = (("", ":"), ("**", "**"), ("`", "`"), ("'", "'"), ('"', '"'))
_WORD = re.compile(r"[^\s<>`*:]*[\w\])+~-]")
_SUFFIX = re.compile(r".*\w\.\w{1,12}")
_CODE = re.compile(r"`([^`\s]++)`")


def write_path(path: str) -> str:
    """Return the line for a path: as it is where it is read so, else in quotation marks."""
    written = quote_path(path)
    return written if find_path([written]) == path else quote_path(path, always=True)


def find_path(above: Sequence[str]) -> str | None:
    """Return the path that the lines above a block tell, the nearest first, or None."""
    is_next = True
    lines = 0
    for line in reversed(above):
        text = line.strip()
        path = _read(text, is_next=is_next) if text else None
        if path is not None:
            return path
        if not _FENCE.match(text):
            is_next = False
            lines += bool(text)
        if lines == _MOST_LINES:
            return None
    return None


def _read(text: str, *, is_next: bool) -> str | None:
    """Return the path that one line tells."""
    unquoted = unquote_path(text)
    if unquoted != text:
        return unquoted
    fence = _FENCE.fullmatch(text)
    if fence:
        note = _NOTE.fullmatch(fence[1].rpartition(" ")[2].strip("{}"))
        return note[1] if note and _is_path(note[1]) else None
    if is_next and _WORD.fullmatch(text):
        return text
    bare = _unwrap(text)
    if _is_path(bare):
        return bare
    named = {code for code in _CODE.findall(text) if "/" in code and _is_path(code)}
    return named.pop() if len(named) == 1 else None


def _unwrap(text: str) -> str:
    for lead in (_LEAD, _LABEL):
        match = lead.match(text)
        text = text[match.end() :] if match else text
    for _ in range(_MOST_WRAPPINGS):
        for left, right in _WRAPPINGS:
            if len(text) > len(left + right) and text.startswith(left) and text.endswith(right):
                text = text[len(left) : len(text) - len(right)]
    return text


def _is_path(text: str) -> bool:
    return bool(_WORD.fullmatch(text)) and ("/" in text or bool(_SUFFIX.fullmatch(text)))

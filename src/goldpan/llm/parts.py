"""The texts that a model is shown: cut to fit, between fences that they cannot imitate.

The code in the fences is a hash of all the texts, hashed again while a text holds it. It is short,
as small models pay for each of its characters.

1. Logs first: of each run of more than 20 lines that a program wrote, the first and the last ten
   stay.
2. Then middle out: the longest texts are brought down to one common length; of each, the first
   two thirds and the last third of what stays are kept, cut at line ends where there are some.

A line in ``[[ ]]`` says how much was left out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal

import orjson

from goldpan.text.lines import LineKind, classify

PartKind = Literal["text", "code"]


@dataclass(frozen=True, slots=True)
class PromptPart:
    """A text that a model is shown; `name` is ours, never taken from a text."""

    name: str
    text: str
    kind: PartKind = "text"


def fence_code(parts: Sequence[PromptPart]) -> str:
    """Return the code that marks the fences of these texts: 8 characters in none of them."""
    data = orjson.dumps([[part.name, part.text] for part in parts])
    code = hashlib.sha256(data).hexdigest()[:8]
    while any(code in part.text for part in parts):
        code = hashlib.sha256(code.encode()).hexdigest()[:8]
    return code


def fenced(parts: Sequence[PromptPart], code: str) -> str:
    """Return the texts, each between two lines that bear the code."""
    return "\n".join(
        f"=== {code} begin {part.name} ===\n{part.text}\n=== {code} end {part.name} ==="
        for part in parts
    )


_LOG_LINES = 20
_LOG_ENDS = 10


def cut(parts: Sequence[PromptPart], most: int) -> tuple[PromptPart, ...]:
    """Return the texts with at most about `most` characters together, notes aside."""
    if sum(len(part.text) for part in parts) <= most:
        return tuple(parts)
    shorter = [
        replace(part, text=without_logs(part.text)) if part.kind == "text" else part
        for part in parts
    ]
    level = common_length([len(part.text) for part in shorter], most)
    return tuple(replace(part, text=middle_out(part.text, level)) for part in shorter)


def without_logs(text: str) -> str:
    """Return a text with its long runs of lines that a program wrote cut in their middle."""
    rows: list[str] = []
    for kind, group in groupby(classify(text), lambda line: line.kind):
        lines = [line.text for line in group]
        if kind is LineKind.TRACE and len(lines) > _LOG_LINES:
            left_out = len(lines) - 2 * _LOG_ENDS
            note = f"[[ {left_out} lines of a log are left out ]]"
            lines = [*lines[:_LOG_ENDS], note, *lines[-_LOG_ENDS:]]
        rows += lines
    return "\n".join(rows)


def common_length(sizes: Sequence[int], most: int) -> int:
    """Return the greatest length to which all sizes can be limited so that they fit `most`."""
    remaining = most
    for index, size in enumerate(sorted(sizes)):
        share = remaining // (len(sizes) - index)
        if size > share:
            return share
        remaining -= size
    return max(sizes, default=0)


def middle_out(text: str, most: int) -> str:
    """Return a text with the characters beyond `most` left out of its middle."""
    if len(text) <= most:
        return text
    head, tail = text[: most * 2 // 3], text[len(text) - most // 3 :]
    if (end := head.rfind("\n", len(head) // 2)) > 0:
        head = head[:end]
    if (start := tail.find("\n", 0, len(tail) // 2)) >= 0:
        tail = tail[start + 1 :]
    left_out = len(text) - len(head) - len(tail)
    return f"{head}\n[[ {left_out} characters are left out ]]\n{tail}"

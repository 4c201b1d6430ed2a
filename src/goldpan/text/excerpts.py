"""Cuts a long text into what a page shows at once, what opens, and what is left out."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from goldpan.core.sanitize import visible

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


@dataclass(frozen=True, slots=True)
class ExcerptBlock:
    """A part of a text: prose, or what stands between fences."""

    text: str
    code: bool
    info: str = ""
    """What stands beside the opening fence, such as the language."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A text in two parts: what is seen at once, what opens, and how much is left out."""

    shown: tuple[ExcerptBlock, ...]
    more: tuple[ExcerptBlock, ...]
    left_out: int
    """Characters in neither part."""


def excerpt(text: str | None, shown: int = 1200, most: int = 8000) -> Excerpt:
    """Cut a text into what is seen at once and what opens, at line ends where there are some."""
    whole = text or ""
    visible_text = visible(whole[:most].replace("\r\n", "\n")).rstrip()
    # Written out, one character takes eight: hostile texts may not grow that much.
    text_read = visible_text[: 2 * most]
    left_out = max(0, len(whole) - most) + len(visible_text) - len(text_read)
    front: list[ExcerptBlock] = []
    back: list[ExcerptBlock] = []
    room = shown if len(text_read) > shown * 5 // 4 else len(text_read)
    for block in _blocks(text_read):
        if back or room <= 0:
            back.append(block)
        elif len(block.text) <= room:
            front.append(block)
            room -= len(block.text)
        else:
            at = _break(block.text, room)
            front.append(replace(block, text=block.text[:at].rstrip("\n")))
            back.append(replace(block, text=block.text[at:].lstrip("\n")))
    return Excerpt(tuple(front), tuple(back), left_out)


def _break(text: str, near: int) -> int:
    """Return where to cut: after the last line, else the last word, before `near`."""
    for mark in ("\n", " "):
        at = text.rfind(mark, near // 2, near)
        if at > 0:
            return at + 1
    return near


def _blocks(text: str) -> list[ExcerptBlock]:
    blocks: list[ExcerptBlock] = []
    lines: list[str] = []
    fence = info = ""
    for row in text.split("\n"):
        mark = _FENCE.match(row)
        fence_info = row[mark.end() :].strip() if mark else ""
        if fence and mark and mark[1].startswith(fence) and not fence_info:
            blocks.append(ExcerptBlock("\n".join(lines), code=True, info=info))
            lines, fence = [], ""
        elif not fence and mark and "`" not in fence_info:
            blocks.append(ExcerptBlock("\n".join(lines).strip("\n"), code=False))
            lines, fence, info = [], mark[1], fence_info
        else:
            lines.append(row)
    if fence:
        blocks.append(ExcerptBlock("\n".join(lines), code=True, info=info))
    else:
        blocks.append(ExcerptBlock("\n".join(lines).strip("\n"), code=False))
    return [block for block in blocks if block.text.strip() or block.info]

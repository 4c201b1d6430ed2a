"""Sets a unified diff side by side, with what changed within a line.

This is for people, and takes a diff that is cut off or damaged for what it still says;
`git/apply.py` applies one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Literal

from goldpan.core.sanitize import CUT, visible

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
_LONGEST_LINE = 400
_MOST_TOKENS = 200
_MOST_COMPARISONS = 900
_ALIKE = 0.45


@dataclass(frozen=True, slots=True)
class DiffPiece:
    """A part of a line, changed or as on the other side."""

    text: str
    changed: bool = False


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line of one version, numbered from 1."""

    number: int
    pieces: tuple[DiffPiece, ...]
    ends: bool = True
    """True where a line end follows; the last line of a file may have none."""


@dataclass(frozen=True, slots=True)
class DiffRow:
    """A line of both versions; of a gap neither, it stands for lines that are not shown."""

    kind: Literal["same", "changed", "gap"]
    left: DiffLine | None = None
    right: DiffLine | None = None


@dataclass(frozen=True, slots=True)
class Sides:
    """A diff as rows."""

    rows: tuple[DiffRow, ...]
    deleted: int
    inserted: int
    left_out: int
    """Deleted and inserted lines that were too many to show."""


@dataclass(frozen=True, slots=True)
class _CellText:
    sign: str
    """The sign in the diff: minus, plus or space; ``@`` at the head of a hunk."""
    old: int
    new: int
    text: str = ""
    ends: bool = True


def side_by_side(diff: str, most: int = 160) -> Sides:
    """Set a unified diff side by side; `most` bounds the rows, long lines are cut.

    Where every line ends in CRLF that is not shown, else each carriage return is.
    """
    rows: list[DiffRow] = []
    olds: list[_CellText] = []
    news: list[_CellText] = []
    deleted = inserted = 0
    for line in _lines(diff):
        deleted += line.sign == "-"
        inserted += line.sign == "+"
        if line.sign in "-+":
            side = olds if line.sign == "-" else news
            if len(rows) + len(side) <= most:
                side.append(line)
        elif len(rows) <= most:
            rows += _changed(olds, news)
            olds, news = [], []
            if line.sign == " ":
                rows.append(DiffRow("same", _whole(line, line.old), _whole(line, line.new)))
            elif rows or max(line.old, line.new) > 1:
                rows.append(DiffRow("gap"))
    shown = (*rows, *_changed(olds, news))[:most]
    changed = [row for row in shown if row.kind == "changed"]
    shown_lines = sum((row.left is not None) + (row.right is not None) for row in changed)
    return Sides(shown, deleted, inserted, deleted + inserted - shown_lines)


def _lines(diff: str) -> Iterator[_CellText]:
    """Yield the lines of all hunks, each hunk led by its head."""
    lines = _without_crlf(diff.split("\n"))
    old = new = old_end = new_end = 0
    for line, after in zip(lines, (*lines[1:], ""), strict=True):
        sign = line[:1] or " "
        if (old >= old_end and new >= new_end) or sign not in " -+\\":
            old_end = new_end = 0
            if head := _HUNK.match(line):
                old, new = int(head[1]), int(head[3])
                old_end, new_end = old + int(head[2] or 1), new + int(head[4] or 1)
                yield _CellText("@", old, new)
        elif sign != "\\":
            yield _CellText(sign, old, new, line[1:], not after.startswith("\\"))
            old += sign != "+"
            new += sign != "-"


def _without_crlf(lines: list[str]) -> list[str]:
    body = [
        line for line in lines if line[:1] in ("-", "+", " ") and line[:3] not in ("---", "+++")
    ]
    if body and all(line.endswith("\r") for line in body):
        return [line.removesuffix("\r") for line in lines]
    return lines


def _changed(olds: Sequence[_CellText], news: Sequence[_CellText]) -> list[DiffRow]:
    """Return the rows of neighboring deleted and inserted lines, those alike side by side."""
    rows: list[DiffRow] = []
    old = new = 0
    for left, right in (*_alike(olds, news), (len(olds), len(news))):
        for old_line, other in zip_longest(olds[old:left], news[new:right]):
            left_line = _whole(old_line, old_line.old) if old_line else None
            rows.append(DiffRow("changed", left_line, _whole(other, other.new) if other else None))
        if left < len(olds) and right < len(news):
            rows.append(_emphasized(olds[left], news[right]))
        old, new = left + 1, right + 1
    return rows


def _alike(olds: Sequence[_CellText], news: Sequence[_CellText]) -> list[tuple[int, int]]:
    """Return which lines are versions of each other, in order, as many and as alike as can be."""
    if not olds or not news:
        return []
    if len(olds) * len(news) > _MOST_COMPARISONS:
        return [
            (at, at)
            for at, (old, new) in enumerate(zip(olds, news, strict=False))
            if _likeness(_words(old), _words(new)) >= _ALIKE
        ]
    old_words = [_words(line_) for line_ in olds]
    new_words = [_words(line_) for line_ in news]
    # best[i][j]: the greatest sum of likeness between the lines from i and from j on.
    best = [[0.0] * (len(news) + 1) for _ in range(len(olds) + 1)]
    like = [[_likeness(words, other) for other in new_words] for words in old_words]
    for i in reversed(range(len(olds))):
        for j in reversed(range(len(news))):
            both = best[i + 1][j + 1] + like[i][j] if like[i][j] >= _ALIKE else 0.0
            best[i][j] = max(both, best[i + 1][j], best[i][j + 1])
    matched = []
    i = j = 0
    while i < len(olds) and j < len(news):
        if like[i][j] >= _ALIKE and best[i][j] == best[i + 1][j + 1] + like[i][j]:
            matched.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return matched


def _words(line: _CellText) -> Counter[str]:
    return Counter(_TOKEN.findall(line.text[:_LONGEST_LINE].strip()))


def _likeness(first: Counter[str], other: Counter[str]) -> float:
    """Return the share of tokens that two lines have in common, from 0 to 1 (Dice)."""
    return 2 * (first & other).total() / max(1, first.total() + other.total())


def _whole(line: _CellText, number: int) -> DiffLine:
    return DiffLine(number, (DiffPiece(_cut(line.text)),), line.ends)


def _emphasized(old: _CellText, new: _CellText) -> DiffRow:
    """Return two versions of a line with their differences marked, word by word."""
    ours, theirs = _TOKEN.findall(_cut(old.text)), _TOKEN.findall(_cut(new.text))
    if len(ours) > _MOST_TOKENS or len(theirs) > _MOST_TOKENS:
        return DiffRow("changed", _whole(old, old.old), _whole(new, new.new))
    left: list[DiffPiece] = []
    right: list[DiffPiece] = []
    for tag, a, b, c, d in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        for pieces, tokens in ((left, ours[a:b]), (right, theirs[c:d])):
            if tokens:
                pieces.append(DiffPiece("".join(tokens), tag != "equal"))
    return DiffRow(
        "changed",
        DiffLine(old.old, tuple(left), old.ends),
        DiffLine(new.new, tuple(right), new.ends),
    )


def _cut(text: str) -> str:
    shown = visible(text[: _LONGEST_LINE + 1])
    return shown if len(shown) <= _LONGEST_LINE else shown[: _LONGEST_LINE - 1] + CUT

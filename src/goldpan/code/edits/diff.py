"""Lines that two versions share: a line-based diff that stays fast on hostile files.

Lines that occur once in either version are matched first, in the longest chain that keeps their
order (patience diff): they are what a reader recognizes. Between them a longest common
subsequence decides, computed with whole rows of bits at once (Hyyrö, 2004).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from math import isqrt
from typing import AnyStr

from goldpan.code.edits.apply import MOST_CHARACTERS

_MOST_CELLS = 10_000_000_000
"""Lines before times lines after of a gap that is still compared: a second or two."""
_RUN = 64
"""Lines that stand once together where none does alone."""


@dataclass(frozen=True, slots=True)
class LineHunk:
    """Lines `start` to `end` of the version before, which `new_start` to `new_end` replace."""

    start: int
    end: int
    new_start: int
    new_end: int


def diff_lines(before: str, after: str) -> list[LineHunk]:
    """Return what differs, in order, no two hunks touching.

    Both versions come with one character a line (`as_characters`).
    """
    head = count_common(before, after)
    most = min(len(before), len(after)) - head
    tail = min(count_common(before[::-1], after[::-1]), most)
    middle = before[head : len(before) - tail], after[head : len(after) - tail]
    matches = [(head + i, head + j) for i, j in _matches(*middle)]
    ends = (len(before) - tail, len(after) - tail)
    return [
        LineHunk(i + 1, next_i, j + 1, next_j)
        for (i, j), (next_i, next_j) in pairwise([(head - 1, head - 1), *matches, ends])
        if (i + 1, j + 1) != (next_i, next_j)
    ]


def count_common(before: AnyStr, after: AnyStr) -> int:
    """Return how many characters, or bytes, two texts share at their beginning."""
    alike = range(min(len(before), len(after)) + 1)
    return bisect_left(alike, True, key=lambda n: before[:n] != after[:n]) - 1


def _matches(before: str, after: str) -> list[tuple[int, int]]:
    matches: list[tuple[int, int]] = []
    anchors = [(-1, -1), *_anchors(before, after), (len(before), len(after))]
    for (i, j), (next_i, next_j) in pairwise(anchors):
        gap = before[i + 1 : next_i], after[j + 1 : next_j]
        matches += [(i + 1 + p, j + 1 + q) for p, q in _longest_common(*gap)]
        matches.append((next_i, next_j))
    return matches[:-1]


def _anchors(before: str, after: str) -> list[tuple[int, int]]:
    """Return the longest chain of lines that stand once in each version."""
    counts, new_counts = Counter(before), Counter(after)
    positions = {line: j for j, line in enumerate(after) if new_counts[line] == counts[line] == 1}
    ends: list[int] = []  # the least place in `after` at which a chain of each length ends
    chains: list[tuple[int, int, int]] = []  # line, its place in `after`, the chain before it
    heads: list[int] = []
    for i, line in enumerate(before):
        if line not in positions:
            continue
        length = bisect_left(ends, positions[line])
        chains.append((i, positions[line], heads[length - 1] if length else -1))
        ends[length : length + 1] = [positions[line]]
        heads[length : length + 1] = [len(chains) - 1]
    chain: list[tuple[int, int]] = []
    at = heads[-1] if heads else -1
    while at >= 0:
        i, j, at = chains[at]
        chain.append((i, j))
    return chain[::-1]


def _long_common(before: str, after: str) -> list[tuple[int, int]]:
    """Return a long sequence of matching lines of texts that are too large for the longest.

    Runs of lines that stand once in either are matched first; where there are none, the texts
    are compared in halves.
    """
    anchors = _anchors(*_runs(before, after))
    if not anchors:
        anchors = [(len(before) // 2, len(after) // 2)]
        if before[anchors[0][0]] != after[anchors[0][1]]:
            half, new_half = anchors[0]
            common = _longest_common(before[:half], after[:new_half])
            rest = _longest_common(before[half:], after[new_half:])
            return [*common, *((half + i, new_half + j) for i, j in rest)]
    common = []
    for (i, j), (next_i, next_j) in pairwise([(-1, -1), *anchors, (len(before), len(after))]):
        gap = _longest_common(before[i + 1 : next_i], after[j + 1 : next_j])
        common += [(i + 1 + p, j + 1 + q) for p, q in gap]
        common.append((next_i, next_j))
    return common[:-1]


def _runs(before: str, after: str) -> tuple[str, str]:
    """Return a character for each run of `_RUN` lines of either text, the same for equal runs."""
    numbers: dict[str, int] = {}

    def numbered(text: str) -> str:
        runs = (text[at : at + _RUN] for at in range(len(text) - _RUN + 1))
        return "".join(chr(numbers.setdefault(run, len(numbers)) % MOST_CHARACTERS) for run in runs)

    runs = numbered(before), numbered(after)
    return runs if len(numbers) <= MOST_CHARACTERS else ("", "")


def _longest_common(before: str, after: str) -> list[tuple[int, int]]:
    """Return the longest sequence of matching lines; a long one where the texts are too large."""
    shared = set(before) & set(after)
    rows = [i for i, line in enumerate(before) if line in shared]
    columns = [j for j, line in enumerate(after) if line in shared]
    if not rows:
        return []
    if len(rows) * len(columns) > _MOST_CELLS:
        return _long_common(before, after)
    masks: dict[str, int] = {}
    for bit, j in enumerate(columns):
        masks[after[j]] = masks.get(after[j], 0) | 1 << bit
    full = (1 << len(columns)) - 1

    def advance(row: int, part: list[int]) -> list[int]:
        """Return the rows of the table from `row` on; a bit is 0 where the length grows."""
        table = [row]
        for i in part:
            grown = row & masks[before[i]]
            row = (row + grown | row - grown) & full
            table.append(row)
        return table

    # Only every hundredth row or so is kept, and those between are computed again on the way
    # back: memory follows the square root of the lines.
    step = isqrt(len(rows)) + 1
    parts = [rows[start : start + step] for start in range(0, len(rows), step)]
    checkpoints = [full]
    for part in parts:
        checkpoints.append(advance(checkpoints[-1], part)[-1])
    matches: list[tuple[int, int]] = []
    width = len(columns)
    for part, first in zip(reversed(parts), reversed(checkpoints[:-1]), strict=True):
        table = advance(first, part)
        for index in reversed(range(len(part))):
            width = (~table[index + 1] & ((1 << width) - 1)).bit_length()
            if width and table[index] >> (width - 1) & 1:
                width -= 1
                matches.append((part[index], columns[width]))
    return matches[::-1]

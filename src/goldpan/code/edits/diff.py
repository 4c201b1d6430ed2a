"""Lines that two versions share: a line-based diff that stays fast on hostile files.

Lines that occur once in either version are matched first, in the longest chain that keeps their
order (patience diff): they are what a reader recognizes. Between them a longest common
subsequence decides, unless it would take too much memory.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import AnyStr

from rapidfuzz.distance import LCSseq

_MOST_LINES = 20_000
"""Lines of a gap that are still compared, in 50 MB; a larger gap is replaced whole."""


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


def _longest_common(before: str, after: str) -> list[tuple[int, int]]:
    """Return the longest sequence of matching lines; none where the texts are too large."""
    shared = set(before) & set(after)
    rows = [i for i, line in enumerate(before) if line in shared]
    columns = [j for j, line in enumerate(after) if line in shared]
    if max(len(rows), len(columns)) > _MOST_LINES:
        return []
    texts = "".join(before[i] for i in rows), "".join(after[j] for j in columns)
    return [
        (rows[block.a + at], columns[block.b + at])
        for block in LCSseq.editops(*texts).as_matching_blocks()
        for at in range(block.size)
    ]

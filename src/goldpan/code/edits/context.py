"""How many lines around a change it takes to find its place again."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate, pairwise

from goldpan.code.edits.diff import Hunk
from goldpan.code.edits.lines import as_characters, number_lines, split_lines
from goldpan.code.edits.repeated_lines import MOST_LINES, Repeats

_MOST_WORK = 1_000_000_000
"""Spent for one file before all of it becomes the context: a second, on hostile files ten."""
_WORK_PER_LINE_LOOKED_UP = 10
_WORK_PER_CHARACTER = 0.25
_WORK_BEFORE_REPEATS = 50_000_000


@dataclass(frozen=True, slots=True)
class Block:
    """A hunk in its context: lines `start` to `end` of the version before."""

    hunk: Hunk
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Version:
    """A file's text, its lines as one character each, and where in the text each line starts."""

    text: str
    lines: str
    starts: list[int]

    def cut(self, start: int, end: int) -> str:
        """Return the text of some lines."""
        return self.text[self.starts[start] : self.starts[end]]


class Change:
    """Two versions of a file, in which places for hunks are looked up."""

    def __init__(self, before: str, after: str) -> None:
        lines, new_lines = split_lines(before), split_lines(after)
        characters = number_lines(lines, new_lines)
        self.before = _version(before, lines, characters)
        self.after = _version(after, new_lines, characters)
        self.different_lines = len(characters)
        counts, new_counts = Counter(self.before.lines), Counter(self.after.lines)
        self._tails = _tails(characters)
        whole = {characters[line] for line in characters if line.endswith("\n")} - self._tails
        self._landmarks = {line for line in whole if counts[line] == 1 and new_counts[line] <= 1}
        self._lost_landmarks = {line for line in self._landmarks if not new_counts[line]}
        self._work = 0.0
        self._repeats: Repeats | None = None

    def surround(self, hunk: Hunk) -> Block:
        """Return the hunk with the fewest lines around it that stand at one place only.

        One place of the version before, and of the text in which all hunks above are applied.
        """
        last = len(self.before.lines)
        most_above, most_below = hunk.start, last - hunk.end

        def is_unique(above: int, below: int) -> bool:
            start, end = max(hunk.start - above, 0), min(hunk.end + below, last)
            return self.is_unique(hunk, start, end)

        # Where n lines on either side do, no better choice has more than 2 n on one.
        enough = 2 * _least(lambda lines: is_unique(lines, lines), 0, max(most_above, most_below))
        above, below = _fewest(is_unique, min(enough, most_above), min(enough, most_below))
        return Block(hunk, hunk.start - above, hunk.end + below)

    def is_unique(self, hunk: Hunk, start: int, end: int) -> bool:
        """Tell whether lines `start` to `end` stand at one place, when it is the hunk's turn."""
        before, after = self.before, self.after
        last = len(before.lines)
        if end - start == last:
            return True
        self._work += (end - start) * _WORK_PER_LINE_LOOKED_UP
        if self._work > _MOST_WORK:
            return False
        context = before.lines[start : hunk.start] + before.lines[max(start, hunk.end) : end]
        own = before.lines[max(start, hunk.start) : min(end, hunk.end)]
        if not self._landmarks.isdisjoint(context) or not self._lost_landmarks.isdisjoint(own):
            return True
        if not self._lines_stand_once(hunk, start, end):
            return False
        search = before.cut(start, end)
        if search.endswith("\n") and (
            before.lines[start] not in self._tails or self._lines_stand_once(hunk, start + 1, end)
        ):
            return True
        edited = after.cut(0, hunk.new_start) + before.cut(hunk.start, last)
        return self._stand_once(search, before.text, edited, work=_WORK_PER_CHARACTER)

    def _lines_stand_once(self, hunk: Hunk, start: int, end: int) -> bool:
        """Tell whether lines stand once before, and once where all hunks above are applied."""
        before, after = self.before.lines, self.after.lines
        size = end - start
        if size < 1:
            return False
        repeats = self._known_repeats()
        if repeats is not None:
            if size <= repeats.own[start]:
                return False
            if size > repeats.twice[start]:
                is_outside = end <= hunk.start or start >= hunk.end  # which both versions have
                above = repeats.where[start] + size <= hunk.new_start
                if size <= repeats.other[start] and above and not is_outside:
                    return False
                # Left are the places across the end of what is edited.
                edited = after[max(hunk.new_start - size, 0) : hunk.new_start]
                edited += before[hunk.start : max(end, hunk.start + size)]
                return self._stand_once(before[start:end], edited)
        edited = after[: hunk.new_start] + before[hunk.start :]
        return self._stand_once(before[start:end], before, edited)

    def _known_repeats(self) -> Repeats | None:
        """Return what repeats, once searching for it has cost more than knowing all of it."""
        lines = len(self.before.lines) + len(self.after.lines)
        if self._repeats is None and self._work > _WORK_BEFORE_REPEATS and lines <= MOST_LINES:
            self._repeats = Repeats(self.before.lines, self.after.lines)
        return self._repeats

    def _stand_once(self, search: str, *texts: str, work: float = 1) -> bool:
        """Tell whether a search, which is not empty, stands at no second place of any text."""
        for text in texts if search else ():
            second = text.find(search, text.find(search) + 1)
            self._work += (len(text) if second < 0 else second) * work
            if second >= 0:
                return False
        return bool(search)


def _version(text: str, lines: list[str], characters: dict[str, str]) -> Version:
    starts = list(accumulate(map(len, lines), initial=0))
    return Version(text, as_characters(lines, characters), starts)


def _tails(characters: dict[str, str]) -> set[str]:
    """Return the lines that another line ends with: plain text finds them inside that."""
    backwards = sorted(line[::-1] for line in characters)
    return {
        characters[line[::-1]] for line, longer in pairwise(backwards) if longer.startswith(line)
    }


def _fewest(
    is_unique: Callable[[int, int], bool], most_above: int, most_below: int
) -> tuple[int, int]:
    """Return the fewest lines above and below that make a window unique, as all of them do.

    Fewer lines below cost more above: the walk goes along the windows that are unique and would
    not be with one line less on either side. Of equal ones the most balanced is taken.
    """
    candidates = [_tighten(is_unique, 0, most_above, most_below)]
    while (limit := candidates[-1][1] - 1) >= 0 and is_unique(most_above, limit):
        candidates.append(_tighten(is_unique, candidates[-1][0], most_above, limit))
    return min(candidates, key=lambda window: (sum(window), abs(window[0] - window[1]), window[1]))


def _tighten(
    is_unique: Callable[[int, int], bool], least_above: int, most_above: int, most_below: int
) -> tuple[int, int]:
    """Return the window with the fewest lines above, and for these the fewest below."""
    above = _least(lambda lines: is_unique(lines, most_below), least_above, most_above)
    return above, _least(lambda lines: is_unique(above, lines), 0, most_below)


def _least(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Return the least number from `low` on that holds; `high` does, and all after one that does.

    Looks at small numbers first, because most contexts are small.
    """
    reach = low
    while reach < high and not holds(reach):
        low = reach + 1
        reach = min(2 * reach + 1, high)
    return bisect_left(range(reach), True, low, reach, key=holds)

"""From two versions of a file to the edits between them (FAUN-Eval, section 3.4.3)."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate, pairwise

from goldpan.code.edits.apply import MOST_CHARACTERS, Edit, as_characters, number_lines, split_lines
from goldpan.code.edits.diff import LineHunk, diff_lines


def find_edits(before: str, after: str) -> tuple[Edit, ...]:
    """Return edits that turn `before` into `after`, in the order of the file; none if equal.

    Each `search` stands at one place of `before` only, even as plain text and not as whole
    lines, with no more lines of context than that takes. The places do not overlap or touch, so
    the order of the edits does not matter to `apply_edits`. The text that has been edited up to
    a block holds its `search` once as well, so tools that replace one after the other, in the
    given order, come to the same result.
    """
    if before == after:
        return ()
    if not before:
        return (Edit(before, after),)
    change = TwoVersions(before, after)
    if change.different_lines > MOST_CHARACTERS:
        return (Edit(before, after),)
    hunks = diff_lines(change.before.lines, change.after.lines)
    while True:
        blocks = [change.surround(hunk) for hunk in hunks]
        hunks = _join_touching(blocks)
        if len(hunks) == len(blocks):
            return tuple(_edit(change, block) for block in blocks)


def _join_touching(blocks: list[EditBlock]) -> list[LineHunk]:
    """Return the hunks of the blocks, those whose contexts overlap or touch as one."""
    hunks: list[LineHunk] = []
    reached = -1
    for block in blocks:
        hunk = block.hunk
        if block.start <= reached:
            above = hunks.pop()
            hunk = LineHunk(above.start, hunk.end, above.new_start, hunk.new_end)
        hunks.append(hunk)
        reached = max(reached, block.end)
    return hunks


def _edit(change: TwoVersions, block: EditBlock) -> Edit:
    """Return the block's lines before and after, context included.

    Where lines repeat, a change can be seen a line further up or down and need less context:
    lines that both versions begin or end with go where the rest is unique without them.
    """
    hunk, old, new = block.hunk, change.before, change.after
    start, end = block.start, block.end
    new_start, new_end = hunk.new_start - (hunk.start - start), hunk.new_end + (end - hunk.end)
    while (
        new_start < new_end
        and old.lines[start] == new.lines[new_start]
        and change.is_unique(hunk, start + 1, end)
    ):
        start, new_start = start + 1, new_start + 1
    while (
        new_start < new_end
        and old.lines[end - 1] == new.lines[new_end - 1]
        and change.is_unique(hunk, start, end - 1)
    ):
        end, new_end = end - 1, new_end - 1
    return Edit(old.cut(start, end), new.cut(new_start, new_end))


_MOST_WORK = 1_000_000_000
"""Spent for one file before all of it becomes the context: a second, on hostile files ten."""
_WORK_PER_LINE_LOOKED_UP = 10
_WORK_PER_CHARACTER = 0.25


@dataclass(frozen=True, slots=True)
class EditBlock:
    """A hunk in its context: lines `start` to `end` of the version before."""

    hunk: LineHunk
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class BlockVersion:
    """A file's text, its lines as one character each, and where in the text each line starts."""

    text: str
    lines: str
    starts: list[int]

    def cut(self, start: int, end: int) -> str:
        """Return the text of some lines."""
        return self.text[self.starts[start] : self.starts[end]]


class TwoVersions:
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

    def surround(self, hunk: LineHunk) -> EditBlock:
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
        return EditBlock(hunk, hunk.start - above, hunk.end + below)

    def is_unique(self, hunk: LineHunk, start: int, end: int) -> bool:
        """Return whether lines `start` to `end` stand at one place, when it is the hunk's turn."""
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

    def _lines_stand_once(self, hunk: LineHunk, start: int, end: int) -> bool:
        """Return whether lines stand once before, and once where all hunks above are applied."""
        before, after = self.before.lines, self.after.lines
        size = end - start
        if size < 1:
            return False
        edited = after[: hunk.new_start] + before[hunk.start :]
        return self._stand_once(before[start:end], before, edited)

    def _stand_once(self, search: str, *texts: str, work: float = 1) -> bool:
        """Return whether a search, which is not empty, stands at no second place of any text."""
        for text in texts if search else ():
            second = text.find(search, text.find(search) + 1)
            self._work += (len(text) if second < 0 else second) * work
            if second >= 0:
                return False
        return bool(search)


def _version(text: str, lines: list[str], characters: dict[str, str]) -> BlockVersion:
    starts = list(accumulate(map(len, lines), initial=0))
    return BlockVersion(text, as_characters(lines, characters), starts)


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

"""Finds the comment that documents what begins at a place of a file."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable

from goldpan.papers.nlbse.comments.text import Span

_MOST_BETWEEN = 50
_MOST_SPACE = 4_096
_BLOCKS = (b"/*", b"=begin")


class Notes:
    """The comments of a file, and what may stand between a comment and its declaration."""

    def __init__(
        self,
        data: bytes,
        comments: Iterable[Span],
        skipped: Iterable[Span],
        marks: str,
        *,
        adjacent: bool,
    ) -> None:
        self._data = data
        self._marks = re.compile(marks.encode())
        self._adjacent = adjacent
        self._comments = {self._without_space(span) for span in comments}
        self._spans = sorted({*self._comments, *skipped}, key=lambda span: span.end)
        self._ends = [span.end for span in self._spans]

    def before(self, position: int) -> tuple[Span, ...]:
        """Return the comment for what begins at a place: a block, or lines; empty for none.

        The nearest that documents is taken; others may stand between.
        """
        index = bisect_right(self._ends, position) - 1
        for _ in range(_MOST_BETWEEN):
            if index < 0 or not self._touches(index, position):
                return ()
            span = self._spans[index]
            if self._documents(span):
                return self._whole(index)
            position, index = span.start, index - 1
        return ()

    def _touches(self, index: int, position: int) -> bool:
        end = self._ends[index]
        if position - end > _MOST_SPACE:
            return False
        gap = self._data[end:position]
        return not gap.strip() and not (self._adjacent and _line_ends(gap) > 1)

    def _documents(self, span: Span) -> bool:
        return span in self._comments and bool(self._marks.match(self._data, span.start, span.end))

    def _whole(self, index: int) -> tuple[Span, ...]:
        """Return a comment, and where it is a line, the lines of its kind right above it."""
        spans = [self._spans[index]]
        if self._data.startswith(_BLOCKS, spans[0].start):
            return (spans[0],)
        if not self._stands_alone(spans[0]):
            return ()
        for position in reversed(range(index)):
            above = self._spans[position]
            gap = self._data[above.end : spans[-1].start][:_MOST_SPACE]
            if gap.strip() or _line_ends(gap) != 1 or not self._documents(above):
                break
            if self._data.startswith(_BLOCKS, above.start) or not self._stands_alone(above):
                break
            spans.append(above)
        return tuple(reversed(spans))

    def _stands_alone(self, span: Span) -> bool:
        """Tell a comment before which nothing stands on its line."""
        before = self._data[max(0, span.start - _MOST_SPACE) : span.start]
        return not re.split(rb"[\r\n]", before)[-1].strip()

    def _without_space(self, span: Span) -> Span:
        """Return a comment without the white space after it that some grammars count to it."""
        text = self._data[span.start : span.end]
        return Span(span.start, span.start + len(text.rstrip()))


def _line_ends(gap: bytes) -> int:
    return gap.count(b"\n") or gap.count(b"\r")

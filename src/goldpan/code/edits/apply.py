"""From a file and edits to the file after: exact, or with errors that say what is wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from goldpan.code.edits.edit import (
    AmbiguousError,
    Edit,
    NoMatchError,
    OverlapError,
)
from goldpan.code.edits.lines import as_characters, number_lines, split_lines

_MOST_PLACES = 10
"""Places of an ambiguous SEARCH that are told; more are only said to exist."""
_COMMON = 50
"""A line that stands more often says nothing about where a SEARCH was meant."""
_SHOWN = 80


@dataclass(frozen=True, slots=True)
class _Place:
    """Lines `start` to `end` of the file and what replaces them, for the block of that number."""

    start: int
    end: int
    replace: str
    block: int


class _Index:
    """The lines of a file, in which others are found by a key."""

    def __init__(self, lines: list[str], key: Callable[[str], str]) -> None:
        self._key = key
        self._lines = [key(line) for line in lines]
        self._characters = number_lines(self._lines)
        self._text = as_characters(self._lines, self._characters)

    def find(self, wanted: list[str]) -> list[int]:
        """Return at which lines the wanted ones stand, and of many places only the first."""
        keys = [self._key(line) for line in wanted]
        if not self._characters.keys() >= set(keys):
            return []
        sought = as_characters(keys, self._characters)
        starts: list[int] = []
        at = self._text.find(sought)
        while at >= 0 and len(starts) <= _MOST_PLACES:
            if self._lines[at : at + len(keys)] == keys:
                starts.append(at)
            at = self._text.find(sought, at + 1)
        return starts


def apply_edits(before: str, edits: Sequence[Edit], *, lenient: bool = False) -> str:
    """Return the file after: each SEARCH, found by whole lines, gives way to its REPLACE.

    All are found in `before` and not in what the others wrote, so their order does not matter.
    An empty SEARCH stands for an empty file. With `lenient` a SEARCH that stands nowhere is
    looked up again without regard to white space at the ends of lines, line ends included; its
    REPLACE then takes the file's line ends.

    Raises `NoMatchError`, `AmbiguousError` or `OverlapError`, naming blocks and lines from 1.
    """
    lines = split_lines(before)
    exact = _Index(lines, str)
    loose = _Index(lines, str.rstrip) if lenient else None
    placed = [
        _find(lines, exact, loose, edit, block, f"Block {block} of {len(edits)}")
        for block, edit in enumerate(edits, start=1)
    ]
    written: list[str] = []
    done = 0
    last: _Place | None = None
    for place in sorted(placed, key=lambda place: (place.start, place.block)):
        if last and (place.start < done or not lines):
            raise OverlapError(
                f"Blocks {last.block} and {place.block} of {len(edits)} overlap at line "
                f"{place.start + 1} of the file",
                "Make one block of them",
            )
        written += [*lines[done : place.start], place.replace]
        last, done = place, place.end
    return "".join([*written, *lines[done:]])


def _find(
    lines: list[str], exact: _Index, loose: _Index | None, edit: Edit, block: int, name: str
) -> _Place:
    """Return the only place of an edit in the file."""
    wanted = split_lines(edit.search)
    if not wanted:
        if lines:
            raise NoMatchError(
                f"{name} has an empty SEARCH, which stands for an empty file, but the file has "
                f"{_count(len(lines))}",
                "Put the lines next to the insertion into SEARCH and REPLACE",
            )
        return _Place(0, 0, edit.replace, block)
    replace, starts = edit.replace, exact.find(wanted)
    if not starts and loose:
        starts = loose.find(wanted)
        replace = _with_line_ends(replace, lines, starts[0] + len(wanted)) if starts else ""
    if not starts:
        raise NoMatchError(
            f"{name} does not match: its SEARCH ({_count(len(wanted))}) stands nowhere in the "
            f"file{_nearest(lines, wanted)}",
            "Copy the SEARCH from the file as it is, white space included",
        )
    if len(starts) > 1:
        text = ", ".join(str(start + 1) for start in starts[:_MOST_PLACES])
        more = " and more" if len(starts) > _MOST_PLACES else ""
        raise AmbiguousError(
            f"{name} is ambiguous: its SEARCH matches at lines {text}{more}",
            "Give it more of the lines around the change",
        )
    return _Place(starts[0], starts[0] + len(wanted), replace, block)


def _with_line_ends(replace: str, lines: list[str], end: int) -> str:
    """Return lines that end as those of the file do, where they replace lines up to `end`."""
    line_end = _line_end(lines[0]) or "\n"
    bare = [line.rstrip("\r\n") for line in split_lines(replace)]
    ends = [line_end] * len(bare)
    ends[-1:] = [line_end if _line_end(lines[end - 1]) else ""]
    return "".join(line + line_end for line, line_end in zip(bare, ends, strict=False))


def _line_end(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :]


def _nearest(lines: list[str], wanted: list[str]) -> str:
    """Tell where in the file most of the wanted lines stand, and the first that differs there."""
    places: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        places.setdefault(line.strip(), []).append(number)
    votes: Counter[int] = Counter()
    for offset, line in enumerate(wanted):
        standing = places.get(line.strip(), []) if line.strip() else []
        if len(standing) <= _COMMON:
            votes.update(number - offset for number in standing)
    if not votes:
        return ""
    start = max(min(votes, key=lambda start_: (-votes[start_], start_)), 0)
    pairs = zip_longest(lines[start : start + len(wanted)], wanted)
    for number, (line, sought) in enumerate(pairs, start=start + 1):
        if line != sought:
            text = "the file has ended" if line is None else f"the file has {_show(line)}"
            return (
                f"; the most alike are from line {start + 1} on, but at line {number} {text} "
                f"where SEARCH has {_show(sought)}"
            )
    return ""


def _show(line: str) -> str:
    return repr(line if len(line) <= _SHOWN else f"{line[:_SHOWN]}...")


def _count(lines: int) -> str:
    return f"{lines} line{'' if lines == 1 else 's'}"

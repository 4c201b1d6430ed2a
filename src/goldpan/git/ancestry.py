"""Descent of commits, for a whole history at once.

All commits and their parents come from one git, newest first, none before its children. Where a
head left a base is answered as `git merge-base` does, by painting from both ends. One walk over
the history tells for each commit with which commit of the trunk (the first parents of the default
branch) it came in.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from heapq import heappop, heappush
from pathlib import Path
from typing import IO, cast

from goldpan.core.errors import GitError
from goldpan.git.process import stream

_OURS, _THEIRS, _STALE = 1, 2, 4
_NEVER = 2**62


class Ancestry:
    """The commits of a clone; `trunk` is the newest commit of the default branch."""

    def __init__(
        self, commits: Iterable[tuple[int, str, tuple[str, ...]]], trunk: str | None
    ) -> None:
        """Take commits as time, id and parents' ids, none before its children."""
        parent_ids: list[tuple[str, ...]] = []
        self._ids: list[str] = []
        self._times = array("Q")  # git reads times as unsigned, those before 1970 too
        for time, commit, parents in commits:
            self._ids.append(commit)
            self._times.append(time)
            parent_ids.append(parents)
        self._places = {commit: index for index, commit in enumerate(self._ids)}
        self._parents = [
            tuple(self._places[parent] for parent in parents if parent in self._places)
            for parents in parent_ids
        ]
        self._trunk = self._first_parents(trunk)
        self._joined = self._trunk_heights()

    def find(self, commit: str | None) -> str | None:
        """Return a commit if it is there."""
        return commit if commit in self._places else None

    def parents(self, commit: str) -> tuple[str, ...]:
        """Return a commit's parents, those of them that are there."""
        return tuple(self._ids[parent] for parent in self._parents[self._places[commit]])

    def back(self, commit: str, steps: int) -> str | None:
        """Return the commit so many first parents back, if there is one."""
        index = self._places[commit]
        for _ in range(steps):
            if not self._parents[index]:
                return None
            index = self._parents[index][0]
        return self._ids[index]

    def before(self, commit: str) -> str | None:
        """Return the last commit of the trunk that did not hold a commit, if there is one."""
        height = self._joined[self._places[commit]]
        return self._ids[self._trunk[height - 1]] if 0 < height < _NEVER else None

    def is_ancestor(self, old: str, new: str) -> bool:
        """Tell whether a commit is another one or comes before it."""
        fork = self.fork(new, old)
        return fork is not None and fork[0] == old

    def fork(self, base: str, head: str) -> tuple[str, int] | None:
        """Return the merge base of a head and how many commits the head is ahead of it.

        None where they have no ancestor in common. Of several merge bases it is the newest, as with
        `git merge-base`.
        """
        start, end = self._places[base], self._places[head]
        bases, ahead = self._paint(start, end)
        if not bases:
            return None
        newest = max(bases, key=lambda index: (self._times[index], -index))
        return self._ids[newest], ahead

    def _first_parents(self, tip: str | None) -> list[int]:
        """Return the trunk, oldest commit first."""
        index = self._places.get(tip) if tip else None
        commits = []
        while index is not None:
            commits.append(index)
            index = self._parents[index][0] if self._parents[index] else None
        return commits[::-1]

    def _trunk_heights(self) -> array[int]:
        """Return for each commit the height of the trunk's first commit that holds it."""
        heights = array("q", [_NEVER]) * len(self._ids)
        for height, tip in enumerate(self._trunk):
            waiting = [tip]
            while waiting:
                index = waiting.pop()
                if heights[index] == _NEVER:
                    heights[index] = height
                    waiting.extend(self._parents[index])
        return heights

    def _paint(self, base: int, head: int) -> tuple[list[int], int]:
        """Paint ancestors from both ends, newest first, until all that is left is painted twice."""
        colors = {base: _OURS}
        colors[head] = colors.get(head, 0) | _THEIRS
        waiting = sorted(colors)
        open_ends = len(waiting)
        commits = []
        ahead = 0
        while waiting and open_ends:
            index = heappop(waiting)
            color = colors[index]
            if not color & _STALE:
                open_ends -= 1
            if color == _THEIRS:
                ahead += 1
            if color == _OURS | _THEIRS:
                commits.append(index)
                color |= _STALE
            for parent in self._parents[index]:
                old = colors.get(parent)
                colors[parent] = (old or 0) | color
                if old is None:
                    heappush(waiting, parent)
                    open_ends += not color & _STALE
                elif not old & _STALE and color & _STALE:
                    open_ends -= 1
        return commits, ahead


def read_ancestry(clone: Path, unreferenced: Iterable[str], trunk: str | None) -> Ancestry:
    """Read all commits of a clone that refs or `unreferenced` lead to; raises `GitError`.

    `unreferenced` must be in the clone: heads that a force push left without a ref.
    """
    options = ("--all", "--date-order", "--parents", "--timestamp", "--ignore-missing", "--stdin")
    input_lines = (f"{id_}\n".encode() for id_ in unreferenced)
    with stream("rev-list", *options, clone=clone, stdin=input_lines) as process:
        lines = map(bytes.split, cast(IO[bytes], process.stdout))
        ancestry = Ancestry(
            (
                (int(words[0]), words[1].decode(), tuple(map(bytes.decode, words[2:])))
                for words in lines
            ),
            trunk,
        )
        if process.wait():
            raise GitError(
                f"The history in {clone} is damaged or cut off", "Delete it and clone again"
            )
    return ancestry

"""Which state of the code a pull request starts from, and what is odd about its files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from goldpan.git.comparison import Touched
from goldpan.git.objects import Objects
from goldpan.git.trees import is_unsafe, path_text
from goldpan.miners.history.candidates import Candidate
from goldpan.miners.history.pulls import Counts

StateName = Literal["base", "merge_base", "merge_parent", "diff", "none"]


@dataclass(frozen=True, slots=True)
class State:
    """Where a change starts: the commit whose tree a model sees, and how it was found."""

    name: StateName
    before: str
    notes: tuple[str, ...] = ()


def find_state(
    candidate: Candidate, base: str | None, touched: Sequence[Touched], objects: Objects
) -> State:
    """Return the base state of a change (FAUN-Eval, section 3.4.2).

    It is the pull request's base commit where that holds the changed files as the merge base
    does; where the base branch moved on in one of them, no patch of this pull request fits
    there, and it is the merge base.
    """
    if candidate.kind == "merge":
        return State("merge_parent", candidate.before)
    if base is None:
        return State("merge_base", candidate.before)
    if base == candidate.before or all(_is_at(base, file, objects) for file in touched):
        return State("base", base)
    return State("merge_base", candidate.before, ("base_moved_on",))


def count(touched: Sequence[Touched]) -> Counts:
    """Count files and lines as GitHub does: binary files have no lines."""
    return Counts(
        len(touched),
        sum(file.additions or 0 for file in touched),
        sum(file.deletions or 0 for file in touched),
    )


def about_paths(touched: Sequence[Touched]) -> tuple[str, ...]:
    """Return notes on paths that users of the tables must know of."""
    paths = [path for file in touched for path in (file.path, file.previous) if path is not None]
    notes = set()
    if any(map(is_unsafe, paths)):
        notes.add("path_unsafe")
    if any(path_text(path).encode() != path for path in paths):
        notes.add("path_quoted")
    if len({file.path for file in touched}) < len(touched):
        notes.add("path_twice")
    return tuple(sorted(notes))


def _is_at(commit: str, touched: Touched, objects: Objects) -> bool:
    """Tell whether a commit holds a file as it was before a change, and nothing in its way."""
    tree_entry = objects.find(commit, touched.previous or touched.path)
    in_the_way = touched.previous is not None and objects.find(commit, touched.path) is not None
    return not in_the_way and (tree_entry.id if tree_entry else None) == touched.blob_before

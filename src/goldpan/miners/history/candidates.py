"""Between which commits a pull request may be read, best guess first.

The change is what GitHub shows: from the merge base to the head. The base that the API names is
the base branch as it was when the pull request was opened or last pushed to, so it can be
older than where the head left the branch (then the head is followed back from where the branch
stood before the merge) or hold the head itself. Where the head is lost, what was merged stands
in the merge commit, or in as many commits as the pull had where it was merged by rebasing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from goldpan.git.ancestry import Ancestry
from goldpan.git.comparison import CommitPair, Touched
from goldpan.git.objects import Objects
from goldpan.git.trees import is_unsafe, path_text
from goldpan.miners.history.pulls import Counts, Pull

_MOST_REBASED = 250  # GitHub lists no more commits of a pull request


@dataclass(frozen=True, slots=True)
class Candidate:
    """Two commits that may hold what a pull request changes."""

    before: str
    """Where the change begins: the merge base, or the commit before the merge."""
    after: str
    kind: Literal["head", "merge"]
    notes: tuple[str, ...]
    ahead: int | None = None
    """Commits of the head over the merge base."""
    certain: bool = False
    """Whether it counts even where its size is not the announced one: the head is the head."""

    @property
    def pair(self) -> CommitPair:
        """The two commits."""
        return CommitPair(self.before, self.after)


@dataclass(frozen=True, slots=True)
class Refs:
    """Where the refs of a clone lead: heads of pull requests by number, branches by name."""

    heads: Mapping[int, str]
    branches: Mapping[str, str]


def find_candidates(pull: Pull, refs: Refs, ancestry: Ancestry) -> list[Candidate]:
    """Return the pairs of commits worth a look, each once, in the order of trust."""
    ref = ancestry.find(refs.heads.get(pull.number))
    head = ancestry.find(pull.head_sha)
    candidates: list[Candidate] = []
    if head is not None:
        notes = _about_ref(head, ref, ancestry)
        candidates += _of_head(pull, head, refs, ancestry, notes, certain=True)
    elif ref is not None:
        notes = ("head_from_ref", "head_missing")
        candidates += _of_head(pull, ref, refs, ancestry, notes, certain=False)
    if head is None or not candidates:
        candidates += _of_merge(pull, ancestry, () if head else ("head_missing",))
    unique = {candidate.pair: candidate for candidate in reversed(candidates)}
    return list(reversed(unique.values()))


def _about_ref(head: str, ref: str | None, ancestry: Ancestry) -> tuple[str, ...]:
    """Say what became of a head: its ref is newer than what the API told where they differ."""
    if ref is None:
        return ("head_ref_missing",)
    if ref == head:
        return ()
    return ("head_moved_on",) if ancestry.is_ancestor(head, ref) else ("head_force_pushed",)


def _of_head(
    pull: Pull, head: str, refs: Refs, ancestry: Ancestry, notes: tuple[str, ...], *, certain: bool
) -> Iterator[Candidate]:
    for base, note in _bases(pull, head, refs, ancestry):
        fork = ancestry.fork(base, head)
        if fork is None or fork.merge_base == head:  # unrelated, or it holds the head already
            continue
        all_notes = tuple(sorted((*notes, *note)))
        yield Candidate(fork.merge_base, head, "head", all_notes, fork.ahead, certain)


def _bases(
    pull: Pull, head: str, refs: Refs, ancestry: Ancestry
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield commits of the base branch from before the merge, each with what is odd about it."""
    base = ancestry.find(pull.base_sha)
    if base is not None:
        yield base, ()
    note = ("base_sha_missing",) if base is None else ("base_sha_unusable",)
    merge = ancestry.find(pull.merge_sha)
    if merge is not None:
        yield from ((parent, note) for parent in ancestry.parents(merge)[:1])
    before = ancestry.before(head) if pull.merged else None
    if before is not None:
        yield before, note
    tip = ancestry.find(refs.branches.get(pull.base_ref or ""))
    if tip is not None and not pull.merged:
        yield tip, note


def _of_merge(pull: Pull, ancestry: Ancestry, notes: tuple[str, ...]) -> Iterator[Candidate]:
    merge = ancestry.find(pull.merge_sha)
    if merge is None:
        return
    parents = ancestry.parents(merge)
    if parents:
        yield Candidate(parents[0], merge, "merge", notes)
    if len(parents) == 1 and 1 < pull.commits <= _MOST_REBASED:
        start = ancestry.back(merge, pull.commits)
        if start is not None:
            yield Candidate(start, merge, "merge", (*notes, "rebased"), pull.commits)


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

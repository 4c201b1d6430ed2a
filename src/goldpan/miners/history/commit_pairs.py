"""Finds, for many pull requests at once, the pair of commits that holds the change of each.

The change is what GitHub shows: from the merge base to the head. The base that the API names is
the base branch as it was when the pull request was opened or last pushed to, so it can be
older than where the head left the branch (then the head is followed back from where the branch
stood before the merge) or hold the head itself. Where the head is lost, what was merged stands
in the merge commit, or in as many commits as the pull had where it was merged by rebasing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

import duckdb

from goldpan.core.storage.parquet import open_tables, second
from goldpan.core.storage.sealed import verify_parquet
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.git.ancestry import Ancestry
from goldpan.git.clone import prefetch, promisor
from goldpan.git.objects import Objects
from goldpan.git.trees import CommitPair, Depth, Touched, compare, is_unsafe, path_text

_WANTED = """
SELECT number, merged, base_ref, base_sha, head_sha, merge_sha, changed_files, additions,
       deletions, coalesce(listed, 0) AS commits
FROM entries
LEFT JOIN (SELECT number, count(*) AS listed FROM commits GROUP BY number) USING (number)
WHERE kind = 'pull' AND (coalesce(merged, false) OR number IN (SELECT pull FROM paired))
ORDER BY number
"""

_PAIRED = "INSERT INTO paired SELECT pull FROM read_parquet($path) WHERE pull_repo = $repo"


@dataclass(frozen=True, slots=True)
class Counts:
    """How many files and lines a pull request changes; None where that is unknown."""

    files: int | None
    additions: int | None
    deletions: int | None

    def agree(self, other: Counts) -> bool | None:
        """Tell whether two counts are the same as far as both are known; None for no count."""
        pairs = (
            (self.files, other.files),
            (self.additions, other.additions),
            (self.deletions, other.deletions),
        )
        comparisons = [first == another for first, another in pairs if None not in (first, another)]
        return all(comparisons) if comparisons else None


@dataclass(frozen=True, slots=True)
class Pull:
    """A pull request as the API describes it."""

    number: int
    merged: bool
    base_ref: str | None
    base_sha: str | None
    head_sha: str | None
    merge_sha: str | None
    announced: Counts
    commits: int
    """How many commits its timeline lists."""

    @property
    def shas(self) -> tuple[str, ...]:
        """The commits that the API names."""
        return tuple(sha for sha in (self.base_sha, self.head_sha, self.merge_sha) if sha)


def read_pulls(connection: duckdb.DuckDBPyConnection, at_once: int) -> Iterator[list[Pull]]:
    """Yield the merged pulls and those of fix pairs by any rules by number, so many at once."""
    cursor = second(connection).execute(_WANTED)
    while rows := cursor.fetchmany(at_once):
        yield [
            Pull(number, bool(merged), ref, base, head, merge, Counts(*sizes), commits)
            for number, merged, ref, base, head, merge, *sizes, commits in rows
        ]


@contextmanager
def open_pulls(
    workspace: WorkspaceLayout, repo: str
) -> Iterator[tuple[duckdb.DuckDBPyConnection, str, str | None]]:
    """Open a repository's tables; give the connection, its name and its default branch.

    Raises `WorkspaceError` where it has none.
    """
    names = ("repositories", "entries", "commits")
    with open_tables(workspace, repo, names) as connection:
        row = connection.execute("SELECT repo, default_branch FROM repositories").fetchall()
        name, branch = row[0] if row else (repo, None)
        connection.execute("CREATE TABLE paired (pull BIGINT)")
        for rules in workspace.paired_by(repo):
            path = verify_parquet(workspace.pairs(repo, rules))
            connection.execute(_PAIRED, {"path": str(path), "repo": name})
        yield connection, name, branch


_MOST_REBASED = 250  # GitHub lists no more commits of a pull request


@dataclass(frozen=True, slots=True)
class Candidate:
    """Two commits between which a pull request's change may lie."""

    pair: CommitPair
    """It begins at the merge base, or at the commit before the merge."""
    kind: Literal["head", "merge"]
    notes: tuple[str, ...]
    ahead: int | None = None
    """Commits of the head over the merge base."""
    certain: bool = False
    """True for the recorded head, which counts even where its size is not the announced one."""


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
    """Return a note on a head whose ref is newer than the API's data."""
    if ref is None:
        return ("head_ref_missing",)
    if ref == head:
        return ()
    return ("head_moved_on",) if ancestry.is_ancestor(head, ref) else ("head_force_pushed",)


def _of_head(
    pull: Pull, head: str, refs: Refs, ancestry: Ancestry, notes: tuple[str, ...], *, certain: bool
) -> Iterator[Candidate]:
    for base, note in _bases(pull, head, refs, ancestry):
        merge_base, ahead = ancestry.fork(base, head) or (head, 0)
        if merge_base == head:  # unrelated, or it holds the head already
            continue
        all_notes = tuple(sorted((*notes, *note)))
        yield Candidate(CommitPair(merge_base, head), "head", all_notes, ahead, certain)


def _bases(
    pull: Pull, head: str, refs: Refs, ancestry: Ancestry
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield commits of the base branch from before the merge, each with notes on it."""
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
        yield Candidate(CommitPair(parents[0], merge), "merge", notes)
    if len(parents) == 1 and 1 < pull.commits <= _MOST_REBASED:
        start = ancestry.back(merge, pull.commits)
        if start is not None:
            rebased = (*notes, "rebased")
            yield Candidate(CommitPair(start, merge), "merge", rebased, pull.commits)


State = tuple[Literal["base", "merge_base", "merge_parent"], str, tuple[str, ...]]
"""The start of a change: how it was found, the commit whose tree a model sees, and notes."""


def find_state(
    candidate: Candidate, base: str | None, touched: Sequence[Touched], objects: Objects
) -> State:
    """Return the base state of a change (FAUN-Eval, section 3.4.2).

    It is the pull request's base commit where that holds the changed files as the merge base
    does; where the base branch moved on in one of them, no patch of this pull request fits
    there, and it is the merge base.
    """
    if candidate.kind == "merge":
        return "merge_parent", candidate.pair.before, ()
    if base is None:
        return "merge_base", candidate.pair.before, ()
    if base == candidate.pair.before or all(_is_at(base, file, objects) for file in touched):
        return "base", base, ()
    return "merge_base", candidate.pair.before, ("base_moved_on",)


def count(touched: Sequence[Touched]) -> Counts:
    """Count files and lines as GitHub does: binary files have no lines."""
    return Counts(
        len(touched),
        sum(file.additions or 0 for file in touched),
        sum(file.deletions or 0 for file in touched),
    )


def about_paths(touched: Sequence[Touched]) -> tuple[str, ...]:
    """Return notes on paths that users of the tables need to know."""
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


UNREADABLE = "git cannot compare its commits: objects are missing or damaged, or it has no end"
NOWHERE = "the clone holds no commits with the change that GitHub announced"


UNCOUNTED = Counts(None, None, None)
Compared = tuple[tuple[Touched, ...], Counts]
"""The differences between two commits; nothing is counted where files are missing."""


@dataclass(frozen=True, slots=True)
class CommitReading:
    """A pull request and where it is read; no candidate where there is none, with the reason."""

    pull: Pull
    candidate: Candidate | None = None
    touched: tuple[Touched, ...] = ()
    counts: Counts = UNCOUNTED
    problem: str | None = None

    @property
    def agrees(self) -> bool | None:
        """True where the change has the announced size; None where that is unknown."""
        return self.counts.agree(self.pull.announced)


@dataclass(slots=True)
class Reader:
    """Reads the pull requests of one clone, and counts the files fetched for it."""

    clone: Path
    refs: Refs
    ancestry: Ancestry
    objects: Objects
    reporter: Reporter
    token: str | None
    host: str
    network: bool
    fetched: int = 0

    def read(self, pulls: Sequence[Pull]) -> list[CommitReading]:
        """Return where each pull request is read, in order.

        All first candidates are compared in one go, then the second ones of those whose first
        was not as large as announced, and so on.
        """
        settled: dict[int, CommitReading] = {}
        spare: dict[int, CommitReading] = {}
        broken: dict[int, CommitReading] = {}
        unsettled = [
            (pull, iter(find_candidates(pull, self.refs, self.ancestry))) for pull in pulls
        ]
        while unsettled:
            trials = [
                (pull, candidates, candidate)
                for pull, candidates in unsettled
                for candidate in islice(candidates, 1)
            ]
            results = self._compare([candidate.pair for _, _, candidate in trials])
            unsettled = []
            for (pull, candidates, candidate), compared in zip(trials, results, strict=True):
                reading = CommitReading(pull, candidate, *compared or ())
                if reading.agrees:
                    settled[pull.number] = reading
                    continue
                if compared is None:
                    broken[pull.number] = CommitReading(pull, problem=UNREADABLE)
                elif candidate.certain:
                    spare.setdefault(pull.number, reading)
                unsettled.append((pull, candidates))
        lost = {pull.number: CommitReading(pull, problem=NOWHERE) for pull in pulls}
        return list({**lost, **broken, **spare, **settled}.values())

    def _compare(self, pairs: Sequence[CommitPair]) -> Iterator[Compared | None]:
        """Compare commits that have an end, fetching first the files that a partial clone lacks."""
        commits = {commit for pair in pairs for commit in (pair.before, pair.after)}
        self.objects.read_roots(commits)
        endless = {commit for commit in commits if self.objects.is_endless(commit)}
        fit = [pair for pair in pairs if not endless & {pair.before, pair.after}]
        compareds = self._compare_fit(fit)
        for pair in pairs:
            yield None if endless & {pair.before, pair.after} else next(compareds)

    def _compare_fit(self, pairs: Sequence[CommitPair]) -> Iterator[Compared | None]:
        if self.network and promisor(self.clone) is not None:
            self._fetch_files(pairs)
        compared = list(compare(self.clone, pairs, Depth.FILES))
        unread = [pair for pair, files in zip(pairs, compared, strict=True) if files is None]
        shallow = iter(list(compare(self.clone, unread, Depth.FOLDERS)))
        for files in compared:
            if files is not None:
                yield files, count(files)
            else:
                folders = next(shallow)
                yield None if folders is None else (folders, UNCOUNTED)

    def _fetch_files(self, pairs: Sequence[CommitPair]) -> None:
        """Fetch all files that differ in one go; folders tell which these are."""
        blob_ids = {
            blob
            for touched in compare(self.clone, pairs, Depth.FOLDERS)
            for file in touched or ()
            for blob in file.blobs
            if blob is not None
        }
        came = prefetch(self.clone, blob_ids, self.reporter, token=self.token, host=self.host)
        self.fetched += came

"""Finds, for many pull requests at once, the pair of commits that holds what each changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from goldpan.core.progress import Reporter
from goldpan.git.ancestry import Ancestry
from goldpan.git.clone import prefetch, promisor
from goldpan.git.comparison import CommitPair, Depth, Touched, compare
from goldpan.git.objects import Objects
from goldpan.git.trees import SUBMODULE
from goldpan.miners.history.candidates import Candidate, Refs, count, find_candidates
from goldpan.miners.history.pulls import Counts, Pull

UNREADABLE = "git cannot compare its commits: objects are missing or damaged, or it has no end"
NOWHERE = "the clone holds no commits with the change that GitHub announced"


@dataclass(frozen=True, slots=True)
class Compared:
    """What differs between two commits; nothing is counted where files are missing."""

    touched: tuple[Touched, ...]
    counts: Counts


@dataclass(frozen=True, slots=True)
class CommitReading:
    """A pull request and where it is read; no candidate where there is none, with the reason."""

    pull: Pull
    candidate: Candidate | None
    compared: Compared | None
    problem: str | None

    @property
    def agrees(self) -> bool | None:
        """Whether the change is as large as announced; null where nobody said."""
        return self.compared.counts.agree(self.pull.announced) if self.compared else None


@dataclass(slots=True)
class Reader:
    """Reads the pull requests of one clone, and counts what that took."""

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
        waiting = [(pull, iter(find_candidates(pull, self.refs, self.ancestry))) for pull in pulls]
        while waiting:
            tried = [(pull, rest, choice) for pull, rest in waiting for choice in _first(rest)]
            results = self._compare([choice.pair for _, _, choice in tried])
            waiting = []
            for (pull, rest, candidate), compared in zip(tried, results, strict=True):
                reading = CommitReading(pull, candidate, compared, None)
                if reading.agrees:
                    settled[pull.number] = reading
                    continue
                if compared is None:
                    broken[pull.number] = CommitReading(pull, None, None, UNREADABLE)
                elif candidate.certain:
                    spare.setdefault(pull.number, reading)
                waiting.append((pull, rest))
        lost = {pull.number: CommitReading(pull, None, None, NOWHERE) for pull in pulls}
        return list({**lost, **broken, **spare, **settled}.values())

    def _compare(self, pairs: Sequence[CommitPair]) -> Iterator[Compared | None]:
        """Compare commits that have an end, and fetch first what a partial clone lacks for that."""
        commits = {commit for pair in pairs for commit in (pair.before, pair.after)}
        self.objects.read_roots(commits)
        endless = {commit for commit in commits if self.objects.is_endless(commit)}
        fit = [pair for pair in pairs if not endless & {pair.before, pair.after}]
        compareds = self._compare_fit(fit)
        for pair in pairs:
            yield None if endless & {pair.before, pair.after} else next(compareds)

    def _compare_fit(self, pairs: Sequence[CommitPair]) -> Iterator[Compared | None]:
        if self.network and promisor(self.clone) is not None:
            self._bring_files(pairs)
        compared = list(compare(self.clone, pairs, Depth.FILES))
        unread = [pair for pair, files in zip(pairs, compared, strict=True) if files is None]
        shallow = iter(list(compare(self.clone, unread, Depth.FOLDERS)))
        for files in compared:
            if files is not None:
                yield Compared(files, count(files))
            else:
                folders = next(shallow)
                nothing = Counts(None, None, None)
                yield None if folders is None else Compared(folders, nothing)

    def _bring_files(self, pairs: Sequence[CommitPair]) -> None:
        """Fetch all files that differ in one go; folders tell which these are."""
        blob_ids = {
            blob
            for touched in compare(self.clone, pairs, Depth.FOLDERS)
            for file in touched or ()
            for mode, blob in (
                (file.mode_before, file.blob_before),
                (file.mode_after, file.blob_after),
            )
            if blob is not None and mode != SUBMODULE
        }
        prefetched = prefetch(self.clone, blob_ids, self.reporter, token=self.token, host=self.host)
        self.fetched += prefetched.fetched


def _first(rest: Iterator[Candidate]) -> Iterator[Candidate]:
    candidate = next(rest, None)
    if candidate is not None:
        yield candidate

"""Decides the state that each pull request starts from; rows of `revisions`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from goldpan.core.archive import Record
from goldpan.git.ancestry import Ancestry
from goldpan.git.comparison import Touched
from goldpan.git.objects import Objects
from goldpan.miners.history.apply_diff import UnfitError, rebuild
from goldpan.miners.history.commit_pairs import Reading
from goldpan.miners.history.pulls import Pull
from goldpan.miners.history.states import StateName, about_paths, count, find_state


@dataclass(frozen=True, slots=True)
class Revision:
    """A row of `revisions`, without the repository."""

    number: int
    state: StateName
    before_sha: str | None
    after_sha: str | None
    merge_base: str | None
    commits_ahead: int | None
    agrees: bool | None
    notes: tuple[str, ...]
    problem: str | None


@dataclass(frozen=True, slots=True)
class Settler:
    """Decides for the pull requests of one clone; `diffs` are GitHub's, for those it lacks."""

    clone: Path
    ancestry: Ancestry
    objects: Objects
    diffs: Mapping[int, Record]

    def settle(self, reading: Reading) -> tuple[Revision, Sequence[Touched]]:
        """Return a pull request's row and the files that it changes."""
        candidate, compared = reading.candidate, reading.compared
        if candidate is None or compared is None:
            return self._settle_lost(reading)
        touched = compared.touched
        base = self.ancestry.find(reading.pull.base_sha)
        state = find_state(candidate, base, touched, self.objects)
        notes = {*candidate.notes, *state.notes, *about_paths(touched)}
        if compared.counts.files is None:
            notes.add("files_missing")
        revision = Revision(
            number=reading.pull.number,
            state=state.name,
            before_sha=state.before,
            after_sha=candidate.after,
            merge_base=candidate.before,
            commits_ahead=candidate.ahead,
            agrees=reading.agrees,
            notes=tuple(sorted(notes)),
            problem=None,
        )
        return revision, touched

    def _settle_lost(self, reading: Reading) -> tuple[Revision, Sequence[Touched]]:
        pull = reading.pull
        named = (("base_sha_missing", pull.base_sha), ("head_missing", pull.head_sha))
        notes = [note for note, sha in named if self.ancestry.find(sha) is None]
        nothing = Revision(
            number=pull.number,
            state="none",
            before_sha=None,
            after_sha=None,
            merge_base=None,
            commits_ahead=None,
            agrees=None,
            notes=tuple(notes),
            problem=reading.problem,
        )
        record = self.diffs.get(pull.number)
        if record is None:
            return nothing, ()
        try:
            rebuilt = rebuild(self.clone, record, self._bases(pull), self.objects)
        except UnfitError as error:
            return replace(nothing, problem=str(error)), ()
        revision = replace(
            nothing,
            state="diff",
            before_sha=rebuilt.before,
            agrees=count(rebuilt.touched).agree(pull.announced),
            notes=tuple(sorted({*notes, *about_paths(rebuilt.touched)})),
            problem=None,
        )
        return revision, rebuilt.touched

    def _bases(self, pull: Pull) -> list[str]:
        """Return the commits that a diff could belong to."""
        base, merge = self.ancestry.find(pull.base_sha), self.ancestry.find(pull.merge_sha)
        parents = self.ancestry.parents(merge)[:1] if merge else ()
        return [commit for commit in (base, *parents) if commit is not None]

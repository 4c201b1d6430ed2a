"""Decides the state that each pull request starts from; rows of `revisions`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goldpan.code.patch import FilePatch, split_patch
from goldpan.core.errors import GitError
from goldpan.core.storage.archive import Record
from goldpan.git.ancestry import Ancestry
from goldpan.git.apply import apply_to_commit
from goldpan.git.objects import Objects
from goldpan.git.trees import Touched, compare_trees
from goldpan.miners.history.commit_pairs import CommitReading, Pull, about_paths, count, find_state

_NOTHING = "0" * 40
_INDEX = re.compile(r"^index ([0-9a-f]{4,40})\.\.([0-9a-f]{4,40})", re.M)
_MODES = re.compile(r"^(new file|deleted file|new) mode (\d{6})$", re.M)


class UnfitError(ValueError):
    """A diff that does not belong to a state of the code."""


def rebuild(
    clone: Path, record: Record, bases: Sequence[str], objects: Objects
) -> tuple[str, tuple[Touched, ...]]:
    """Apply an archived diff to the first of these commits that it fits exactly.

    Returns that commit and the changes to its tree.
    Files after the change are written into the clone, where they are read like all others.
    Raises `UnfitError` where there is no such commit, with the reason.
    """
    if record.meta["status"] != 200:
        raise UnfitError(f"GitHub gives no diff (HTTP {record.meta['status']})")
    try:
        parts = split_patch(record.read().decode("utf-8", "surrogateescape"))
    except ValueError as error:
        raise UnfitError(f"GitHub's diff cannot be read: {error}") from None
    problem = "no commit that GitHub's diff could belong to is in the clone"
    for base in bases:
        try:
            return base, _rebuild(clone, base, parts, objects)
        except GitError as error:
            problem = f"GitHub's diff does not fit: {error.problem}"
        except UnfitError as error:
            problem = f"GitHub's diff does not fit: {error}"
    raise UnfitError(problem)


def _rebuild(
    clone: Path, base: str, parts: Sequence[FilePatch], objects: Objects
) -> tuple[Touched, ...]:
    """Return the files that a diff changes; of a binary one it does not hold the content."""
    text = "".join(part.text for part in parts if not part.is_binary)
    tree = apply_to_commit(clone, base, text.encode("utf-8", "surrogateescape"))
    touched = [*compare_trees(clone, base, tree)]
    touched += (_binary(part, base, objects) for part in parts if part.is_binary)
    files = {file.path: file for file in touched}
    for part in parts:
        ids = _INDEX.search(part.text.partition("\n@@ ")[0])
        file = files.get(part.path.encode("utf-8", "surrogateescape"))
        if ids and file and not (file.blob_before or _NOTHING).startswith(ids[1]):
            raise UnfitError("it changes another version of a file")
        if ids and file and file.blob_after and not file.blob_after.startswith(ids[2]):
            raise UnfitError("it gives another file than it says")
    return tuple(touched)


def _binary(part: FilePatch, base: str, objects: Objects) -> Touched:
    path = part.path.encode("utf-8", "surrogateescape")
    previous = part.moved_from.encode("utf-8", "surrogateescape") or None
    modes = dict(_MODES.findall(part.text))
    tree_entry = None if "new file" in modes else objects.find(base, previous or path)
    if tree_entry is None and "new file" not in modes:
        raise UnfitError("it changes a file that is not there")
    mode_before = tree_entry.mode if tree_entry else None
    mode_after = modes.get("new file") or modes.get("new") or mode_before
    letter = {"new file": "A", "deleted file": "D"}.get(next(iter(modes), ""), "M")
    return Touched(
        path=path,
        previous=previous,
        letter="R" if previous else letter,
        mode_before=mode_before,
        mode_after=None if letter == "D" else mode_after,
        blob_before=tree_entry.id if tree_entry else None,
        blob_after=None,
    )


@dataclass(frozen=True, slots=True)
class Settler:
    """Decides for the pull requests of one clone; `diffs` are GitHub's, for those it lacks."""

    clone: Path
    ancestry: Ancestry
    objects: Objects
    diffs: Mapping[int, Record]

    def settle(self, reading: CommitReading) -> tuple[dict[str, Any], Sequence[Touched]]:
        """Return a pull request's row of `revisions` and the files that it changes."""
        candidate, touched = reading.candidate, reading.touched
        if candidate is None:
            return self._settle_lost(reading)
        base = self.ancestry.find(reading.pull.base_sha)
        state = find_state(candidate, base, touched, self.objects)
        notes = {*candidate.notes, *state.notes, *about_paths(touched)}
        if reading.counts.files is None:
            notes.add("files_missing")
        revision = {
            "number": reading.pull.number,
            "state": state.name,
            "before_sha": state.before,
            "after_sha": candidate.after,
            "merge_base": candidate.before,
            "commits_ahead": candidate.ahead,
            "agrees": reading.agrees,
            "notes": sorted(notes),
        }
        return revision, touched

    def _settle_lost(self, reading: CommitReading) -> tuple[dict[str, Any], Sequence[Touched]]:
        pull = reading.pull
        commits = (("base_sha_missing", pull.base_sha), ("head_missing", pull.head_sha))
        notes = [note for note, sha in commits if self.ancestry.find(sha) is None]
        nothing = {"number": pull.number, "state": "none", "notes": notes}
        record = self.diffs.get(pull.number)
        if record is None:
            return {**nothing, "problem": reading.problem}, ()
        try:
            before, touched = rebuild(self.clone, record, self._bases(pull), self.objects)
        except UnfitError as error:
            return {**nothing, "problem": str(error)}, ()
        revision = {
            **nothing,
            "state": "diff",
            "before_sha": before,
            "agrees": count(touched).agree(pull.announced),
            "notes": sorted({*notes, *about_paths(touched)}),
        }
        return revision, touched

    def _bases(self, pull: Pull) -> list[str]:
        """Return the commits that a diff could belong to."""
        base, merge = self.ancestry.find(pull.base_sha), self.ancestry.find(pull.merge_sha)
        parents = self.ancestry.parents(merge)[:1] if merge else ()
        return [commit for commit in (base, *parents) if commit is not None]

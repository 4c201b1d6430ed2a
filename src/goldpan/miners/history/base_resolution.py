"""Decides the state that each pull request starts from; rows of `revisions`."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goldpan.code.patch import FileDiff, apply, parse_diff
from goldpan.core.errors import GitError
from goldpan.core.storage.archive import Record
from goldpan.git.ancestry import Ancestry
from goldpan.git.objects import Objects
from goldpan.git.process import git
from goldpan.git.trees import SUBMODULE, Touched
from goldpan.miners.history.commit_pairs import CommitReading, Pull, about_paths, count, find_state

_FILE = "100644"
_SUBPROJECT = b"Subproject commit "


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
        files = parse_diff(record.read())
    except ValueError as error:
        raise UnfitError(f"GitHub's diff cannot be read: {error}") from None
    problem = "no commit that GitHub's diff could belong to is in the clone"
    for base in bases:
        try:
            rebuilt = [_rebuild(file, base, objects) for file in files]
        except ValueError as error:
            problem = f"GitHub's diff does not fit: {error}"
            continue
        _write(clone, [data for _, data in rebuilt if data is not None])
        return base, tuple(touched for touched, _ in rebuilt)
    raise UnfitError(problem)


def _rebuild(file: FileDiff, base: str, objects: Objects) -> tuple[Touched, bytes | None]:
    """Return a changed file, and its bytes where git may not have them."""
    tree_entry = None if file.letter == "A" else objects.find(base, file.before)
    if file.letter != "A" and tree_entry is None:
        raise UnfitError("it changes a file that is not there")
    mode_before = file.mode_before or (tree_entry.mode if tree_entry else None)
    mode_after = None if file.letter == "D" else file.mode_after or mode_before or _FILE
    if tree_entry is not None and not tree_entry.id.startswith(file.id_before):
        raise UnfitError("it changes another version of a file")
    data = None
    if SUBMODULE in (mode_before, mode_after):
        after = _submodule(file)
    elif file.letter == "D":
        after = None
    elif file.is_binary:
        after = None  # the diff does not hold it
    elif not file.hunks and tree_entry is not None:
        after = tree_entry.id
    else:
        before = objects.blob(tree_entry.id) if tree_entry else b""
        if before is None:
            raise UnfitError("a file is missing or too large")
        data = apply(before, file.hunks)
        after = blob_id(data)
        if not after.startswith(file.id_after):
            raise UnfitError("it gives another file than it says")
    touched = Touched(
        path=file.before if file.letter == "D" else file.after,
        previous=file.before if file.letter in "RC" else None,
        letter=file.letter,
        mode_before=None if file.letter == "A" else mode_before,
        mode_after=mode_after,
        blob_before=tree_entry.id if tree_entry else None,
        blob_after=after,
        additions=None if file.is_binary else file.count(b"+"),
        deletions=None if file.is_binary else file.count(b"-"),
    )
    return touched, data


def _submodule(file: FileDiff) -> str | None:
    for hunk in file.hunks:
        for line in hunk.lines:
            if line.startswith(b"+" + _SUBPROJECT):
                return line[len(_SUBPROJECT) + 1 :][:40].decode("ascii", "replace")
    return None


def blob_id(data: bytes) -> str:
    """Return the id that git gives to a file."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def _write(clone: Path, files: Sequence[bytes]) -> None:
    """Write files into a clone's object store, all by one git."""
    if not files:
        return
    with tempfile.TemporaryDirectory() as directory:
        paths = []
        for index, data in enumerate(files):
            path = Path(directory) / str(index)
            path.write_bytes(data)
            paths.append(f"{path}\n")
        options, names = ("-w", "--no-filters", "--stdin-paths"), "".join(paths).encode()
        ids = git("hash-object", *options, clone=clone, subject=str(clone), stdin=names)
    if ids.decode().split() != [blob_id(data) for data in files]:
        raise GitError(f"{clone} does not keep files as they are", "Clone the repository again")


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

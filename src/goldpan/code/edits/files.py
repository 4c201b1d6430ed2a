"""Applies a patch to files on disk: to all of them or to none (`goldpan apply-edit`)."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Set
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal
from uuid import uuid4

from goldpan.code.edits.apply import EditError, FileEdits, FileError, Forgiveness, apply_forgiving
from goldpan.code.edits.diffs import change_files, encode, is_unified
from goldpan.code.edits.parse import parse_edits
from goldpan.core.errors import UsageError, refuse_empty
from goldpan.core.result import Result
from goldpan.git.apply import EXECUTABLE, FILE, FileState
from goldpan.git.objects import encodings
from goldpan.git.trees import SYMLINK, path_text

Action = Literal["created", "modified", "removed"]


@dataclass(frozen=True, slots=True)
class AppliedFile:
    """A file that a patch creates, modifies or removes."""

    path: str
    action: Action
    blocks: int
    """Number of blocks, or of hunks of a unified diff."""
    forgiven: tuple[str, ...] = ()
    """Differences of a block from the lines that it stands for, as ``block 2: line ends``."""


@dataclass(frozen=True, slots=True)
class Applied(Result):
    """The result of applying a patch to files, or of a dry run where nothing was written."""

    files: tuple[AppliedFile, ...]
    written: bool


@dataclass(frozen=True, slots=True)
class _Step:
    """One file before and after; None where there is no file."""

    applied: AppliedFile
    target: Path
    before: FileState | None
    after: FileState | None


def apply_patch(patch: Path, root: Path, *, write: bool, lenient: bool = False) -> Applied:
    """Apply the patch in a file; see `apply_patch_files`."""
    refuse_empty(patch, "Give text with SEARCH/REPLACE blocks, or a unified diff")
    try:
        data = patch.read_bytes()
    except FileNotFoundError:
        raise UsageError(
            f"There is no file {patch}", "Name a file with SEARCH/REPLACE blocks or a diff"
        ) from None
    except OSError as error:
        raise FileError(
            f"{patch} cannot be read: {error.strerror}", "Name a file with SEARCH/REPLACE blocks"
        ) from None
    encoding = next(iter(encodings(data)), "latin-1")
    if encoding != "latin-1":
        text = data.decode(encoding).removeprefix("\ufeff")
    elif not is_unified(text := data.decode("utf-8", "surrogateescape")):
        raise FileError(f"{patch} is not UTF-8 text", "Save the patch as UTF-8")
    return apply_patch_files(text, root, write=write, lenient=lenient)


def apply_patch_files(
    patch_text: str, root: Path, *, write: bool, lenient: bool = False
) -> Applied:
    """Apply a patch to the files below `root`: to all of them, or with an error to none.

    The patch has SEARCH/REPLACE blocks, or is a unified diff, which git applies. Where its line
    ends are others than the file's, those of the file stay; with `lenient` white space at the ends
    of lines may differ as well. The result names both.

    Files keep their encoding, and their mode unless a diff sets it; each is replaced by one rename.
    Without `write` all is tried and nothing changed. Raises `EditError`: a path that leaves the
    root, even through a link, or leads into `.git` is refused, as is a link that would.
    """
    steps: dict[Path, _Step] = {}
    for step in _steps(patch_text, root, Forgiveness(line_ends=True, spaces=lenient)):
        if step.target in steps:
            raise FileError(
                f"{step.applied.path!r} and {steps[step.target].applied.path!r} are the same file",
                "Name each file in one way",
            )
        steps[step.target] = step
    if write:
        _write(list(steps.values()), _real(root))
    return Applied(tuple(step.applied for step in steps.values()), write)


def _steps(patch_text: str, root: Path, forgive: Forgiveness) -> Iterator[_Step]:
    files = parse_edits(patch_text)
    if files:
        yield from (_plan(edits, root, forgive) for edits in files)
    elif is_unified(patch_text):
        yield from _plan_diff(patch_text, root, forgive)
    else:
        raise FileError(
            "The patch has no block",
            "Give text with SEARCH/REPLACE blocks, or a unified diff; *** Begin Patch is not read",
        )


def _plan(edits: FileEdits, root: Path, forgive: Forgiveness) -> _Step:
    if edits.path is None:
        raise FileError(
            "The first block of the patch names no file", "Put its path on the line above it"
        )
    target = _resolve(edits.path, root)
    before = _read(edits.path, target)
    if before is None and (edits.removes or any(edit.search for edit in edits.edits)):
        raise FileError(
            f"{edits.path!r} does not exist", "Correct the path or --root, or leave SEARCH empty"
        )
    after, forgiven = _apply(edits, before.data if before else b"", forgive)
    state = None if after is None else FileState(after, before.mode if before else FILE)
    applied = AppliedFile(edits.path, _action(before, state), len(edits.edits), forgiven)
    return _Step(applied, target, before, state)


def _plan_diff(patch: str, root: Path, forgive: Forgiveness) -> Iterator[_Step]:
    """Yield what a unified diff does to each of its files; links are files, not ways to others."""

    def place(path: bytes) -> Path:
        folder, _, name = os.fsdecode(path).rpartition("/")
        parent = _resolve(folder, root) if folder else _real(root)
        if parent != _real(root) / folder:
            raise FileError(f"{path_text(path)!r} is behind a link", "Give paths without links")
        return parent / name

    changed = change_files(patch, lambda path: _entry(path_text(path), place(path)), forgive)
    places = {path: place(path) for path in changed.diff.paths}
    gone = {target for path, target in places.items() if path not in changed.after}
    for path, target in places.items():
        before, after = changed.before.get(path), changed.after.get(path)
        if after and after.mode == SYMLINK and after != before:
            _resolve(str(Path(os.fsdecode(path)).parent / os.fsdecode(after.data)), root, path)
        if after and any(folder.is_file() for folder in {*target.parents} - gone):
            raise FileError(f"{path_text(path)!r} is below a file", "Correct the path or --root")
        note = changed.forgiven.get(path)
        applied = AppliedFile(
            path_text(path),
            _action(before, after),
            changed.diff.hunks[path],
            () if note is None else (note,),
        )
        yield _Step(applied, target, before, after)


def _action(before: FileState | None, after: FileState | None) -> Action:
    return "removed" if after is None else "created" if before is None else "modified"


def _apply(
    edits: FileEdits, before: bytes, forgive: Forgiveness
) -> tuple[bytes | None, tuple[str, ...]]:
    """Return the content after, read in the first encoding in which the change applies.

    A version may have to be read like the other one of its change, in an encoding of both.
    """
    problems: list[EditError] = []
    for encoding in encodings(before):
        try:
            text, forgiven = apply_forgiving(before.decode(encoding), edits.edits, forgive)
            if edits.removes and text:
                raise FileError("There is more in it than the patch removes", "Give all of it")
            return None if edits.removes else encode(text, encoding), tuple(forgiven)
        except EditError as error:
            problems.append(error)
    first = problems[0] if problems else FileError("It is binary", "Edits are for text files")
    raise type(first)(f"{edits.path!r}: {first.problem}", first.remedy)


def _real(root: Path) -> Path:
    try:
        return root.resolve(strict=True)
    except OSError:
        raise FileError(f"{root} does not exist", "Name a folder with --root") from None


def _resolve(path: str, root: Path, link: bytes = b"") -> Path:
    """Return where the file really lies, which must be below the root and outside `.git`.

    The path may be where a link leads, which then is named.
    """
    base = _real(root)
    try:
        target = (base / path).resolve()
        parts = target.relative_to(base).parts
        parts = parts if link else (*PurePosixPath(path).parts, *parts)
        is_link = target.is_symlink()  # one that leads to itself resolves so since Python 3.13
    except (OSError, RuntimeError, ValueError):
        parts = ()  # also of a name that is too long
    forbidden = {"/", "..", ".git"}
    if (
        not parts
        or target == base
        or is_link
        or not forbidden.isdisjoint(part.lower() for part in parts)
    ):
        raise FileError(
            f"{path_text(link) if link else path!r} leads out of {root}, to nothing or into .git",
            "Give paths of files below the root",
        )
    return target


def _entry(path: str, target: Path) -> FileState | None:
    """Return what stands at a name itself; a folder, or what is below a file, may give way."""
    with suppress(OSError):  # of a name that is too long, which `_read` tells
        is_folder = target.is_dir() and not target.is_symlink()
        if is_folder or any(folder.is_file() for folder in target.parents):
            return None
    return _read(path, target, follow=False)


def _read(path: str, target: Path, *, follow: bool = True) -> FileState | None:
    """Return a file, or a link that is not followed; None where there is none yet."""
    try:
        mode = target.stat(follow_symlinks=follow).st_mode
        if stat.S_ISLNK(mode):
            return FileState(os.fsencode(target.readlink()), SYMLINK)
        if not stat.S_ISREG(mode):
            raise FileError(f"{path!r} is not an ordinary file", "Give paths of files")
        return FileState(target.read_bytes(), EXECUTABLE if mode & stat.S_IXUSR else FILE)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FileError(
            f"{path!r} cannot be read: {error.strerror}", "Correct the path or its permissions"
        ) from None


def _write(steps: list[_Step], base: Path) -> None:
    """Write all files near their places, then rename; undo everything where one step fails."""
    targets = {step.target for step in steps}
    try:
        with ExitStack() as leftovers, ExitStack() as undo:
            staged = [
                (
                    step.target,
                    _stage(step, step.before, targets, leftovers),
                    _stage(step, step.after, targets, leftovers),
                )
                for step in steps
            ]
            # A folder may take the place of a file that goes, and the other way round.
            for target, old, new in sorted(staged, key=lambda one: one[2] is not None):
                undo.callback(_restore, old, target)
                _move(new, target)
            undo.pop_all()
    except OSError as error:
        raise FileError(
            f"{error.filename} cannot be written: {error.strerror}; no file was changed",
            "Make it writable and apply the patch again",
        ) from None
    finally:
        folders = {folder for target in targets for folder in target.parents} - {base}
        for folder in sorted(folders, reverse=True):
            if folder.is_relative_to(base):
                with suppress(OSError):  # it is not empty
                    folder.rmdir()


def _restore(old: Path | None, target: Path) -> None:
    with suppress(OSError):  # what was not even moved
        _move(old, target)


def _move(source: Path | None, target: Path) -> None:
    """Put a file in the place of another or of empty folders; without any, remove that."""
    if source is None:
        target.unlink()
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.is_symlink():
        for folder, _, _ in os.walk(target, topdown=False):
            Path(folder).rmdir()
    source.replace(target)


def _stage(
    step: _Step, state: FileState | None, targets: Set[Path], leftovers: ExitStack
) -> Path | None:
    """Write a version near its place, with the mode that the file has, or gets if it is new."""
    if state is None:
        return None
    parents = step.target.parents
    folder = next(it for it in parents if it.is_dir() and targets.isdisjoint((it, *it.parents)))
    path = folder / f".goldpan-{uuid4().hex}"
    leftovers.callback(path.unlink, missing_ok=True)
    if state.mode == SYMLINK:
        path.symlink_to(os.fsdecode(state.data))
        return path
    with path.open("xb") as file:
        file.write(state.data)
        file.flush()
        os.fsync(file.fileno())
    if step.before is not None and step.before.mode != SYMLINK:
        path.chmod(stat.S_IMODE(step.target.stat().st_mode))
    if state.mode != (step.before.mode if step.before else FILE):
        mode = stat.S_IMODE(path.stat().st_mode)
        readers = (mode & 0o444) >> 2  # whoever may read it may run it
        path.chmod(mode | readers if state.mode == EXECUTABLE else mode & ~0o111)
    return path

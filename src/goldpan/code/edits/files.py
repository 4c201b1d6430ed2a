"""Applies a patch to files on disk: to all of them or to none (`goldpan apply-edit`)."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal
from uuid import uuid4

from goldpan.code.edits.apply import EditError, FileEdits, FileError, Forgiveness, apply_forgiving
from goldpan.code.edits.parse import (
    apply_hunks,
    is_unified,
    parse_edits,
    parse_unified,
    refuse_binary,
)
from goldpan.code.patch import FileDiff
from goldpan.core.errors import UsageError
from goldpan.core.result import Block, Line, Result
from goldpan.git.objects import Encoding, encodings
from goldpan.git.trees import path_text


def _encode(text: str, encoding: Encoding) -> bytes:
    """Return the bytes of a text; raises `FileError` where the encoding lacks a character."""
    try:
        return text.encode(encoding)
    except UnicodeEncodeError as error:
        raise FileError(
            f"The file is {encoding}, which lacks {error.object[error.start]!r}",
            "Leave it out of the patch, or save the file as UTF-8 first",
        ) from None


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

    def blocks(self) -> Iterator[Block]:
        """Yield which files were changed, and what was ignored for that."""
        for file in self.files:
            yield Line(f"{file.action} {file.path} ({_count(file.blocks, 'block')})")
            for forgiven in file.forgiven:
                yield Line(f"  ignored: {forgiven}")
        verb = "changed" if self.written else "would change"
        yield Line(f"{_count(len(self.files), 'file')} {verb}")


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun if count == 1 else f'{noun}s'}"


@dataclass(frozen=True, slots=True)
class _Step:
    """One file's content before and after; None where there is no file."""

    applied: AppliedFile
    target: Path
    before: bytes | None
    after: bytes | None
    source: Path | None = None
    """The file whose mode it takes, where it moves from there."""
    executable: bool | None = None
    """The new mode; None where it stays."""


def apply_patch(patch: Path, root: Path, *, write: bool, lenient: bool = False) -> Applied:
    """Apply the patch in a file; see `apply_patch_files`."""
    try:
        text = patch.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise UsageError(
            f"There is no file {patch}", "Name a file with SEARCH/REPLACE blocks or a diff"
        ) from None
    except OSError as error:
        raise FileError(
            f"{patch} cannot be read: {error.strerror}", "Name a file with SEARCH/REPLACE blocks"
        ) from None
    except UnicodeDecodeError:
        raise FileError(f"{patch} is not UTF-8 text", "Save the patch as UTF-8") from None
    return apply_patch_files(text, root, write=write, lenient=lenient)


def apply_patch_files(
    patch_text: str, root: Path, *, write: bool, lenient: bool = False
) -> Applied:
    """Apply a patch to the files below `root`: to all of them, or with an error to none.

    The patch has SEARCH/REPLACE blocks or is a unified diff. Where its line ends are others than
    the file's, those of the file stay; with `lenient` white space at the ends of lines may differ
    as well. The result names both.

    Files keep their encoding, and their mode unless a diff sets it; each is replaced by one rename.
    Without `write` all is tried and nothing changed. Raises `EditError`: a path that leaves the
    root, even through a link, or leads into `.git` is refused, as is a file that is not there, not
    text or becomes a link.
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
        _write(list(steps.values()))
    return Applied(tuple(step.applied for step in steps.values()), write)


def _steps(patch_text: str, root: Path, forgive: Forgiveness) -> Iterator[_Step]:
    files = parse_edits(patch_text)
    if files:
        yield from (_plan(edits, root, forgive) for edits in files)
    elif is_unified(patch_text):
        for file in parse_unified(patch_text):
            yield from _plan_diff(file, root, forgive)
    else:
        raise FileError(
            "The patch has no block", "Give text with SEARCH/REPLACE blocks, or a unified diff"
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
    after, forgiven = _apply(
        edits.path,
        before or b"",
        lambda text: apply_forgiving(text, edits.edits, forgive),
        removes=edits.removes,
    )
    action: Action = "removed" if after is None else "created" if before is None else "modified"
    applied = AppliedFile(edits.path, action, len(edits.edits), forgiven)
    return _Step(applied, target, before, after)


def _plan_diff(file: FileDiff, root: Path, forgive: Forgiveness) -> Iterator[_Step]:
    """Yield what a unified diff does to a file; to both names of one that moves."""
    path, old = path_text(file.after), path_text(file.before)
    refuse_binary(file)
    executable = _executable(file, path)
    target = _resolve(path, root)
    source = _resolve(old, root)
    before = _read(old, source)
    if (before is None) != (file.letter == "A"):
        problem = "already exists" if before is not None else "does not exist"
        raise FileError(f"{old!r} {problem}", "Correct the path or --root")
    after, forgiven = _apply(
        path,
        before or b"",
        lambda text: apply_hunks(text, file.hunks, forgive),
        removes=file.letter == "D",
    )
    if file.letter in "RC" and target != source:
        applied = AppliedFile(path, "created", len(file.hunks), forgiven)
        yield _Step(applied, target, _read(path, target), after, source, executable)
        if file.letter == "R":
            yield _Step(AppliedFile(old, "removed", 0), source, before, None)
        return
    action: Action = "removed" if after is None else "created" if before is None else "modified"
    applied = AppliedFile(path, action, len(file.hunks), forgiven)
    yield _Step(applied, target, before, after, executable=executable)


def _executable(file: FileDiff, path: str) -> bool | None:
    """Return the mode that a diff gives a file, None for none; raises `FileError` for a link."""
    if file.mode_after is None:
        return None
    if file.mode_after.startswith("100"):  # 100755, 100644, or 100664 of long ago
        return file.mode_after[3:4] == "7"
    raise FileError(
        f"{path!r} becomes a link or a submodule (mode {file.mode_after})",
        "Leave it out of the patch",
    )


def _apply(
    path: str, before: bytes, change: Callable[[str], tuple[str, list[str]]], *, removes: bool
) -> tuple[bytes | None, tuple[str, ...]]:
    """Return the content after, read in the first encoding in which the change applies.

    A version may have to be read like the other one of its change, in an encoding of both.
    """
    problems: list[EditError] = []
    for encoding in encodings(before):
        try:
            text, forgiven = change(before.decode(encoding))
            if removes and text:
                raise FileError("There is more in it than the patch removes", "Give all of it")
            return None if removes else _encode(text, encoding), tuple(forgiven)
        except EditError as error:
            problems.append(error)
    first = problems[0] if problems else FileError("It is binary", "Edits are for text files")
    raise type(first)(f"{path!r}: {first.problem}", first.remedy)


def _resolve(path: str, root: Path) -> Path:
    """Return where the file really lies, which must be below the root and outside `.git`."""
    try:
        base = root.resolve(strict=True)
        target = (base / path).resolve()
        parts = (*PurePosixPath(path).parts, *target.relative_to(base).parts)
        is_link = target.is_symlink()  # one that leads to itself resolves so since Python 3.13
    except FileNotFoundError:
        raise FileError(f"{root} does not exist", "Name a folder with --root") from None
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
            f"{path!r} leads out of {root}, to nothing or into .git",
            "Give paths of files below the root",
        )
    return target


def _read(path: str, target: Path) -> bytes | None:
    """Return the content of a file, or None where there is none yet."""
    try:
        if not stat.S_ISREG(target.stat().st_mode):
            raise FileError(f"{path!r} is not an ordinary file", "Give paths of files")
        return target.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FileError(
            f"{path!r} cannot be read: {error.strerror}", "Correct the path or its permissions"
        ) from None


def _write(steps: list[_Step]) -> None:
    """Write all files beside their places, then rename; undo everything where one step fails."""
    try:
        with ExitStack() as leftovers, ExitStack() as undo:
            staged = [
                (
                    step.target,
                    _stage(step, step.before, leftovers),
                    _stage(step, step.after, leftovers, is_new=True),
                )
                for step in steps
            ]
            for target, old, new in staged:
                _move(new, target)
                undo.callback(_move, old, target)
            undo.pop_all()
    except OSError as error:
        raise FileError(
            f"{error.filename} cannot be written: {error.strerror}; no file was changed",
            "Make it writable and apply the patch again",
        ) from None


def _move(source: Path | None, target: Path) -> None:
    """Put a file in the place of another, or remove that where there is none to put."""
    if source:
        source.replace(target)
    else:
        target.unlink()


def _stage(
    step: _Step, content: bytes | None, leftovers: ExitStack, *, is_new: bool = False
) -> Path | None:
    """Write a version beside its place, with the mode that the file has, or gets if it is new."""
    if content is None:
        return None
    for folder in reversed(step.target.parents):
        if not folder.exists():
            folder.mkdir()
            leftovers.callback(_remove_empty, folder)
    path = step.target.with_name(f".goldpan-{uuid4().hex}")
    leftovers.callback(path.unlink, missing_ok=True)
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    if is_new and step.source:
        path.chmod(stat.S_IMODE(step.source.stat().st_mode))
    elif step.before is not None:
        path.chmod(stat.S_IMODE(step.target.stat().st_mode))
    if is_new and step.executable is not None:
        mode = stat.S_IMODE(path.stat().st_mode)
        readers = (mode & 0o444) >> 2  # whoever may read it may run it
        path.chmod(mode | readers if step.executable else mode & ~0o111)
    return path


def _remove_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()

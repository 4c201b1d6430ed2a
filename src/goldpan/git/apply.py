"""Applies unified diffs by `git apply`: what git takes is taken, what it refuses is refused.

Git works in a scratch folder, and has bounds on memory and time. It
ignores text around a diff, and so also lines of a change whose hunk says that it is complete:
these are refused.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import eq
from pathlib import Path

from goldpan.core.errors import GitError
from goldpan.core.sanitize import line
from goldpan.core.secrets import mask
from goldpan.git.process import check_version, environment
from goldpan.git.trees import SUBMODULE, SYMLINK, is_unsafe

MOST_BYTES = 64 << 20
"""A larger diff is refused."""
FILE, EXECUTABLE = "100644", "100755"
FIX_SPACES = "--whitespace=fix"
"""White space at the ends of lines, of the diff and the file, is taken off."""
NO_PREFIX = "-p0"
"""Names are without the `a/` and `b/` that git takes off."""
# A binary patch may say that little data becomes much, and hunks that fit nowhere take long.
_BOUNDED = 'ulimit -t 60 2> /dev/null; ulimit -v 4194304 2> /dev/null; exec git "$@"'
# With `FIX_SPACES`, only white space at the ends of lines is mended.
_SPACES = "core.whitespace=blank-at-eol,-space-before-tab,-blank-at-eof,cr-at-eol"
_APPLY = ("apply", "--whitespace=nowarn")
_COMPLAINT = re.compile(r"(?:error|fatal): (?:git apply: )?(.+)")
_UNFIT = re.compile(r"error: (.+): patch does not apply")
_LONGEST = 300
_HUNK = re.compile(rb"@@ -\d{1,9}(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@")
_MODE = re.compile(
    rb"^(?:(?:new|old|deleted)(?: file)? mode|index [0-9a-f]+\.\.[0-9a-f]+) (\d+)", re.M
)
_LIST_ITEM = re.compile(rb"[-+] \S|-+\s*$")
_AFTER_SIGNATURE = re.compile(rb"(?:cgit v?)?\d+\.\d|GitLab$|From |\s*$")
_ANEW = "Make the diff again from the file as it is"


class DiffError(GitError):
    """A diff is refused; `unfit` are the files, if any, whose lines are others than it says."""

    def __init__(self, problem: str, remedy: str = _ANEW, unfit: Iterable[str] = ()) -> None:
        super().__init__(problem, remedy)
        self.unfit = frozenset(unfit)


class MalformedDiffError(DiffError):
    """A text is no diff, is cut off, or has lines that git would ignore."""


@dataclass(frozen=True, slots=True)
class FileState:
    """A file as git has it; the data of a link is its target."""

    data: bytes
    mode: str = FILE


@dataclass(frozen=True, slots=True)
class Diff:
    """A diff that git can read."""

    text: bytes
    options: tuple[str, ...]
    """How git reads its names, where it is told: `NO_PREFIX`."""
    renames: Mapping[bytes, bytes]
    """The files by their names after the change, with those before."""
    hunks: Counter[bytes]
    """How many hunks each file has."""

    @property
    def paths(self) -> tuple[bytes, ...]:
        """All files before and after."""
        return tuple(dict.fromkeys((*self.renames.values(), *self.renames)))


def read_diff(text: bytes, *options: str) -> Diff:
    """Return what a diff changes, as git reads it; raises `DiffError`."""
    if len(text) > MOST_BYTES:
        raise DiffError(f"The diff is larger than {MOST_BYTES >> 20} MB", "Leave out files")
    counts = _count_hunks(text)
    new, old = (_names(text, *options, *reverse) for reverse in ((), ("--reverse",)))
    # Backwards, git also lists the files from the last to the first.
    old = max(old[::-1], old, key=lambda names: sum(map(eq, names, new)))
    if SUBMODULE.encode() in _MODE.findall(text):
        raise DiffError("The diff changes a submodule", "Leave it out")
    for path in (*old, *new):
        if is_unsafe(path):
            raise DiffError(
                f"{os.fsdecode(path)!r} leads out of the folder or into .git",
                "Give paths of files below it",
            )
    hunks: Counter[bytes] = Counter()
    for name, count in zip(new, counts, strict=False):
        hunks[name] += count
    return Diff(text, options, dict(zip(new, old, strict=True)), hunks)


def apply_diff(
    diff: Diff, files: Mapping[bytes, FileState], *options: str
) -> dict[bytes, FileState]:
    """Return the files of a diff after it, from those before, or raises `DiffError`."""
    with tempfile.TemporaryDirectory(prefix="goldpan-") as scratch:
        folder = Path(scratch)
        for path, state in files.items():
            place = folder / os.fsdecode(path)
            place.parent.mkdir(parents=True, exist_ok=True)
            if state.mode == SYMLINK:
                place.symlink_to(os.fsdecode(state.data))
            else:
                place.write_bytes(state.data)
                place.chmod(int(state.mode[3:], 8))
        apply_in(folder, diff.text, *diff.options, *options)
        found = {path: _state(folder / os.fsdecode(path)) for path in diff.paths}
    return {path: state for path, state in found.items() if state is not None}


def apply_in(folder: Path, diff: bytes, *options: str) -> None:
    """Apply a diff to a folder of scratch, as a whole or not at all; raises `DiffError`.

    A repository that lies in the folder, or around it, takes no part: the files are foreign, and
    a repository's settings name programs that git runs.
    """
    _git(*_APPLY, *options, stdin=diff, folder=folder)


def text_hunks(before: str, after: str) -> str:
    """Return what differs between two texts, as the hunks of a unified diff."""
    with tempfile.TemporaryDirectory(prefix="goldpan-") as scratch:
        folder = Path(scratch)
        for name, text in (("a", before), ("b", after)):
            (folder / name).write_bytes(text.encode())
        options = ("--no-index", "--text", "--no-color", "--no-ext-diff")
        diff = _git("diff", *options, "a", "b", folder=folder, good=(0, 1)).decode()
    return diff[diff.find("\n@@ ") + 1 :]


def _names(text: bytes, *options: str) -> list[bytes]:
    """Return the names after the change, those before if it is reversed, one a file."""
    listed = _git("apply", "--numstat", "-z", *options, stdin=text)
    return [entry.split(b"\t", 2)[2] for entry in listed.split(b"\0") if entry]


def _state(place: Path) -> FileState | None:
    if place.is_symlink():
        return FileState(os.fsencode(place.readlink()), SYMLINK)
    if not place.is_file():
        return None
    mode = EXECUTABLE if place.stat().st_mode & 0o100 else FILE
    return FileState(place.read_bytes(), mode)


def _git(
    *arguments: str, stdin: bytes = b"", folder: Path = Path("/"), good: tuple[int, ...] = (0,)
) -> bytes:
    check_version()
    process = subprocess.run(  # noqa: S603 - git with our own arguments
        ["sh", "-c", _BOUNDED, "git", "-c", _SPACES, *arguments],  # noqa: S607
        input=stdin,
        env={**environment(), "GIT_DIR": os.devnull},
        cwd=folder,
        capture_output=True,
        check=False,
    )
    complaint = process.stderr.decode("utf-8", "replace")
    # Of a damaged binary part git complains, and goes on without it.
    if process.returncode not in good or _COMPLAINT.search(complaint):
        raise _refusal(complaint)
    return process.stdout


def _refusal(complaint: str) -> DiffError:
    """Return the error that says why git refuses, in its words."""
    unfit = _UNFIT.findall(complaint)
    reasons = list(dict.fromkeys(_COMPLAINT.findall(complaint)))[:2]
    reason = "; ".join(line(mask(reason), _LONGEST) for reason in reasons).replace(
        ' (allow with "--allow-empty")', ""
    )
    if not reasons:
        return DiffError("git takes more than a minute or 4 GB for the diff", "Give a smaller one")
    if re.search(r"line \d+|No valid patches|unrecognized input", reason):
        return MalformedDiffError(
            f"The diff cannot be read: {reason}", "Give it as git diff writes it"
        )
    return DiffError(f"The diff does not apply: {reason}", unfit=unfit)


def _count_hunks(text: bytes) -> list[int]:
    """Return how many hunks each file of a diff has.

    Raises `MalformedDiffError` for lines of a change that git would take for text around it:
    behind a hunk that says that it is complete, or under a head that git cannot read.
    """
    lines = [*text.split(b"\n"), b"", b""]
    counts: list[int] = []
    at = 0
    is_named = is_behind = is_apart = False
    while at < len(lines) - 2:
        text_line = lines[at]
        if counts and (match := _HUNK.match(text_line)):
            counts[-1] += 1
            at = _end_of_hunk(lines, at + 1, *(int(part or 1) for part in match.groups()))
            is_behind, is_named, is_apart = True, False, False
            continue
        if text_line.startswith(b"diff --git "):
            counts.append(0)
            is_named, is_behind = True, False
        elif text_line.startswith(b"--- ") and lines[at + 1].startswith(b"+++ "):
            if not _HUNK.match(lines[at + 2]):
                raise _ignored(lines, at + 2, "where the head of a hunk (@@ -1,3 +1,3 @@) belongs")
            counts += [] if is_named else [0]
            is_named, is_behind = False, False
            at += 1
        elif counts and text_line.startswith(b"@@"):
            raise _ignored(lines, at, "which is no head of a hunk (@@ -1,3 +1,3 @@)")
        elif is_behind and text_line.rstrip() == b"--" and _AFTER_SIGNATURE.match(lines[at + 1]):
            is_behind = False  # the end of a mail
        elif is_behind and text_line[:1] in (b"+", b"-"):
            if not (is_apart and _LIST_ITEM.match(text_line)):
                raise _ignored(lines, at, "behind the lines that its hunk announces")
        elif text_line.strip():
            is_behind = is_behind and text_line[:1] in (b" ", b"\\")
        else:
            is_apart = True
        at += 1
    return counts


def _end_of_hunk(lines: Sequence[bytes], at: int, old: int, new: int) -> int:
    """Return where the lines end that a hunk announced, or where it breaks off."""
    while (old > 0 or new > 0) and at < len(lines) - 2:
        mark = lines[at][:1]
        if mark not in (b"", b" ", b"-", b"+", b"\\"):
            break
        old -= mark not in (b"+", b"\\")
        new -= mark not in (b"-", b"\\")
        at += 1
    return at


def _ignored(lines: Sequence[bytes], at: int, place: str) -> MalformedDiffError:
    shown = line(lines[at].decode("utf-8", "replace"), 80)
    return MalformedDiffError(
        f"The diff cannot be read: line {at + 1} is {shown!r}, {place}",
        "Correct the head and the counts of the hunk, as git diff writes them",
    )

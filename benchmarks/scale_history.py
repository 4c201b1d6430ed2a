"""Makes a long git history out of a short one: the same commits over and over, each time on top.

A repetition begins where the one before it ended, so all its commits have names of their own and
the main branch leads to all of them. Files and folders, which are the same, are kept once.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

_MARKS = 10**6  # of one repetition


@dataclass(slots=True)
class _Commit:
    """A commit as `git fast-export` tells it; a reset of a branch has no `mark`."""

    ref: bytes
    mark: int = 0
    name: bytes = b""
    head: bytes = b""
    """Author, committer and message."""
    parents: list[tuple[bytes, int]] = field(default_factory=list)
    files: bytes = b""


def repeat_history(bundle: Path, target: Path, copies: int, step: int) -> list[dict[bytes, bytes]]:
    """Write a bare repository, and return what the commits of each repetition are called.

    The head of pull request n is that of n + `step` in the second repetition, and so on.
    """
    _git("clone", "--quiet", "--mirror", bundle, target)
    selected = ("--glob=refs/heads/*", "--glob=refs/pull/*")
    exported = _git("-C", target, "fast-export", "--no-data", "--show-original-ids", *selected)
    tip = _git("-C", target, "rev-parse", "HEAD").strip()
    refs = _git("-C", target, "for-each-ref", "--format=delete %(refname)")
    _git("-C", target, "update-ref", "--stdin", stdin=refs)
    commits = list(_read(exported))
    names = {commit.mark: commit.name for commit in commits if commit.mark}
    last = next(mark for mark, name in names.items() if name == tip)
    marks = target / "marks"
    stream = b"".join(
        _write(commit, copy, step, last) for copy in range(copies) for commit in commits
    )
    options = ("fast-import", "--quiet", "--force", f"--export-marks={marks.resolve()}")
    _git("-C", target, *options, stdin=stream)
    renamed: list[dict[bytes, bytes]] = [{} for _ in range(copies)]
    for line in marks.read_bytes().splitlines():
        mark, name = line.removeprefix(b":").split()
        copy, original = divmod(int(mark), _MARKS)
        renamed[copy][names[original]] = name
    return renamed


def _read(exported: bytes) -> Iterator[_Commit]:
    stream = BytesIO(exported)
    commit: _Commit | None = None
    while line := stream.readline():
        word, _, rest = line.rstrip(b"\n").partition(b" ")
        if word in (b"commit", b"reset"):
            if commit is not None:
                yield commit
            commit = _Commit(rest)
        elif commit is None or word == b"feature":
            continue
        elif word == b"mark":
            commit.mark = int(rest[1:])
        elif word == b"original-oid":
            commit.name = rest
        elif word == b"data":
            commit.head += line + stream.read(int(rest)) + b"\n"
        elif word in (b"author", b"committer", b"encoding"):
            commit.head += line
        elif word in (b"from", b"merge"):
            commit.parents.append((word, int(rest[1:])))
        elif rest:
            commit.files += line
    if commit is not None:
        yield commit


def _write(commit: _Commit, copy: int, step: int, last: int) -> bytes:
    """Return a commit of a repetition; its first ones follow the `last` of the one before."""
    ref, shift = commit.ref, copy * _MARKS
    if ref.startswith(b"refs/pull/"):
        number = int(ref.split(b"/")[2]) + copy * step
        ref = b"refs/pull/%d/head" % number
    parents = b"".join(b"%s :%d\n" % (word, mark + shift) for word, mark in commit.parents)
    if not commit.mark:
        return b"reset %s\n%s\n" % (ref, parents)
    first = not commit.parents and copy > 0
    if first:
        parents = b"from :%d\ndeleteall\n" % (last + shift - _MARKS)
    mark = b"mark :%d\n" % (commit.mark + shift)
    return b"commit %s\n%s%s%s%s\n" % (ref, mark, commit.head, parents, commit.files)


def _git(*arguments: str | Path, stdin: bytes = b"") -> bytes:
    command = ["git", *map(str, arguments)]
    return subprocess.run(command, input=stdin, check=True, stdout=subprocess.PIPE).stdout

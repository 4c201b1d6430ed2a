"""Reads the comments of the files of commits, one commit a repository."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field

from goldpan.papers.nlbse.comments.comment import is_filetree
from goldpan.papers.nlbse.comments.extract import (
    LANGUAGES,
    SMALLTALK,
    FileRead,
    Source,
    read_file,
    written_in,
)
from goldpan.plugins.code import LARGEST
from goldpan.plugins.core import Failed, Reporter, UsageError, Workspace, map_in_sandbox
from goldpan.plugins.git import Commit, Object, Objects, TreeFile, is_pointer, prefetch, promisor
from goldpan.plugins.text import Wrapping

LEFT_OUT = {
    "absent": "files that are not in the clone",
    "pointer": "files that Git LFS keeps elsewhere",
    "too-large": "files of more than a megabyte",
    "binary": "files that are no text",
    "timeout": "files that took too long to parse",
    "crash": "files at which the parser failed",
    "syntax-errors": "files with syntax errors, read as far as they can be",
    "comment-too-long": "comments of more than 65,536 characters or 1,000 sentences",
    "comment-without-words": "comments without a word",
    "private": "sentences within a secret of several lines",
}
"""What was left out, by the reason under which it is counted."""
_OTHER_NAMES = {"pharo": SMALLTALK, "csharp": "C#", "cpp": "C++"}


@dataclass(frozen=True, slots=True)
class Reading:
    """How files are read, and how those are fetched that a partial clone lacks."""

    languages: Collection[str]
    wrapping: Wrapping = "cut"
    kinds: frozenset[str] = frozenset({"class"})
    workers: int = 2
    timeout: float = 20.0
    """Seconds of processor time for a file."""
    token: str | None = field(default=None, repr=False)
    host: str = "github.com"


def find_languages(names: Iterable[str]) -> frozenset[str]:
    """Return languages by their names, all where none is named; raises `UsageError`."""
    return frozenset(map(find_language, names)) or frozenset(LANGUAGES)


def find_language(name: str) -> str:
    """Return a language by its name; raises `UsageError`."""
    known = {language.casefold(): language for language in LANGUAGES} | _OTHER_NAMES
    if name.casefold() not in known:
        raise UsageError(
            f"Comments in {name!r} cannot be read", f"Choose among {', '.join(LANGUAGES)}"
        )
    return known[name.casefold()]


def wanted_files(files: Sequence[TreeFile], languages: Collection[str]) -> list[TreeFile]:
    """Return the files of a commit that may hold comments in these languages, no path twice."""
    paths = {file.path: file for file in files}
    return [
        file
        for file in paths.values()
        if file.kind == "file"
        and written_in(file.path) in languages
        and (not is_filetree(file.path) or _properties_path(file.path) in paths)
    ]


def _properties_path(path: str) -> str:
    return path.rpartition("/")[0] + "/properties.json"


def files_of(
    workspace: Workspace, commit: Commit, reading: Reading, reporter: Reporter
) -> list[TreeFile]:
    """Return the files of a commit that may hold comments, and fetch what the clone lacks.

    Raises `GitError` where the commit lists no end of files, or its files cannot be fetched.
    """
    # A clone that lacks some is nobody else's while it is completed.
    with workspace.lock(commit.repo) if promisor(commit.clone) else nullcontext():
        with Objects(commit.clone) as objects:
            files = wanted_files(objects.files(commit.id), reading.languages)
        ids = {file.id for file in files}
        prefetch(commit.clone, ids, reporter, token=reading.token, host=reading.host)
    return files


def read_commit(
    commit: Commit, files: Sequence[TreeFile], reading: Reading, counts: Counter[str]
) -> Iterator[tuple[TreeFile, FileRead]]:
    """Yield the files that could be read, in order; what could not is counted.

    A few are in memory at a time.
    """
    sent: list[TreeFile] = []

    def sources(objects: Objects) -> Iterator[Source]:
        for file, blob in zip(files, objects.read(file.id for file in files), strict=True):
            problem = _problem(blob)
            if problem or blob is None or blob.data is None:
                counts[problem or "absent"] += 1
            else:
                sent.append(file)
                yield Source(file.path, blob.data, reading.wrapping, reading.kinds)

    with Objects(commit.clone, most_bytes=LARGEST) as objects:
        results = map_in_sandbox(read_file, sources(objects), reading.workers, reading.timeout)
        for index, result in enumerate(results):
            if isinstance(result, Failed):
                counts[result.reason] += 1
            elif result.encoding is None:
                counts["binary"] += 1
            else:
                counts.update(result.counts)
                yield sent[index], result


def _problem(blob: Object | None) -> str | None:
    if blob is None or blob.kind != "blob":
        return "absent"
    if blob.data is None:
        return "too-large"
    return "pointer" if is_pointer(blob.data) else None

"""Reads the comments of all files of a commit, a few files in memory at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from goldpan.code.substance import LARGEST
from goldpan.core.progress import Reporter
from goldpan.core.sandbox import Failed, map_in_sandbox
from goldpan.git.commits import Commit
from goldpan.git.objects import Object, Objects
from goldpan.git.prefetch import prefetch
from goldpan.git.texts import is_pointer
from goldpan.git.trees import TreeFile
from goldpan.papers.nlbse.comments.extract import FileRead, Source, read_file
from goldpan.papers.nlbse.comments.files import wanted_files
from goldpan.text.sentences import Wrapping

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


@dataclass(frozen=True, slots=True)
class Reading:
    """How files are read."""

    languages: Collection[str]
    wrapping: Wrapping = "cut"
    kinds: frozenset[str] = frozenset({"class"})
    workers: int = 2
    timeout: float = 20.0
    """Seconds of processor time for a file."""


@dataclass(frozen=True, slots=True)
class Access:
    """How files that a partial clone lacks are fetched."""

    token: str | None = None
    host: str = "github.com"


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A file of a commit with its comments."""

    file: TreeFile
    contents: FileRead


def files_of(
    commit: Commit, reading: Reading, access: Access, reporter: Reporter
) -> list[TreeFile]:
    """Return the files of a commit that may hold comments, and fetch what the clone lacks.

    Raises `GitError` where the commit lists no end of files, or its files cannot be fetched.
    """
    with Objects(commit.clone) as objects:
        files = wanted_files(objects.files(commit.id), reading.languages)
    ids = {file.id for file in files}
    prefetch(commit.clone, ids, reporter, token=access.token, host=access.host)
    return files


def read_commit(
    commit: Commit, files: Sequence[TreeFile], reading: Reading, counts: Counter[str]
) -> Iterator[ReadFile]:
    """Yield the files that could be read, in order; what could not is counted."""
    files_read: list[TreeFile] = []

    def sources(objects: Objects) -> Iterator[Source]:
        for file, blob in zip(files, objects.read(file.id for file in files), strict=True):
            problem = _problem(blob)
            if problem or blob is None or blob.data is None:
                counts[problem or "absent"] += 1
            else:
                files_read.append(file)
                yield Source(file.path, blob.data, reading.wrapping, reading.kinds)

    with Objects(commit.clone, most_bytes=LARGEST) as objects:
        results = map_in_sandbox(read_file, sources(objects), reading.workers, reading.timeout)
        for index, result in enumerate(results):
            if isinstance(result, Failed):
                counts[result.reason] += 1
            elif result.problem:
                counts[result.problem] += 1
            else:
                counts.update(result.counts)
                yield ReadFile(files_read[index], result)


def _problem(blob: Object | None) -> str | None:
    if blob is None or blob.kind != "blob":
        return "absent"
    if blob.data is None:
        return "too-large"
    return "pointer" if is_pointer(blob.data) else None

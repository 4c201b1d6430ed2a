"""Reads objects out of a clone through one git, and no tree twice."""

from __future__ import annotations

import codecs
import re
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Literal, Self, cast

from goldpan.core.errors import GitError
from goldpan.git.process import MOST_BYTES, git, start
from goldpan.git.trees import (
    FOLDER,
    SUBMODULE,
    SYMLINK,
    FileKind,
    TreeEntry,
    TreeFile,
    is_unsafe,
    parse_tree,
    path_text,
)

Encoding = Literal["utf-8", "utf-8-sig", "utf-16-le", "utf-16-be", "latin-1"]
LineEnds = Literal["lf", "crlf", "cr", "mixed", "none"]
_POINTER = re.compile(rb"version https://(?:git-lfs|hawser)\.github\.com/spec/v\d")
_LONGEST_POINTER = 1_024
_MARKS: tuple[tuple[bytes, Encoding], ...] = (
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def is_pointer(data: bytes) -> bool:
    """Tell a file that Git LFS put in the place of a large one."""
    return len(data) < _LONGEST_POINTER and _POINTER.match(data) is not None


def encodings(data: bytes) -> tuple[Encoding, ...]:
    """Return the encodings that give the bytes back exactly, the best one first.

    A file with a NUL is binary and has none, unless it is UTF-16 and says so by its mark, which
    then is the text's first character. Latin-1 gives back everything else.
    """
    for mark, name in _MARKS:
        if data.startswith(mark) and _decodes(data, name):
            return (name,)
    if b"\0" in data:
        return ()
    if not _decodes(data, "utf-8"):
        return ("latin-1",)
    if data.startswith(codecs.BOM_UTF8):
        return ("utf-8-sig", "utf-8", "latin-1")
    return ("utf-8", "latin-1")


def shared_encoding(*versions: bytes) -> Encoding | None:
    """Return the best encoding that gives all versions of a file back exactly, if there is one."""
    candidates = [encodings(data) for data in versions]
    return next(
        (name for name in candidates[0] if all(name in others for others in candidates)), None
    )


def line_ends(data: bytes, encoding: Encoding) -> LineEnds:
    """Return how the lines of a text end."""
    data = _one_byte_signs(data, encoding)
    if b"\r" not in data:  # most files: a search is many times as fast as counts
        return "lf" if b"\n" in data else "none"
    pairs = data.count(b"\r\n")
    counts = {"crlf": pairs, "lf": data.count(b"\n") - pairs, "cr": data.count(b"\r") - pairs}
    endings: list[LineEnds] = [name for name in ("crlf", "lf", "cr") if counts[name]]
    return endings[0] if len(endings) == 1 else "mixed"


def ends_its_line(data: bytes, encoding: Encoding) -> bool:
    """Tell whether the last line of a text has an end; an empty text has no line without one."""
    if encoding.startswith("utf-16") and data.decode(encoding) == "\ufeff":
        return True
    return not data or _one_byte_signs(data, encoding).endswith((b"\n", b"\r"))


def _one_byte_signs(data: bytes, encoding: Encoding) -> bytes:
    """Return a text in which line ends are the bytes that they are in ASCII."""
    return data.decode(encoding).encode() if encoding.startswith("utf-16") else data


def _decodes(data: bytes, encoding: Encoding) -> bool:
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


_MOST_TREE = 64 << 20  # bytes of one tree or commit object
_MOST_TREES = 200_000  # kept in memory
_ASKED = 500  # ids at once: they must fit into a pipe, or git and we would wait for each other
_READ_AT_ONCE = 8 << 20
_BLOCK = 1 << 20
MOST_FILES = 1_000_000
"""A commit with more files is no real one: it is made to exhaust whoever unfolds it."""
_DEEPEST = 200  # folders
_MOST_CACHED = 4_000_000  # files and sizes of trees
_KINDS: dict[str, FileKind] = {SYMLINK: "symlink", SUBMODULE: "submodule"}
_ID = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class Object:
    """An object; `data` is None where it was not read, as one that is too large is not."""

    id: str
    kind: str
    size: int
    data: bytes | None = field(repr=False)


class _DiedError(Exception):
    """Git ended in the middle of an object: that object is damaged."""


class Objects:
    """The objects of one clone by id; for use in a `with` block and in one thread.

    An object that is not there, or that is damaged, is None. Nothing is ever fetched. Two
    processes of git serve all questions: one tells what objects are, one gives them out.
    """

    def __init__(self, clone: Path, *, most_bytes: int = MOST_BYTES) -> None:
        self._clone = clone
        self._most_bytes = most_bytes
        self._readers: dict[str, subprocess.Popen[bytes]] = {}
        self._trees: dict[str, tuple[TreeEntry, ...] | None] = {}
        self._roots: dict[str, str | None] = {}
        self._sizes: dict[str, int] = {}
        self._listings: dict[tuple[bytes, str], tuple[TreeFile, ...]] = {}
        self._cached = 0

    def __enter__(self) -> Self:
        if not self._clone.is_dir():
            raise GitError(f"There is no history in {self._clone}", "Run goldpan clone")
        git("rev-parse", "--git-dir", clone=self._clone, subject=str(self._clone))
        return self

    def __exit__(self, *_: object) -> None:
        for name in list(self._readers):
            self._stop(name)

    def info(self, ids: Iterable[str]) -> Iterator[Object | None]:
        """Yield each object without its data, in the order asked."""
        waiting = iter(ids)
        while batch := list(islice(waiting, _ASKED)):
            valid = [id_ for id_ in batch if _ID.fullmatch(id_)]
            answers = dict(zip(valid, self._answers("--batch-check", valid, 0), strict=True))
            yield from map(answers.get, batch)

    def read(self, ids: Iterable[str]) -> Iterator[Object | None]:
        """Yield each object, in the order asked; those that are too large without their data."""
        waiting = iter(ids)
        while chunk := list(islice(waiting, _ASKED)):
            batch: list[tuple[str, Object | None]] = []
            size = 0
            for id_, info in zip(chunk, list(self.info(chunk)), strict=True):
                batch.append((id_, info))
                size += info.size if info and info.size <= self._most_bytes else 0
                if size > _READ_AT_ONCE:
                    yield from self._read(batch)
                    batch, size = [], 0
            yield from self._read(batch)

    def blob(self, id: str) -> bytes | None:
        """Return a file's bytes, or None where it is not there, no file or too large."""
        object_ = self._single_object(id, self._most_bytes)
        return object_.data if object_ and object_.kind == "blob" else None

    def tree(self, id: str) -> tuple[TreeEntry, ...] | None:
        """Return the entries of a folder, in git's order."""
        if id not in self._trees:
            self._keep(id, self._single_object(id, _MOST_TREE))
        return self._trees[id]

    def root(self, commit: str) -> str | None:
        """Return the tree of a commit; a tree is its own."""
        if commit not in self._roots:
            self.read_roots([commit])
        return self._roots.get(commit)

    def read_roots(self, commits: Iterable[str]) -> None:
        """Read the trees of many commits in few questions; `root` then knows them."""
        waiting = iter(
            sorted({id_ for id_ in commits if id_ not in self._roots and _ID.fullmatch(id_)})
        )
        while batch := list(islice(waiting, _ASKED)):
            # The tree comes with its id, so that the commit itself need not be read.
            trees = [f"{id_}^{{tree}}" for id_ in batch]
            for id_, tree in zip(batch, self._answers("--batch", trees, _MOST_TREE), strict=True):
                if tree is not None:
                    self._keep(tree.id, tree)
                self._roots[id_] = tree.id if tree else None

    def find(self, commit: str, path: bytes) -> TreeEntry | None:
        """Return the file or folder at a path of a commit; None for nothing."""
        tree_id = self.root(commit)
        entry = None
        for name in path.split(b"/"):
            entries = self.tree(tree_id) if tree_id else None
            entry = next((each for each in entries or () if each.name == name), None)
            tree_id = entry.id if entry and entry.mode == FOLDER else None
        return entry

    def is_endless(self, commit: str) -> bool:
        """Tell a commit that unfolds to more files than any real one, without unfolding it.

        A few folders that hold each other many times over make billions of paths, and git itself
        would never end.
        """
        root = self.root(commit)
        return root is not None and self._size(root) > MOST_FILES

    def files(self, commit: str) -> list[TreeFile]:
        """Return all files of a commit in git's order, submodules as one file each.

        Left out are paths that no checkout may hold, such as those with `..`; what two commits
        share is listed once. Raises `GitError` where the commit or one of its folders is not
        there, or lists no end of files.
        """
        root = self.root(commit)
        if root is None:
            raise GitError(f"Commit {commit} is not in {self._clone}", "Clone the repository again")
        if self._size(root) > MOST_FILES:
            raise GitError(
                f"Tree {root} lists more than {MOST_FILES:,} files", "Leave the repository out"
            )
        if self._cached > _MOST_CACHED:
            self._listings.clear()
            self._cached = 0
        tree_files: list[TreeFile] = []
        self._list(b"", root, tree_files, 0)
        return tree_files

    def _size(self, tree: str) -> int:
        """Return how many files there are below a tree; of those without end some more."""
        if len(self._sizes) > _MOST_CACHED:
            self._sizes.clear()
        waiting = [tree]
        while waiting:
            current = waiting[-1]
            entries = () if current in self._sizes else self.tree(current) or ()
            folders = [entry.id for entry in entries if entry.mode == FOLDER]
            unknown = [id for id in folders if id not in self._sizes]
            if unknown:
                waiting.extend(unknown)
                continue
            waiting.pop()
            size = len(entries) - len(folders) + sum(self._sizes[id] for id in folders)
            self._sizes.setdefault(current, min(size, MOST_FILES + 1))
        return self._sizes[tree]

    def _list(self, prefix: bytes, tree: str, files: list[TreeFile], depth: int) -> None:
        listing = self._listings.get((prefix, tree))
        if listing is not None:
            files.extend(listing)
            return
        first = len(files)
        entries = self.tree(tree)
        if entries is None:
            raise GitError(f"Tree {tree} is not in the clone", "Clone the repository again")
        for entry in entries:
            if is_unsafe(entry.name):
                continue
            if entry.mode != FOLDER:
                path, kind = path_text(prefix + entry.name), _KINDS.get(entry.mode, "file")
                files.append(TreeFile(path, entry.mode, kind, entry.id))
            elif depth < _DEEPEST:
                self._list(prefix + entry.name + b"/", entry.id, files, depth + 1)
        self._listings[prefix, tree] = tuple(files[first:])
        self._cached += len(files) - first + 1

    def _keep(self, id: str, object_: Object | None) -> None:
        """Remember a tree, or that there is none."""
        if len(self._trees) > _MOST_TREES:
            self._trees.clear()
            self._roots.clear()
        entries = None
        if object_ and object_.kind == "tree" and object_.data is not None:
            try:
                entries = parse_tree(object_.data)
            except ValueError:
                entries = None
        self._trees[id] = entries

    def _read(self, batch: Sequence[tuple[str, Object | None]]) -> Iterator[Object | None]:
        small = [id_ for id_, info in batch if info and info.size <= self._most_bytes]
        answers = dict(zip(small, self._answers("--batch", small, self._most_bytes), strict=True))
        for id_, info in batch:
            if info is not None and info.size > self._most_bytes:
                yield info
            else:
                yield answers.get(id_)

    def _single_object(self, id: str, most_bytes: int) -> Object | None:
        return self._answers("--batch", [id], most_bytes)[0] if _ID.fullmatch(id) else None

    def _answers(self, reader: str, ids: Sequence[str], most_bytes: int) -> list[Object | None]:
        """Ask a reader for objects; one at which it dies is damaged, and the rest asked anew."""
        objects: list[Object | None] = []
        while len(objects) < len(ids):
            try:
                process = self._reader(reader)
                requests, replies = cast(BinaryIO, process.stdin), cast(BinaryIO, process.stdout)
                requests.write("".join(f"{id_}\n" for id_ in ids[len(objects) :]).encode())
                requests.flush()
                while len(objects) < len(ids):
                    objects.append(_answer(replies, reader == "--batch", most_bytes))
            except (_DiedError, BrokenPipeError):
                self._stop(reader)
                objects.append(None)
        return objects

    def _reader(self, name: str) -> subprocess.Popen[bytes]:
        if name not in self._readers:
            self._readers[name] = start("cat-file", name, clone=self._clone, stdin=subprocess.PIPE)
        return self._readers[name]

    def _stop(self, name: str) -> None:
        process = self._readers.pop(name)
        process.kill()
        # Requests that were not sent are dropped; closing would try to send them.
        for pipe in (process.stdin, process.stdout):
            try:
                cast(BinaryIO, pipe).close()
            except BrokenPipeError:
                continue
        process.wait()


def _answer(replies: BinaryIO, with_data: bool, most_bytes: int) -> Object | None:
    """Read one reply: a line that says what the object is, then its bytes and a line end."""
    header = replies.readline()
    if not header.endswith(b"\n"):
        raise _DiedError
    words = header.split()
    if len(words) != 3:  # "ID missing"
        return None
    id, kind, size = words[0].decode(), words[1].decode(), int(words[2])
    if not with_data:
        return Object(id, kind, size, None)
    if size <= most_bytes:
        data = replies.read(size + 1)
        if len(data) <= size:
            raise _DiedError
        return Object(id, kind, size, data[:-1])
    remaining = size + 1
    while remaining:
        block = replies.read(min(remaining, _BLOCK))
        if not block:
            raise _DiedError
        remaining -= len(block)
    return Object(id, kind, size, None)

"""Reads the entries of a metadata backup, whatever lies beside them, in one shape.

Files are somebody else's: each line or file may be as large as the disk, cut off or packed to
explode. So an entry is read up to `LARGEST_ENTRY`, and what cannot be read is told by file and
line while the rest goes on.

The one shape is ``{"type": "issue" | "pull", "issue" or "pull": {...}, "events": [...],
"comments": [...]}``: the events are the entry's timeline, the comments a pull request's review
comments. python-github-backup instead adds lists to the object that REST gives.
"""

from __future__ import annotations

import gzip
import io
import lzma
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from goldpan.core.errors import UsageError
from goldpan.miners.replies import fast_parser
from goldpan.text.keywords import LARGEST_NUMBER

LARGEST_ENTRY = 32 << 20
"""Bytes of one entry: the largest seen has 4 MB."""

_STEP = 1 << 20
_SELDOM = 50  # lines: asking where a file stands takes as long as reading one
_UNPACKING_MEMORY = 128 << 20  # what `xz -9` needs, twice
_ONE = ".json"
_MANY = (".jsonl", ".jsonl.gz", ".jsonl.xz", ".json.gz", ".json.xz")


@dataclass(frozen=True, slots=True)
class BackupFiles:
    """The files of a backup that may hold entries, their bytes, and the files that cannot."""

    name: str
    folder: Path
    files: tuple[Path, ...]
    size: int
    others: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EntryText:
    """A possible entry: its location and bytes; `whole_file` where it is a file of its own."""

    location: str
    body: bytes
    whole_file: bool
    done: int
    """Bytes of the backup's files that were read so far."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Something that could not be read, and why."""

    location: str
    reason: str


def list_files(source: Path) -> BackupFiles:
    """Find the files of a backup; raises `UsageError` where there is nothing to read."""
    if source.is_file():
        return BackupFiles(source.name, source.parent, (source,), source.stat().st_size, ())
    if not source.is_dir():
        raise UsageError(f"{source} does not exist", "Name a backup's folder or .jsonl file")
    files: list[Path] = []
    others: list[str] = []
    for folder, folders, names in os.walk(source, onerror=_refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            path = Path(folder, name)
            if name.endswith((_ONE, *_MANY)) and path.is_file():
                files.append(path)
            elif not name.startswith("."):
                others.append(_name_in_backup(path, source))
    if not files:
        raise UsageError(f"{source} holds no .json or .jsonl files", "Name the backup's folder")
    files.sort()
    size = sum(path.stat().st_size for path in files)
    return BackupFiles(source.name, source, tuple(files), size, tuple(others))


def _refuse(error: OSError) -> None:
    raise UsageError(f"{error.filename} cannot be read: {error.strerror}", "Change its permissions")


def read_texts(listing: BackupFiles) -> Iterator[EntryText | Unreadable]:
    """Yield all that may be entries, file by file, and what cannot be read."""
    before = 0
    for path in listing.files:
        name = _name_in_backup(path, listing.folder)
        line, bytes_read = 0, before
        try:
            with path.open("rb", _STEP) as file:
                size = os.fstat(file.fileno()).st_size
                if path.suffix == _ONE:
                    yield _whole_file(name, file, before + size)
                else:
                    for line, body in enumerate(_lines(_unpacked(path, file)), 1):
                        at = f"{name}:{line}"
                        if body is None:
                            yield _too_large(at)
                        elif body:
                            bytes_read = before + file.tell() if line % _SELDOM == 1 else bytes_read
                            yield EntryText(at, body, False, bytes_read)
                before += size
        except (lzma.LZMAError, EOFError, zlib.error, gzip.BadGzipFile) as error:
            yield Unreadable(
                f"{name}:{line + 1}",
                f"the file is cut off or not compressed as its name says ({error}): copy it again",
            )
        except OSError as error:
            yield Unreadable(name, f"the file cannot be read: {error.strerror}")


def _name_in_backup(path: Path, folder: Path) -> str:
    """Name a file within the backup; names need not be UTF-8."""
    return os.fsencode(path.relative_to(folder)).decode(errors="backslashreplace")


def _too_large(location: str) -> Unreadable:
    return Unreadable(location, f"it is larger than {LARGEST_ENTRY >> 20} MB, which no entry is")


def _whole_file(location: str, file: BinaryIO, bytes_read: int) -> EntryText | Unreadable:
    body = file.read(LARGEST_ENTRY + 1)
    return (
        EntryText(location, body, True, bytes_read)
        if len(body) <= LARGEST_ENTRY
        else _too_large(location)
    )


def _lines(file: BinaryIO) -> Iterator[bytes | None]:
    """Yield lines without their ends; None for one that is too large."""
    while line := file.readline(LARGEST_ENTRY + 1):
        if len(line) <= LARGEST_ENTRY:
            yield b"" if line.isspace() else line.rstrip(b"\r\n")
            continue
        while not line.endswith(b"\n") and (line := file.readline(_STEP)):
            pass
        yield None


def _unpacked(path: Path, file: BinaryIO) -> BinaryIO:
    match path.suffix:
        case ".gz":
            return io.BufferedReader(gzip.GzipFile(fileobj=file), _STEP)
        case ".xz":
            return io.BufferedReader(_Xz(file), _STEP)
        case _:
            return file


class _Xz(io.RawIOBase):
    """Unpacks xz as `lzma.open` does, but never into more memory than a good file needs."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._unpacker: lzma.LZMADecompressor | None = None
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while True:
            if self._unpacker is not None and not self._unpacker.eof:
                packed = b"" if not self._unpacker.needs_input else self._file.read(_STEP)
                if self._unpacker.needs_input and not packed:
                    raise EOFError("it ends before the end of its data")
            else:
                packed = self._next_stream()
                if not packed:
                    return 0
                self._unpacker = lzma.LZMADecompressor(memlimit=_UNPACKING_MEMORY)
            out = self._unpacker.decompress(packed, max_length=len(buffer))
            if out:
                buffer[: len(out)] = out
                return len(out)

    def _next_stream(self) -> bytes:
        """Return the first bytes of the next stream, behind zeros that fill up."""
        rest = self._unpacker.unused_data if self._unpacker else b""
        while not (rest := rest.lstrip(b"\0")) and (more := self._file.read(_STEP)):
            rest = more
        return rest


_OBJECT = {"number", "title", "user", "state", "created_at"}


@dataclass(frozen=True, slots=True)
class Glance:
    """The fields of an entry that are needed to archive it."""

    kind: str
    number: int
    base: Any
    """The name of the repository that a pull request is for, where it tells."""


def glance(body: bytes) -> Glance | None:
    """Read an entry of the one shape without unpacking all of it; None where one must look closer.

    The whole text is known to be JSON then, for a quarter of the time that parsing it takes.
    """
    try:
        document = fast_parser()(body)
        kind = document["type"]
        if kind not in ("issue", "pull"):
            return None
        entry = document[kind]
        number = entry["number"]
        if type(number) is not int or not 0 < number <= LARGEST_NUMBER:
            return None
        base = entry.get("base") if kind == "pull" else None
        repo = base.get("repo") if base is not None else None
        return Glance(kind, number, repo.get("full_name") if repo is not None else None)
    except (ValueError, KeyError, TypeError, AttributeError, RuntimeError):
        return None


def read_shape(data: Any) -> dict[str, Any] | None:
    """Return an entry in the one shape; None for JSON that means to be no entry."""
    if not isinstance(data, dict):
        return None
    if data.get("type") in ("issue", "pull"):
        return data
    if not data.keys() >= _OBJECT:
        return None
    if "head" in data and "base" in data:
        return {
            "type": "pull",
            "pull": data,
            "events": [
                *_as_events(data.get("comment_regular_data"), "commented"),
                *_as_events(data.get("review_data"), "reviewed"),
                *map(_as_commit, data.get("commit_data") or ()),
            ],
            "comments": data.get("comment_data"),
        }
    if "pull_request" in data:  # only a pull request's half: without branches and commits
        return None
    comments = _as_events(data.get("comment_data"), "commented")
    events = data.get("timeline_data") or data.get("event_data") or []
    return {"type": "issue", "issue": data, "events": [*comments, *events]}


def _as_events(items: list[dict[str, Any]] | None, name: str) -> list[dict[str, Any]]:
    return [{**item, "event": name} for item in items or ()]


def _as_commit(item: dict[str, Any]) -> dict[str, Any]:
    """Bring a commit of a pull request's list into the shape of the timeline."""
    return {"event": "committed", "sha": item["sha"], **item["commit"]}

"""Reads the entries of a metadata backup, whatever lies beside them, in one shape.

Files are somebody else's: each line or file may be as large as the disk, cut off or packed to
explode. So an entry is read up to `LARGEST_ENTRY`, and one that cannot be read is reported by file
and line while the others are read on.

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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from goldpan.core.errors import UsageError
from goldpan.miners.replies import MALFORMED, fast_parser, parse_json
from goldpan.text.keywords import LARGEST_NUMBER

LARGEST_ENTRY = 32 << 20
"""Bytes of one entry: the largest seen has 4 MB."""
_TOO_LARGE = f"it is larger than {LARGEST_ENTRY >> 20} MB, which no entry is"
_NAMED = 5  # files and entries that a message names
_LONGEST = 300  # characters of the description of one of them

_STEP = 1 << 20
_SELDOM = 50  # lines: asking for a file's position takes as long as reading one
_UNPACKING_MEMORY = 128 << 20  # what `xz -9` needs, twice
_ONE = ".json"
_MANY = (".jsonl", ".jsonl.gz", ".jsonl.xz", ".json.gz", ".json.xz")


@dataclass(frozen=True, slots=True)
class BackupEntry:
    """An entry as it stands in a backup, with what is needed to archive it."""

    location: str
    body: bytes
    kind: str
    number: int
    base: Any
    """The name of the repository that a pull request is for, where it tells."""
    bytes_read: int
    """Bytes of the backup's files that were read so far."""


@dataclass(slots=True)
class Tally:
    """Counts things and remembers the first ones, for a message."""

    count: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, name: str) -> None:
        """Count one more."""
        self.count += 1
        if self.count <= _NAMED:
            self.first.append(name[:_LONGEST])

    def __str__(self) -> str:
        more = [f"and {self.count - _NAMED:,} more"] if self.count > _NAMED else []
        return "; ".join([*self.first, *more])


@dataclass(frozen=True, slots=True)
class Backup:
    """The files of a backup that may hold entries, their bytes, and what was skipped of it."""

    name: str
    folder: Path
    files: tuple[Path, ...]
    size: int
    without_entries: Tally = field(default_factory=Tally)
    """Files without entries."""
    unreadable: Tally = field(default_factory=Tally)
    """Entries that cannot be read."""
    elsewhere: Tally = field(default_factory=Tally)
    """Pull requests that name another repository than the one that is mined."""


def list_files(source: Path) -> Backup:
    """Find the files of a backup; raises `UsageError` where there is nothing to read."""
    if source.is_file():
        return Backup(source.name, source.parent, (source,), source.stat().st_size)
    if not source.is_dir():
        raise UsageError(f"{source} does not exist", "Name a backup's folder or .jsonl file")
    files: list[Path] = []
    without_entries = Tally()
    for folder, folders, names in os.walk(source, onerror=_refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            path = Path(folder, name)
            if name.endswith((_ONE, *_MANY)) and path.is_file():
                files.append(path)
            elif not name.startswith("."):
                without_entries.add(_name_in_backup(path, source))
    if not files:
        raise UsageError(f"{source} holds no .json or .jsonl files", "Name the backup's folder")
    files.sort()
    size = sum(path.stat().st_size for path in files)
    return Backup(source.name, source, tuple(files), size, without_entries)


def _refuse(error: OSError) -> None:
    raise UsageError(f"{error.filename} cannot be read: {error.strerror}", "Change its permissions")


def read_entries(backup: Backup) -> Iterator[BackupEntry]:
    """Yield the entries of a backup, file by file; tally what is skipped."""
    before = 0
    for path in backup.files:
        name, whole_file = _name_in_backup(path, backup.folder), path.suffix == _ONE
        line, bytes_read = 0, before
        try:
            with path.open("rb", _STEP) as file:
                for line, body in enumerate(_texts(path, file), 1):
                    location = name if whole_file else f"{name}:{line}"
                    if line % _SELDOM == 1:
                        bytes_read = before + file.tell()
                    if len(body) > LARGEST_ENTRY:
                        backup.unreadable.add(f"{location}: {_TOO_LARGE}")
                    elif body or whole_file:
                        identity = _identify(backup, location, body, whole_file=whole_file)
                        if identity is not None:
                            yield BackupEntry(location, body, *identity, bytes_read)
                before += os.fstat(file.fileno()).st_size
        except (lzma.LZMAError, EOFError, zlib.error, gzip.BadGzipFile) as error:
            problem = f"the file is cut off or not compressed as its name says ({error})"
            backup.unreadable.add(f"{name}:{line + 1}: {problem}: copy it again")
        except OSError as error:
            backup.unreadable.add(f"{name}: the file cannot be read: {error.strerror}")


def _name_in_backup(path: Path, folder: Path) -> str:
    """Name a file within the backup; names need not be UTF-8."""
    return os.fsencode(path.relative_to(folder)).decode(errors="backslashreplace")


def _texts(path: Path, file: BinaryIO) -> Iterator[bytes]:
    """Yield texts that may be entries, blank lines as nothing; large ones end a byte too late."""
    if path.suffix == _ONE:
        yield file.read(LARGEST_ENTRY + 1)
        return
    lines = _unpacked(path, file)
    while line := lines.readline(LARGEST_ENTRY + 1):
        is_blank = len(line) <= LARGEST_ENTRY and line.isspace()
        yield b"" if is_blank else line.rstrip(b"\r\n")
        while not line.endswith(b"\n") and (line := lines.readline(_STEP)):
            pass


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
        packed = self._unpacker.unused_data if self._unpacker else b""
        while not (packed := packed.lstrip(b"\0")) and (block := self._file.read(_STEP)):
            packed = block
        return packed


_OBJECT = {"number", "title", "user", "state", "created_at"}


def _identify(
    backup: Backup, location: str, body: bytes, *, whole_file: bool
) -> tuple[str, int, Any] | None:
    """Return kind, number and the base's name of an entry; None where the text is none."""
    glanced = glance(body)
    if glanced is not None:
        return glanced
    problem = "is not an entry: it has no type or no number"
    try:
        data = read_shape(parse_json(body))
    except ValueError as error:
        problem = f"is not JSON ({error})"
    except MALFORMED as error:
        problem = f"is not in the shape of a backup ({type(error).__name__}: {error})"
    else:
        if data is None and whole_file:
            backup.without_entries.add(location)
            return None
        entry = data.get(data["type"]) if data is not None else None
        number = entry.get("number") if isinstance(entry, dict) else None
        if data and isinstance(entry, dict) and isinstance(number, int) and _is_number(number):
            return data["type"], number, (base_repository(entry) or {}).get("full_name")
    backup.unreadable.add(f"{location} {problem}")
    return None


def base_repository(entry: dict[str, Any]) -> dict[str, Any] | None:
    """Return the repository that a pull request is for, as it describes it."""
    base = entry.get("base")
    repository = base.get("repo") if isinstance(base, dict) else None
    return repository if isinstance(repository, dict) else None


def glance(body: bytes) -> tuple[str, int, Any] | None:
    """Return kind, number and the base's name of an entry of the one shape, unpacking little.

    None where one must look closer. Else the whole text is known to be JSON, for a quarter of the
    time that parsing it takes.
    """
    try:
        document = fast_parser()(body)
        kind = document["type"]
        if kind not in ("issue", "pull"):
            return None
        entry = document[kind]
        number = entry["number"]
        base = entry.get("base") if kind == "pull" else None
        repo = base.get("repo") if base is not None else None
        name = repo.get("full_name") if repo is not None else None
        return (kind, number, name) if _is_number(number) else None
    except (ValueError, KeyError, TypeError, AttributeError, RuntimeError):
        return None


def _is_number(number: object) -> bool:
    return type(number) is int and 0 < number <= LARGEST_NUMBER


def read_shape(data: Any) -> dict[str, Any] | None:
    """Return an entry in the one shape; None for JSON that is no entry."""
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

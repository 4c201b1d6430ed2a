"""Reads the entries of a metadata backup, whatever lies beside them, in one shape.

Files are somebody else's: each line or file may be as large as the disk, cut off or packed to
explode. So an entry is read up to `LARGEST_ENTRY`, and one that cannot be read is reported by file
and line while the others are read on.

The one shape is ``{"type": "issue" | "pull", "issue" or "pull": {...}, "events": [...],
"comments": [...]}``: the events are the entry's timeline, the comments a pull request's review
comments. python-github-backup instead adds lists to the object that REST gives.
"""

from __future__ import annotations

import codecs
import io
import json
import lzma
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from goldpan.core.errors import UsageError
from goldpan.core.unpacked import STEP, unpacked
from goldpan.miners.backup_shapes import About, about, named_shape, read_shape
from goldpan.miners.replies import MALFORMED, parse_json

LARGEST_ENTRY = 32 << 20
"""Bytes of one entry: the largest seen has 4 MB."""
_TOO_LARGE = f"it is larger than {LARGEST_ENTRY >> 20} MB, too large for an entry"
_NAMED = 5  # files and entries that a message names
_LONGEST = 300  # characters of the description of one of them

_SELDOM = 50  # lines: asking for a file's position takes as long as reading one
_ONE = ".json"
_NAMES = re.compile(r"\.(json|jsonl|ndjson)(\.(gz|xz|bz2|zst))?$")
_BETWEEN = re.compile("[ \t\r\n,\\[\\]\x1e]*")  # what stands between the objects of lists


@dataclass(frozen=True, slots=True)
class BackupEntry:
    """An entry as it stands in a backup, with what is needed to archive it."""

    location: str
    body: bytes
    about: About
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

    def join(self, other: Tally) -> None:
        """Count what another one counted."""
        self.first = [*self.first, *other.first][:_NAMED]
        self.count += other.count

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
    other: Tally = field(default_factory=Tally)
    """What those of them hold that are JSON."""
    unreadable: Tally = field(default_factory=Tally)
    """Entries that cannot be read."""


def list_files(source: Path, repo: str) -> Backup:
    """Find the files of a repository's backup; raises `UsageError` where nothing is to be read."""
    if source.is_file():
        return Backup(source.name, source.parent, (source,), source.stat().st_size)
    if not source.is_dir():
        raise UsageError(f"{source} does not exist", "Name a backup's folder or .jsonl file")
    folder = _folder_of(source, repo)
    files: list[Path] = []
    without_entries = Tally()
    for place, folders, names in os.walk(folder, onerror=_refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            path = Path(place, name)
            if _NAMES.search(name) and path.is_file():
                files.append(path)
            elif not name.startswith("."):
                without_entries.add(_name_in_backup(path, source))
    if not files:
        raise UsageError(f"{folder} holds no .json or .jsonl files", "Name the backup's folder")
    files.sort()
    size = sum(path.stat().st_size for path in files)
    return Backup(source.name, source, tuple(files), size, without_entries)


def _folder_of(source: Path, repo: str) -> Path:
    """Return the folder of one repository where python-github-backup saved several."""
    root = source / "repositories"
    folders = sorted(path for path in root.glob("*") if path.is_dir())
    own = [path for path in folders if path.name.lower() == repo.rpartition("/")[2].lower()]
    chosen = own or folders
    if len(chosen) > 1:
        raise UsageError(
            f"{root} holds {len(folders):,} repositories, and none is called as {repo}",
            f"Name the folder of one, such as {folders[0]}",
        )
    return chosen[0] if chosen else source


def _refuse(error: OSError) -> None:
    raise UsageError(f"{error.filename} cannot be read: {error.strerror}", "Change its permissions")


def read_entries(backup: Backup) -> Iterator[BackupEntry]:
    """Yield the entries of a backup, file by file; tally what is skipped."""
    before = 0
    for path in backup.files:
        name, where = _name_in_backup(path, backup.folder), ":1"
        bytes_read, others, count, holds_entries = before, Tally(), 0, False
        try:
            with path.open("rb", STEP) as opened:
                file = cast("io.BufferedReader", opened)
                for count, (where, body) in enumerate(_texts(path, file), 1):
                    if count % _SELDOM == 1:
                        bytes_read = before + file.tell()
                    found = _read(body)
                    if isinstance(found, About):
                        yield BackupEntry(name + where, body, found, bytes_read)
                        holds_entries = True
                    elif found.is_other and not where.startswith(":"):
                        others.add(f"{name}{where}{found.reason}")
                    else:
                        backup.unreadable.add(f"{name}{where}{found.reason}")
                before += os.fstat(file.fileno()).st_size
        except (lzma.LZMAError, EOFError, OSError) as error:
            if isinstance(error, OSError) and error.strerror:
                backup.unreadable.add(f"{name}: the file cannot be read: {error.strerror}")
            else:
                problem = f"the file is cut off or not compressed as its name says ({error})"
                backup.unreadable.add(f"{name}:{count + 1}: {problem}: copy it again")
        except ValueError as error:
            backup.unreadable.add(f"{name}{error}")
        if holds_entries:
            backup.unreadable.join(others)
        elif others.count:
            backup.without_entries.add(name)
            backup.other.add(others.first[0])


def _name_in_backup(path: Path, folder: Path) -> str:
    """Name a file within the backup; names need not be UTF-8."""
    return os.fsencode(path.relative_to(folder)).decode(errors="backslashreplace")


def _texts(path: Path, file: io.BufferedReader) -> Iterator[tuple[str, bytes]]:
    """Yield texts that may be entries, with where they stand; large ones end a byte too late.

    Raises `ValueError` where the file can be read no further.
    """
    source = _plain(file)
    head = source.peek(STEP)
    if head[257:262] == b"ustar" or head[:4] == b"PK\3\4":
        raise ValueError(" is an archive of files: unpack it and name the folder")
    first, _, following = head.lstrip().partition(b"\n")
    first = first.strip()
    is_one = path.suffix == _ONE and not (following.strip() and _is_json(first))
    if first[:1] != b"[" and first != b"{" and not is_one:
        yield from _lines(source)
        return
    if first[:1] != b"[":
        text = source.read(LARGEST_ENTRY + 1)
        if len(text) <= LARGEST_ENTRY and (not text.strip() or _is_json(text)):
            yield "", text
            return
        file.seek(0)
        source = _plain(file)
    yield from _objects(source)


def _lines(source: BinaryIO) -> Iterator[tuple[str, bytes]]:
    number = 0
    while line := source.readline(LARGEST_ENTRY + 1):
        number += 1
        body = line.strip() if line[:1] in b" \t[" and len(line) <= LARGEST_ENTRY else line
        nested = list(_objects(io.BytesIO(body))) if body[:1] == b"[" and _is_json(body) else ()
        if nested:
            yield from ((f":{number}{where}", text) for where, text in nested)
        elif body := body.rstrip(b"\r\n"):
            yield f":{number}", body
        while not line.endswith(b"\n") and (line := source.readline(STEP)):
            pass


def _objects(source: BinaryIO) -> Iterator[tuple[str, bytes]]:
    """Yield the values that stand in lists, or one after the other."""
    decode = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode
    decoder, read, at, number = json.JSONDecoder(), "", 0, 1
    while True:
        at = cast("re.Match[str]", _BETWEEN.match(read, at)).end()
        problem, where = "", f", entry {number:,}"
        try:
            _, end = decoder.raw_decode(read, at)
        except (ValueError, RecursionError) as error:
            problem, end = str(error).partition(": line ")[0], len(read)
        # Only what is closed by a brace is known to be at its end.
        if end == len(read) and (problem or at == end or read[at] not in "{"):
            length = end - at
            block = source.read(max(STEP, length)) if length <= LARGEST_ENTRY else b""
            if more := decode(block, not block):
                read, at = read[at:] + more, 0
                continue
            if at == end:
                return
            if length > LARGEST_ENTRY:
                raise ValueError(f"{where}: {_TOO_LARGE}, or it is not JSON")
            if problem:
                raise ValueError(f"{where if number > 1 else ''} is not JSON ({problem})")
        yield where, read[at:end].encode("utf-8", "surrogateescape")
        at, number = end, number + 1


def _is_json(text: bytes) -> bool:
    try:
        parse_json(text)
    except ValueError:
        return False
    return True


def _plain(file: io.BufferedReader) -> io.BufferedReader:
    """Return a file's text in UTF-8, unpacked."""
    source = unpacked(file)
    encoding = json.detect_encoding(source.peek(4)[:4])
    if encoding == "utf-8-sig":
        source.read(3)
    elif encoding != "utf-8":
        source = io.BufferedReader(_Recoded(source, encoding), STEP)
    return source


class _Recoded(io.RawIOBase):
    """Reads text of another encoding as UTF-8."""

    def __init__(self, source: BinaryIO, encoding: str) -> None:
        self._source = source
        self._decode = codecs.getincrementaldecoder(encoding)("replace").decode

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        block = self._source.read(len(buffer) // 4)  # of UTF-16, two bytes give three at most
        out = self._decode(block, not block).encode()
        buffer[: len(out)] = out
        return len(out)


class _Flaw(NamedTuple):
    """What is wrong with a text that is no entry."""

    reason: str
    is_other: bool = False
    """True for sound JSON that is something else."""


def _read(body: bytes) -> About | _Flaw:
    """Return what an entry says of itself, or why there is none."""
    if len(body) > LARGEST_ENTRY:
        return _Flaw(f": {_TOO_LARGE}")
    try:
        data = parse_json(body)
        shaped = read_shape(data)
        found = about(shaped)
    except ValueError as error:
        return _Flaw(f" is not JSON ({error})" if body.strip() else " is empty")
    except MALFORMED as error:
        return _Flaw(f" is not in the shape of a backup ({type(error).__name__}: {error})")
    if found is not None:
        return found
    reason = named_shape(data) or "is not an entry: it has no type or no number"
    return _Flaw(f" {reason}", is_other=shaped is None)

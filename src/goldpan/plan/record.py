"""The record of a step's last run: what its result depends on, and what it wrote.

A step is due where its settings, the digests of its inputs or Goldpan's version differ from those
of its record, or where an output is not what it wrote.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from goldpan.core.errors import DamagedError, GoldpanError
from goldpan.core.secrets import mask
from goldpan.core.storage.sealed import EMPTY, KEY, file_digest, read_json, sealed_json
from goldpan.core.storage.workspace import make_directory, write_whole
from goldpan.datasets.card import CARD, without_audit
from goldpan.datasets.provenance import PROVENANCE

ABSENT = "absent"
STOPPED = "the last run was stopped"
_LONGEST = 60


@dataclass(frozen=True, slots=True)
class Basis:
    """All that the result of a step depends on."""

    version: str = ""
    """Goldpan's; empty where the step failed before the rest was known."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """By dotted key."""
    inputs: Mapping[str, str] = field(default_factory=dict)
    """Digests of what it reads, by name."""

    def changes(self, now: Basis) -> Iterator[str]:
        """Yield how another basis differs, with old and new values."""
        if not self.version:
            return
        if self.version != now.version:
            yield f"Goldpan's version: {self.version} → {now.version}"
        yield from _differences("setting", self.settings, now.settings)
        yield from _differences("input", self.inputs, now.inputs)


@dataclass(frozen=True, slots=True)
class Record:
    """A step as it was last run."""

    unit: str
    state: Literal["begun", "done", "partial", "failed"]
    basis: Basis
    at: str
    """When it began, or ended."""
    outputs: Mapping[str, str] = field(default_factory=dict)
    """Digests of what it wrote, by path below the workspace."""
    seconds: float = 0.0
    summary: str = ""
    missing: tuple[str, ...] = ()
    again: bool = False
    stops: bool = False
    repo: str = ""
    problem: str = ""
    remedy: str = ""

    def changes(self, basis: Basis, root: Path, *, owns: bool) -> Iterator[str]:
        """Yield why the step is due: what differs from when it was last run.

        Outputs that others changed count where the step `owns` them.
        """
        if self.state == "begun":
            yield STOPPED
        if self.state == "failed":
            yield f"the last run failed ({self.problem})"
        yield from self.basis.changes(basis)
        for path, digest in self.outputs.items():
            now = digest_of(root / path)
            if now != digest and (owns or now == ABSENT):
                yield f"output {path}: {digest[:12]} → {now[:12]}"


def read_record(path: Path) -> Record | None:
    """Return a stored record, None where there is none or it is damaged: the step is then due."""
    try:
        value = read_json(path)
        basis = Basis(**value.pop("basis"))
        return Record(**{**value, "basis": basis, "missing": tuple(value["missing"])})
    except (OSError, DamagedError, orjson.JSONDecodeError, KeyError, TypeError):
        return None


def write_record(path: Path, record: Record) -> None:
    """Store a record, whole or not at all."""
    make_directory(path.parent)
    write_whole(path, sealed_json(asdict(record)))


def digest_of(path: Path) -> str:
    """Return what tells a file's content apart, quickly; `ABSENT` where it is not there.

    Goldpan's tables carry the digest of themselves, which is taken as it stands: stages verify
    what they read. Of a dataset's Parquet files, whose digests are in `provenance.json`, it is
    the size, as of archives, which only grow. What an audit writes into a card is no change of the
    dataset.
    """
    try:
        status = path.stat()
        if path.name in (CARD, PROVENANCE):
            return _unaudited(path)
        if path.suffix == ".zst":
            return f"{status.st_size} bytes"
        if path.suffix != ".parquet":
            return file_digest(path)
        return _seal(path, status.st_size, status.st_mtime_ns, status.st_ino)
    except FileNotFoundError:
        return ABSENT
    except (OSError, pa.ArrowException):
        return "unreadable"


def _unaudited(path: Path) -> str:
    try:
        return hashlib.sha256(without_audit(path)).hexdigest()
    except GoldpanError:  # damaged, or no dataset's
        return file_digest(path)


@lru_cache(maxsize=65_536)
def _seal(path: Path, size: int, _changed: int, _inode: int) -> str:
    metadata: Mapping[bytes, bytes] = pq.read_metadata(path).metadata or {}
    seal = metadata.get(KEY.encode(), b"").decode()
    return seal.removeprefix(EMPTY.rstrip("0")) if seal else f"{size} bytes"


def digests_of(paths: Iterable[Path], *roots: Path) -> dict[str, str]:
    """Return the digests of files by their paths, below the first folder that holds them."""
    digests = {}
    for path in sorted(paths):
        root = next((root for root in roots if path.is_relative_to(root)), None)
        name = path.absolute() if root is None else path.relative_to(root)
        digests[name.as_posix()] = digest_of(path)
    return digests


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested settings by dotted keys, as JSON holds them, without secrets."""
    flattened: dict[str, Any] = {}
    for name, value in values.items():
        key = f"{prefix}{name}"
        if isinstance(value, Mapping) and value:
            flattened |= flat(value, f"{key}.")
        else:
            flattened[key] = orjson.loads(mask(orjson.dumps(value, default=str).decode()))
    return flattened


def _differences(kind: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for key in sorted({*old, *new}):
        # A file that is not there yet is no other input than one that nobody asked for.
        if old.get(key, ABSENT) != new.get(key, ABSENT):
            yield f"{kind} {key}: {_value_text(old, key)} → {_value_text(new, key)}"


def _value_text(values: Mapping[str, Any], key: str) -> str:
    if key not in values:
        return ABSENT
    value = values[key]
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    if len(text) == 64 and all(sign in "0123456789abcdef" for sign in text):
        return text[:12]
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"

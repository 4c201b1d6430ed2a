"""Units of a plan, and the record that is kept of the last run of each."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, get_args

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from goldpan.core.errors import DamagedError, GoldpanError
from goldpan.core.result import Result
from goldpan.core.secrets import mask
from goldpan.core.storage.sealed import EMPTY, KEY, file_digest, read_json, sealed_json
from goldpan.core.storage.workspace import make_directory, write_whole
from goldpan.datasets.card import CARD, without_audit
from goldpan.datasets.provenance import PROVENANCE

State = Literal["begun", "done", "partial", "failed"]
ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class UnitRecipe:
    """All that a unit's result depends on."""

    version: str
    """Goldpan's."""
    settings: Mapping[str, Any]
    """By dotted key."""
    inputs: Mapping[str, str]
    """Digests of what it reads, by name."""

    @property
    def fingerprint(self) -> str:
        """The digest of all of it."""
        data = orjson.dumps(asdict(self), option=orjson.OPT_SORT_KEYS)
        return hashlib.sha256(data).hexdigest()


@dataclass(frozen=True, slots=True)
class Change:
    """Why a unit is due: what differs from when it was last run."""

    what: str
    """Such as `setting rules` or `input tables/entries`."""
    old: str = ""
    new: str = ""

    def __str__(self) -> str:
        return f"{self.what}: {self.old} → {self.new}" if self.old or self.new else self.what


@dataclass(frozen=True, slots=True)
class UnitRecord:
    """A unit as it was last run."""

    unit: str
    state: State
    recipe: UnitRecipe
    at: str
    """When it began, or ended."""
    outputs: Mapping[str, str] = field(default_factory=dict)
    """Digests of what it made, by path below the workspace."""
    bytes: int = 0
    """The size of what it made."""
    seconds: float = 0.0
    spent: Mapping[str, float] = field(default_factory=dict)
    """Requests, points, money."""
    said: str = ""
    """A line on the result."""
    lacks: tuple[str, ...] = ()
    """Descriptions of what is missing."""
    again: bool = False
    """True where another run may bring what is missing."""
    problem: str = ""
    remedy: str = ""
    waits: bool = False
    """True where no unit that needs this one is to run while something is missing."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """Facts for later units, such as a repository's new name."""


def read_record(path: Path) -> UnitRecord | None:
    """Return a stored record, None where there is none or it is damaged: the unit is then due."""
    try:
        value = read_json(path)
        recipe = UnitRecipe(**value.pop("recipe"))
        return UnitRecord(**{**value, "recipe": recipe, "lacks": tuple(value["lacks"])})
    except (OSError, DamagedError, orjson.JSONDecodeError, KeyError, TypeError):
        return None


def write_record(path: Path, record: UnitRecord) -> None:
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


def digests_of(root: Path, paths: Iterable[Path]) -> dict[str, str]:
    """Return the digests of files by their paths, below a folder where they are below it."""
    return {_below(root, path).as_posix(): digest_of(path) for path in sorted(paths)}


def _below(root: Path, path: Path) -> Path:
    return path.relative_to(root) if path.is_relative_to(root) else path.absolute()


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


def changes(old: UnitRecipe, new: UnitRecipe) -> Iterator[Change]:
    """Yield what differs between two recipes: version, settings, inputs."""
    if old.version != new.version:
        yield Change("Goldpan's version", old.version, new.version)
    yield from _differences("setting", old.settings, new.settings)
    yield from _differences("input", old.inputs, new.inputs)


def _differences(kind: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    for key in sorted({*old, *new}):
        # A file that is not there yet is no other input than one that nobody asked for.
        if old.get(key, ABSENT) != new.get(key, ABSENT):
            yield Change(f"{kind} {key}", _value_text(old, key), _value_text(new, key))


_LONGEST = 60


def _value_text(values: Mapping[str, Any], key: str) -> str:
    if key not in values:
        return ABSENT
    value = values[key]
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    if len(text) == 64 and all(sign in "0123456789abcdef" for sign in text):
        return text[:12]
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def named_changes(differing: Sequence[Change], most: int = 3) -> str:
    """Return changes as a line tells them."""
    shown = "; ".join(map(str, differing[:most]))
    return f"{shown} and {len(differing) - most:,} more" if len(differing) > most else shown


Stage = Literal[
    "mine",
    "tasks",
    "pair",
    "clone",
    "duplicates",
    "filter",
    "review",
    "dataset",
    "annotate",
    "verify",
    "evaluate",
    "compare",
    "audit",
    "export",
    "publish",
]
STAGES: tuple[Stage, ...] = get_args(Stage)
"""In the order in which they are run, unless a unit needs one of a later stage."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A piece of work that is run, skipped or reported as one."""

    stage: Stage
    subject: str
    """A repository, or the name of what is made."""
    needs: tuple[str, ...] = ()
    """The units without which it makes no sense, by name."""
    after: tuple[str, ...] = ()
    """The units that are run before it and it can do without, by name."""

    @property
    def name(self) -> str:
        """Its name, such as ``mine/numpy/numpy``."""
        return f"{self.stage}/{self.subject}"


@dataclass(frozen=True, slots=True)
class Cost:
    """The estimated cost of running a unit; None is unknown."""

    requests: int | None = None
    points: int | None = None
    money: float | None = None
    calls: int | None = None
    """Requests to models."""
    seconds: float | None = None
    bytes: int | None = None
    note: str = ""
    """Why something is unknown."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of running a unit."""

    said: str
    made: tuple[Path, ...] = ()
    """Files whose content the unit stands for."""
    kept: tuple[Path, ...] = ()
    """Files and folders that count for its size alone."""
    spent: Mapping[str, float] = field(default_factory=dict)
    lacks: tuple[str, ...] = ()
    again: bool = False
    """True where another run may bring what is missing."""
    waits: bool = False
    """True where no unit that needs this one is to run while something is missing."""
    facts: Mapping[str, str] = field(default_factory=dict)
    results: tuple[Result, ...] = ()
    """Results of the operation, for people to see."""

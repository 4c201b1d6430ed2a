"""The record of a unit's last run: what its result depends on, and what it wrote.

A unit is due where its settings, the digests of its inputs or Goldpan's version differ from those
of its record, or where an output is not what it wrote.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from goldpan.core.errors import DamagedError, GoldpanError
from goldpan.core.result import NOT_IN_JSON, Result, Results
from goldpan.core.secrets import mask
from goldpan.core.storage.sealed import EMPTY, KEY, file_digest, read_json, sealed_json
from goldpan.core.storage.workspace import make_directory, write_whole
from goldpan.datasets.card import CARD, without_audit
from goldpan.datasets.provenance import PROVENANCE

ABSENT = "absent"
_LONGEST = 60
State = Literal["fresh", "due", "done", "partial", "failed", "skipped"]
"""Up to date or not; how it ended: whole, in part, or not at all."""
_OF_A_RUN = ("why", "ran", "because")
"""The fields of a result that its record does not keep."""


@dataclass(frozen=True, kw_only=True)
class StepResult(Result):
    """A unit of a plan: whether it is due and why, or what became of it."""

    schema: ClassVar[int] = 2

    unit: str
    stage: str
    subject: str
    state: State
    why: tuple[str, ...] = ()
    """Why it is due, or ran."""
    ran: bool = False
    seconds: float = 0.0
    at: str = ""
    """When it last ran."""
    summary: str = ""
    missing: tuple[str, ...] = ()
    problem: str = ""
    remedy: str = ""
    because: str = ""
    """The unit that failed, waits or was left out, where this one was skipped for it."""
    basis: Mapping[str, Any] = field(default_factory=dict, metadata=NOT_IN_JSON, repr=False)
    """All that its result depends on, by name; empty where it failed before that was known."""
    outputs: Mapping[str, str] = field(default_factory=dict, metadata=NOT_IN_JSON, repr=False)
    """Digests of what it wrote, by path below the workspace."""
    again: bool = field(default=False, metadata=NOT_IN_JSON)
    """True where another run may bring what is missing."""
    repo: str = field(default="", metadata=NOT_IN_JSON)
    """The name under which a mined repository is kept: GitHub may have renamed it."""

    @property
    def stops_others(self) -> bool:
        """True where units that need it are skipped: also while people annotate."""
        waits = self.stage == "annotate" and bool(self.missing)
        return waits or self.state in ("failed", "skipped")

    @property
    def trouble(self) -> str:
        """The problem with its remedy, or what is missing."""
        if self.problem:
            return str(GoldpanError(self.problem, self.remedy))
        return "; ".join(self.missing) or self.summary

    def changes(self, basis: Mapping[str, Any], root: Path) -> Iterator[str]:
        """Yield why a unit with this record is due: what differs from when it was last run."""
        if self.state == "failed":
            yield f"the last run failed ({self.problem})"
        yield from differences(self.basis, basis)
        for path, digest in self.outputs.items():
            if (now := digest_of(root / path)) != digest:
                yield f"output {path}: {digest[:12]} → {now[:12]}"


@dataclass(frozen=True)
class PlanResult(Result):
    """The result of a plan's run."""

    schema = 3
    shown_in_json: ClassVar[tuple[str, ...]] = ("ran", "complete")

    plan: str
    workspace: Path
    repositories: tuple[str, ...]
    units: tuple[StepResult, ...]
    seconds: float

    @property
    def complete(self) -> bool:
        """True where nothing failed, was skipped or is missing."""
        return all(unit.state in ("done", "fresh") for unit in self.units)

    @property
    def exit_code(self) -> int:
        """3 where it is not complete."""
        return 0 if self.complete else 3

    @property
    def ran(self) -> int:
        """How many units were run."""
        return sum(unit.ran for unit in self.units)


class DryRun(Results[StepResult]):
    """The units of a plan as a run of it would find them, in its order."""

    __slots__ = ("plan", "workspace")
    schema = 3

    def __init__(self, units: Iterable[StepResult], plan: Path, workspace: Path) -> None:
        super().__init__(units)
        self.plan = plan
        self.workspace = workspace


def named(reasons: tuple[str, ...], most: int = 3) -> str:
    """Return reasons as a line tells them."""
    shown = "; ".join(reasons[:most])
    return f"{shown} and {len(reasons) - most:,} more" if len(reasons) > most else shown


def read_record(path: Path) -> StepResult | None:
    """Return a stored record, None where there is none or it is damaged: the unit is then due."""
    try:
        value = read_json(path)
        return StepResult(**value | {"missing": tuple(value["missing"])})
    except (OSError, DamagedError, orjson.JSONDecodeError, KeyError, TypeError):
        return None


def write_record(path: Path, record: StepResult) -> None:
    """Store a record, whole or not at all."""
    make_directory(path.parent)
    kept = (one.name for one in fields(record) if one.name not in _OF_A_RUN)
    write_whole(path, sealed_json({name: getattr(record, name) for name in kept}))


def digest_of(path: Path) -> str:
    """Return what tells a file's content apart, quickly; `ABSENT` where it is not there.

    Goldpan's tables carry the digest of themselves, which is taken as it stands: stages verify
    what they read. Of a dataset's Parquet files, whose digests are in `provenance.json`, it is
    the size, as of archives, which only grow. What an audit writes into a card is no change of the
    dataset, and of a folder only counts that it is there.
    """
    try:
        status = path.stat()
        if path.is_dir():
            return "folder"
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


def flat(values: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """Return nested settings by dotted keys, as JSON holds them, without secrets."""
    flattened: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping) and value:
            flattened |= flat(value, f"{prefix}{name}.")
        else:
            plain = orjson.loads(mask(orjson.dumps(value, default=str).decode()))
            flattened[f"{prefix}{name}"] = plain
    return flattened


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """Yield how what a result depends on differs from before, with old and new values."""
    for key in sorted({*old, *new} if old else ()):
        # A file that is not there yet is no other input than one that nobody asked for.
        before, now = old.get(key, ABSENT), new.get(key, ABSENT)
        if before != now:
            yield f"{key}: {_value_text(before)} → {_value_text(now)}"


def _value_text(value: Any) -> str:
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    if len(text) == 64 and all(sign in "0123456789abcdef" for sign in text):
        return text[:12]
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"

"""Mends a damaged archive: what is sound of a damaged file stays, what is lost is asked for again.

The damaged file is set aside as evidence in ``damaged/``. In its place comes one with its sound
replies and, behind them, a `repaired` record that names what was lost and up to which run nothing
counts as finished: the next run asks for everything that it does not find.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from goldpan.core.result import Result
from goldpan.core.storage.archive import find_flaws, scan_runs
from goldpan.core.storage.run_file import END, Flaw, Record, broken_bodies, encode
from goldpan.core.storage.workspace import make_directory, replacing_file

REPAIRED = "repaired"
_ASIDE = "damaged"


@dataclass(frozen=True, slots=True)
class Lost:
    """A reply that is lost; its part and number where its header is sound."""

    file: str
    offset: int
    part: str | None
    number: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class Repair(Result):
    """The result of mending an archive."""

    directory: Path
    aside: tuple[Path, ...]
    """The damaged files, set aside."""
    kept: int
    """Sound replies in their place."""
    lost: tuple[Lost, ...]
    backups: tuple[Lost, ...]
    """Lost replies that came from a backup: no run can request them again."""


def check_archive(directory: Path) -> list[Flaw]:
    """Return all damage in an archive, bodies included, in the order of the files."""
    scans = scan_runs(directory)
    flaws = list(find_flaws(directory, scans))
    for scan in scans:
        flaws += broken_bodies(scan.records)
    return sorted(flaws, key=lambda flaw: (flaw.path.name, flaw.start))


def repair(directory: Path) -> Repair:
    """Mend an archive, under its lock; does nothing where nothing is damaged."""
    flaws = check_archive(directory)
    runs = {scan.path: scan.records for scan in scan_runs(directory)}
    runs |= {flaw.path: () for flaw in flaws if flaw.path not in runs}
    newest = max(runs, default=directory)
    until = len(runs.get(newest, ()))
    aside: list[Path] = []
    lost: list[Lost] = []
    backups: list[Lost] = []
    kept = 0
    for path in sorted({flaw.path for flaw in flaws}, reverse=True):
        own = [flaw for flaw in flaws if flaw.path == path]
        sound = list(_sound(runs[path], own))
        until = len(sound) if path == newest else until
        lost_here = _lost(runs[path], own)
        mark = {
            "part": REPAIRED,
            "run": _number(path),
            "keys": [],
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "until": [_number(newest), until],
            "lost": [(loss.part, loss.number, loss.offset) for loss in lost_here],
        }
        aside += _replace(path, sound, b"".join(encode(mark, b"")))
        lost = [*lost_here, *lost]
        kept += len(sound)
        if any(record.meta["part"] == "backup" for record in runs[path]):
            backups = [*(loss for loss in lost_here if loss.part in (None, "backup")), *backups]
    return Repair(directory, tuple(reversed(aside)), kept, tuple(lost), tuple(backups))


def _sound(records: Sequence[Record], flaws: Sequence[Flaw]) -> Iterator[Record]:
    """Yield a file's sound records but its end and what was concluded from lost ones."""
    broken = {flaw.start for flaw in flaws}
    places = {record.start: record.meta.get("number") for record in records}
    numbers = {places.get(flaw.start) for flaw in flaws}
    for record in records:
        meta = record.meta
        ends_list = meta.get("first") is False and meta["next"] is None
        is_finding = meta.get("keys") and (not record.size or ends_list)
        stands_on_lost = is_finding and (None in numbers or meta.get("number") in numbers)
        if record.start not in broken and meta["part"] != END and not stands_on_lost:
            yield record


def _lost(records: Iterable[Record], flaws: Iterable[Flaw]) -> list[Lost]:
    metas = {record.start: record.meta for record in records}
    return [
        Lost(flaw.path.name, flaw.start, meta.get("part"), meta.get("number"), flaw.reason)
        for flaw in flaws
        for meta in [metas.get(flaw.start, {})]
    ]


def _replace(path: Path, records: Iterable[Record], mark: bytes) -> list[Path]:
    """Write a file of these records in place of a damaged one; return where that is set aside."""
    folder = path.parent / _ASIDE
    aside = []
    if path.exists():
        make_directory(folder)
        number = 1
        while (evidence := folder / f"{path.stem}.{number}{path.suffix}").exists():
            number += 1
        os.link(path, evidence)
        aside.append(evidence)
    with replacing_file(path) as draft, draft.open("wb") as file:
        for record in records:
            with path.open("rb") as source:
                source.seek(record.start)
                file.write(source.read(record.end - record.start))
        file.write(mark)
    return aside


def _number(path: Path) -> int:
    return int(path.stem.removeprefix("run-"))

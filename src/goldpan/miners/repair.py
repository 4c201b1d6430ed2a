"""Mends a damaged archive: what is sound of a damaged file stays, what is lost is asked for again.

The damaged file is set aside as evidence in ``damaged/``, and one with its sound replies takes its
place. A run of its own, with one `repaired` record, then says that no earlier run counts as
finished: the next run asks for everything that it does not find.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from goldpan.core.result import Result
from goldpan.core.storage.archive import Archive, find_flaws, scan_runs
from goldpan.core.storage.run_file import END, REPAIRED, Flaw, Record, broken_bodies
from goldpan.core.storage.workspace import make_directory, replacing_file

_ASIDE = "damaged"


@dataclass(frozen=True, slots=True)
class Repair(Result):
    """The result of mending an archive."""

    schema = 2

    directory: Path
    aside: tuple[Path, ...] = ()
    """The damaged files, set aside."""
    kept: int = 0
    """Sound replies in their place."""
    flaws: int = 0
    """Places that were damaged."""


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
    if not flaws:
        return Repair(directory)
    runs = {scan.path: scan.records for scan in scan_runs(directory)}
    aside: list[Path] = []
    kept = 0
    damaged = {flaw.path for flaw in flaws}
    for path in sorted(damaged & runs.keys()):
        sound = list(_sound(runs[path], {flaw.start for flaw in flaws if flaw.path == path}))
        aside.append(_replace(path, sound))
        kept += len(sound)
    with Archive(directory, damaged) as archive:
        run = archive.begin(resume=False)
        at = datetime.now(UTC).isoformat(timespec="seconds")
        files = sorted(path.name for path in damaged)
        archive.append({"part": REPAIRED, "run": run, "keys": [], "at": at, "files": files})
    return Repair(directory, tuple(aside), kept, len(flaws))


def _sound(records: Sequence[Record], broken: set[int]) -> Iterator[Record]:
    """Yield a file's sound records but its end and what was concluded from lost ones."""
    places = {record.start: record.meta.get("number") for record in records}
    numbers = {places.get(start) for start in broken}
    for record in records:
        meta = record.meta
        ends_list = meta.get("first") is False and meta["next"] is None
        is_finding = meta.get("keys") and (not record.size or ends_list)
        stands_on_lost = is_finding and (None in numbers or meta.get("number") in numbers)
        if record.start not in broken and meta["part"] != END and not stands_on_lost:
            yield record


def _replace(path: Path, records: Iterable[Record]) -> Path:
    """Write a file of these records in place of a damaged one; return where that is set aside."""
    folder = path.parent / _ASIDE
    make_directory(folder)
    number = 1
    while (evidence := folder / f"{path.stem}.{number}{path.suffix}").exists():
        number += 1
    os.link(path, evidence)
    with replacing_file(path) as draft, draft.open("wb") as file, path.open("rb") as source:
        for record in records:
            source.seek(record.start)
            file.write(source.read(record.end - record.start))
    return evidence

"""Mends a damaged archive: sound replies keep their places, lost ones are asked for again.

The damaged file is set aside as evidence in ``damaged/``. In its place comes one in which each
damaged stretch is a `lost` record, of the same length where that fits, so that the names of all
other replies stay as they were. A `repaired` record behind them seals what is there and says up
to which run nothing counts as finished: the next run asks for everything that it does not find.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from goldpan.core.errors import WorkspaceError
from goldpan.core.result import Result
from goldpan.core.storage.archive import find_flaws, scan_runs
from goldpan.core.storage.run_file import (
    DIGEST,
    END,
    SEAL,
    Flaw,
    Record,
    Scan,
    broken_bodies,
    encode,
    seal_of,
)
from goldpan.core.storage.workspace import make_directory

LOST, REPAIRED = "lost", "repaired"
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
    scans = {scan.path: scan for scan in scan_runs(directory)}
    newest = max([_number(path) for path in (*scans, *(flaw.path for flaw in flaws))], default=0)
    counts = {_number(path): len(scan.records) for path, scan in scans.items()}
    aside: list[Path] = []
    lost: list[Lost] = []
    backups: list[Lost] = []
    kept = 0
    for path in dict.fromkeys(flaw.path for flaw in flaws):
        file_flaws = [flaw for flaw in flaws if flaw.path == path]
        run = scans.get(path) or Scan(path, (), (), None, False)
        with _replacing(path, aside) as sink:
            rewriting = _Rewriting(run, file_flaws, newest, counts.get(newest, 0), sink)
            rewriting.write()
        lost += rewriting.lost
        kept += rewriting.kept
        if any(record.meta["part"] == "backup" for record in run.records):
            backups += [loss for loss in rewriting.lost if loss.part in (None, "backup")]
    return Repair(directory, tuple(aside), kept, tuple(lost), tuple(backups))


def trusted_ends(records: Sequence[Record]) -> list[Record]:
    """Return the ends of runs after which no reply was lost."""
    run_ends: dict[int, int] = {}
    ends: list[tuple[list[int], Record]] = []
    repaired = [0, 0]
    for record in records:
        index = run_ends[record.run] = run_ends.get(record.run, -1) + 1
        if record.meta["part"] == END:
            ends.append(([record.run, index], record))
        elif record.meta["part"] == REPAIRED:
            repaired = max(repaired, record.meta["until"])
    return [record for position, record in ends if position >= repaired]


def unresolved(records: Sequence[Record]) -> list[tuple[int | None, str, str]]:
    """Return number, part and reason of the replies that were lost and not asked for since."""
    if trusted_ends(records):
        return []
    return [
        (number, part or "replies", f"{record.path.name} was damaged at byte {record.start}")
        for record in records
        if record.meta["part"] == LOST
        for part, number in [record.meta["lost"]]
        if part != END
    ]


class _Rewriting:
    """One file written anew, without its damaged records."""

    def __init__(
        self, run: Scan, flaws: list[Flaw], newest: int, count: int, sink: BinaryIO
    ) -> None:
        self.kept = 0
        self.lost: list[Lost] = []
        self._run = run
        self._newest = newest
        self._count = count
        self._sink = sink
        self._about = {
            "run": _number(run.path),
            "keys": [],
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        self._flaws = sorted(flaws, key=lambda flaw: flaw.start)
        records = {record.start: record for record in run.records}
        broken = [records.get(flaw.start) for flaw in flaws]
        self._numbers = {record and record.meta.get("number") for record in broken}
        self._digests: list[bytes] = []

    def write(self) -> None:
        """Write the file."""
        for record in self._run.records:
            while self._flaws and self._flaws[0].start < record.start:
                self._lose(self._flaws.pop(0), None)
            length = record.end - record.start
            if self._flaws and self._flaws[0].start == record.start:
                self._lose(self._flaws.pop(0), record)
            elif record.meta["part"] == END or self._stands_on_lost(record):
                self._add(self._lost(record), length)
            else:
                self._keep(record)
        for flaw in self._flaws:
            self._lose(flaw, None)
        count = self._count if self._newest != self._about["run"] else len(self._digests)
        self._add({"part": REPAIRED, "until": [self._newest, count], SEAL: seal_of(self._digests)})

    def _lose(self, flaw: Flaw, record: Record | None) -> None:
        loss = self._lost(record)
        part, number = loss["lost"]
        self.lost.append(Lost(flaw.path.name, flaw.start, part, number, flaw.reason))
        self._add(loss, flaw.end - flaw.start)

    def _lost(self, record: Record | None) -> dict[str, Any]:
        meta: dict[str, Any] = record.meta if record else {}
        return {"part": LOST, "lost": [meta.get("part"), meta.get("number")]}

    def _stands_on_lost(self, record: Record) -> bool:
        """Tell whether a record is a finding drawn from others of which one may be lost.

        So is the last of a list's pages: it says that the list was read to its end.
        """
        meta = record.meta
        ends_list = meta.get("first") is False and meta["next"] is None
        if not meta.get("keys") or (record.size and not ends_list):
            return False
        return None in self._numbers or record.meta.get("number") in self._numbers

    def _keep(self, record: Record) -> None:
        self.kept += 1
        with record.path.open("rb") as file:
            file.seek(record.start)
            self._sink.write(file.read(record.end - record.start))
        self._digests.append(record.digest)

    def _add(self, meta: dict[str, Any], length: int = 0) -> None:
        head, frame = encode({**self._about, **meta}, b"", length)
        self._digests.append(head[-DIGEST:])
        self._sink.write(head + frame)


@contextmanager
def _replacing(path: Path, aside: list[Path]) -> Iterator[BinaryIO]:
    """Give a file to write in place of a damaged one, which is set aside afterwards."""
    folder = path.parent / _ASIDE
    make_directory(folder)
    replacement = folder / f"{path.name}.new"
    try:
        with replacement.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            number = 1
            while (evidence := folder / f"{path.stem}.{number}{path.suffix}").exists():
                number += 1
            os.link(path, evidence)
            aside.append(evidence)
        replacement.replace(path)
    except OSError as error:
        replacement.unlink(missing_ok=True)
        raise WorkspaceError(
            f"{path} cannot be replaced: {error.strerror}", "Free some space and run it again"
        ) from None


def _number(path: Path) -> int:
    return int(path.stem.removeprefix("run-"))

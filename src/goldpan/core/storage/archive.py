"""Raw replies, kept as they came before anything reads them.

A repository's archive is one append-only file a run, ``run-0001.zst``, whose records are the
replies (`core/storage/run_file.py`). So `zstd -dc` prints the bodies, and an index is read without
unpacking anything. A record that a kill or a full disk cut off stands at the end of the newest
run and is dropped when the next one is written; anything else that is not as it was written is
damage, and is told. No record holds a credential: request headers are never kept.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from goldpan.core.errors import WorkspaceError
from goldpan.core.resources import FREE_SPACE
from goldpan.core.result import Result
from goldpan.core.secrets import mask_record
from goldpan.core.storage.run_file import (
    DIGEST,
    EARLIER,
    END,
    REPAIRED,
    SEAL,
    Flaw,
    Record,
    Scan,
    Seal,
    damaged,
    encode,
    first_broken,
    is_torn,
    scan,
    seal_of,
)
from goldpan.core.storage.workspace import make_directory, replacing_file


class Archive:
    """The raw replies of one repository; open it for writing only under the workspace's lock.

    Raises `WorkspaceError` where a file is damaged, but for those that a repair has in hand.
    """

    def __init__(self, directory: Path, mending: Collection[Path] = ()) -> None:
        self.directory = directory
        self._file: int | None = None
        self._path: Path | None = None
        self._end = 0
        self._run = 0
        self._digests: list[bytes] = []
        scans = scan_runs(directory)
        for flaw in find_flaws(directory, scans):
            if flaw.path not in mending:
                raise damaged(flaw)
        self.records = [record for run in scans for record in run.records]

    @property
    def runs(self) -> int:
        """The number of the newest run, 0 before the first."""
        paths = run_files(self.directory)
        return _number(paths[-1]) if paths else 0

    def seals(self) -> dict[str, Seal]:
        """Return how many records each run has, and the digest over their headers, by file."""
        digests: dict[str, list[bytes]] = {path.name: [] for path in run_files(self.directory)}
        for record in self.records:
            digests[record.path.name].append(record.digest)
        return {name: seal_of(digest) for name, digest in digests.items()}

    def begin(self, *, resume: bool) -> int:
        """Open the newest run (or a new one) for writing and return its number."""
        make_directory(self.directory)
        newest = self.runs
        if newest:
            self._open(newest)
        if not resume or not newest:
            self.close()
            self._open(newest + 1)
        return self._run

    def append(self, meta: dict[str, Any], body: bytes = b"", *, sync: bool = True) -> Record:
        """Write one record and return it, with `sync` once it is safe on disk.

        The first record of a run also seals the runs before it, and `end` seals its own.
        """
        if self._file is None or self._path is None:
            raise RuntimeError("the archive is not open for writing")
        meta, masked = mask_record(meta, body)
        meta = {name: value for name, value in meta.items() if name not in (SEAL, EARLIER)}
        if not self._digests and self._run > 1:
            seals = self.seals()
            del seals[self._path.name]
            meta[EARLIER] = seals
        if meta.get("part") == END:
            meta[SEAL] = seal_of(self._digests)
        head, frame = encode(meta, masked)
        try:
            _write(self._file, head + frame, self._end, sync=sync)
        except OSError as error:
            os.ftruncate(self._file, self._end)
            raise WorkspaceError(
                f"{self._path} cannot be written: {error.strerror}", FREE_SPACE
            ) from None
        record = Record(
            self._path,
            self._end + len(head),
            len(frame),
            len(masked),
            len(self.records),
            self._run,
            meta,
            self._end,
            head[-DIGEST:],
        )
        self._end = record.end
        self._digests.append(record.digest)
        self.records.append(record)
        return record

    def close(self) -> None:
        """Close the run's file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self, number: int) -> None:
        """Open a run for writing behind its last whole record."""
        self._run = number
        self._path = self.directory / f"run-{number:04}.zst"
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
        mine = [record for record in self.records if record.path == self._path]
        while mine and (flaw := first_broken(mine[-1:])):
            if not is_torn(mine[-1]):
                self.close()
                raise damaged(flaw)
            self.records.remove(mine.pop())
        self._end = mine[-1].end if mine else 0
        self._digests = [record.digest for record in mine]
        os.ftruncate(self._file, self._end)


def run_files(directory: Path) -> list[Path]:
    """Return the files of an archive's runs, oldest first."""
    return sorted(
        path for path in directory.glob("run-*.zst") if path.stem.removeprefix("run-").isdecimal()
    )


def scan_runs(directory: Path) -> list[Scan]:
    """Read the headers of all runs of an archive."""
    scans: list[Scan] = []
    sequence = 0
    for path in run_files(directory):
        scans.append(scan(path, sequence))
        sequence += len(scans[-1].records)
    return scans


def find_flaws(directory: Path, scans: list[Scan]) -> Iterator[Flaw]:
    """Yield what is damaged in an archive, as far as the headers of its records tell."""
    sealing = [run.records[0].meta for run in scans if run.records]
    seals: Mapping[str, Seal] = next(
        (meta[EARLIER] for meta in reversed(sealing) if EARLIER in meta), {}
    )
    for name in sorted(seals.keys() - {run.path.name for run in scans}):
        yield Flaw(directory / name, 0, "the file is gone")
    for run in scans:
        if run.flaw and not (run.is_cut and run is scans[-1]):
            yield run.flaw
            continue
        seal = seals.get(run.path.name)
        if seal not in (None, seal_of([each.digest for each in run.records])):
            reason = f"a later run tells of {seal[0]} records, and {len(run.records)} are there"
            yield Flaw(run.path, run.records[-1].end if run.records else 0, reason)


def lost_replies(directory: Path, seals: Mapping[str, Seal]) -> tuple[Path, int] | None:
    """Return the first run that no longer begins with what was sealed, and how many records.

    The end of the newest run may be cut off as if by a kill: only what was made of it can tell.
    What a repair has lost was told then.
    """
    scans = scan_runs(directory)
    mended = {
        name
        for run in scans
        for record in run.records
        if record.meta["part"] == REPAIRED
        for name in record.meta["files"]
    }
    runs = {run.path.name: run.records for run in scans}
    for name, seal in seals.items():
        records = runs.get(name, ())[: seal[0]]
        if name not in mended and seal_of([record.digest for record in records]) != seal:
            return directory / name, int(seal[0])
    return None


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
    """Files that were damaged."""


def check_archive(directory: Path) -> list[Flaw]:
    """Return where each damaged file of an archive is damaged first, bodies included."""
    scans = scan_runs(directory)
    bodies = [flaw for scan in scans if (flaw := first_broken(scan.records))]
    first: dict[Path, Flaw] = {}
    for flaw in sorted([*find_flaws(directory, scans), *bodies], key=lambda flaw: flaw.start):
        first.setdefault(flaw.path, flaw)
    return sorted(first.values(), key=lambda flaw: flaw.path.name)


def repair(directory: Path) -> Repair:
    """Mend an archive, under its lock; does nothing where nothing is damaged.

    Damaged files are set aside as evidence in ``damaged/``; what is before their damage stays. A
    run of its own then says that no earlier run counts as finished: the next run asks for
    everything that it does not find.
    """
    flaws = check_archive(directory)
    aside: list[Path] = []
    kept = 0
    for flaw in flaws:
        if flaw.path.exists():
            aside.append(_cut_off(flaw.path, flaw.start))
            kept += len(scan(flaw.path).records)
    if flaws:
        with Archive(directory, [flaw.path for flaw in flaws]) as archive:
            run = archive.begin(resume=False)
            at = datetime.now(UTC).isoformat(timespec="seconds")
            files = [flaw.path.name for flaw in flaws]
            archive.append({"part": REPAIRED, "run": run, "keys": [], "at": at, "files": files})
    return Repair(directory, tuple(aside), kept, len(flaws))


def _cut_off(path: Path, end: int) -> Path:
    """Keep the beginning of a damaged file alone; return where all of it is set aside."""
    folder = path.parent / _ASIDE
    make_directory(folder)
    number = 1
    while (evidence := folder / f"{path.stem}.{number}{path.suffix}").exists():
        number += 1
    os.link(path, evidence)
    with replacing_file(path) as draft:
        shutil.copyfile(path, draft)
        os.truncate(draft, end)
    return evidence


def _number(path: Path) -> int:
    return int(path.stem.removeprefix("run-"))


def _write(file: int, data: bytes, offset: int, *, sync: bool) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(file, view, offset)
        view, offset = view[written:], offset + written
    if sync:
        os.fsync(file)

"""Which archived replies count: later ones supersede earlier ones, entry by entry.

Read off the records' metas alone, so nothing is unpacked to find out.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from goldpan.miners.archive import Record
from goldpan.miners.github.graphql_lists import PART_OF
from goldpan.miners.github.rest_lists import PART_OF_LIST

FLOORED = ("timeline", "files", "review_comments", "links")
"""The parts of an entry that a complete observation lists anew."""

NOT_YET = "not fetched yet: run the same mine command again"

Numbers = npt.NDArray[np.int64]


class Floors:
    """For each entry number, the record before which rows are superseded; -1 for none."""

    def __init__(self, found: dict[int, int]) -> None:
        self._numbers = np.array(sorted(found), dtype=np.int64)
        self._sequences = np.array([found[n] for n in sorted(found)], dtype=np.int64)

    def of(self, numbers: Numbers) -> Numbers:
        """Return the floor of each entry."""
        if not len(self._numbers):
            return np.full(len(numbers), -1, dtype=np.int64)
        place = np.searchsorted(self._numbers, numbers).clip(max=len(self._numbers) - 1)
        return np.where(self._numbers[place] == numbers, self._sequences[place], -1)


@dataclass(slots=True)
class Live:
    """What of a repository's archive is current."""

    floors: dict[str, Floors]
    """Part to floors."""
    skipped: set[int] = field(default_factory=set)
    """Records of lists that were not read to the end while an older complete one exists."""
    gone: set[int] = field(default_factory=set)
    """Entries that are no longer there: deleted or transferred."""
    missing: list[tuple[int | None, str, str]] = field(default_factory=list)
    """What should be there and is not: number, part, reason."""
    announced: dict[str, int] = field(default_factory=dict)
    """How many issues and pulls GitHub said there are."""


class _Scan:
    def __init__(self) -> None:
        self.floors: dict[str, dict[int, int]] = {part: {} for part in FLOORED}
        self.entry: dict[int, int] = {}  # number to its newest observation
        self.walks: dict[tuple[int, str, int], list[int]] = defaultdict(list)
        self.complete: set[tuple[int, str, int]] = set()
        self.sweeps: dict[tuple[int, str], list[Record]] = defaultdict(list)
        self.failures: dict[tuple[int | None, str], tuple[int, str]] = {}
        self.solved: dict[tuple[int, str], int] = {}
        self.owners: dict[int, str] = {}
        self.wanted: dict[str, tuple[int, str, str]] = {}
        self.keys: set[str] = set()
        self.listed: dict[int, bool] = {}
        self.announced: dict[str, int] = {}
        self.gone: dict[int, int] = {}
        self.listed_by: dict[int, int] = {}

    def lose(self, number: int, kind: str | None, record: Record) -> None:
        """Take note of an entry that vanished, also from the counts announced before that."""
        self.gone[number] = record.sequence
        if kind is None and self.listed_by.get(number) == record.run:
            self.announced["all"] -= 1
            kind = "pull" if self.listed[number] else None
        if kind is not None:
            self.announced[kind] -= 1

    def read(self, record: Record) -> None:
        meta, sequence = record.meta, record.sequence
        self.keys.update(key for key in meta["keys"] if key.startswith("more|"))
        match meta["part"]:
            case "entries":
                for _, number, owner in meta["nodes"]:
                    self.entry[number] = sequence
                    self.owners[number] = owner
                    for part in FLOORED:
                        self.floors[part][number] = sequence
            case "more":
                for _, number, _, parent, connection in meta["nodes"]:
                    self.solved[number, PART_OF[parent, connection]] = sequence
            case "timeline" | "files" | "pull_comments" as listed:
                part = PART_OF_LIST.get(listed, listed)
                walk = (meta["number"], part, record.run)
                self.walks[walk].append(sequence)
                if meta["next"] is None:
                    self.complete.add(walk)
                    self.floors[part][meta["number"]] = self.walks[walk][0]
                    self.solved[meta["number"], part] = sequence
            case "issues":
                for number, _, is_pull in meta["items"]:
                    self.entry[number] = sequence
                    self.listed[number] = is_pull
                    self.listed_by[number] = record.run
            case "backup":
                self.entry[meta["number"]] = sequence
                for part in FLOORED:
                    self.floors[part][meta["number"]] = sequence
            case "sweep":
                self.sweeps[record.run, meta["kind"]].append(record)
                self.announced.pop("all", None)
                self.announced[meta["kind"]] = meta["announced"]
            case "count" if meta["list"] in ("issues", "pulls"):
                self.announced["all" if meta["list"] == "issues" else "pull"] = meta["announced"]
            case "gone":
                self.lose(meta["number"], meta.get("kind"), record)
            case "failed":
                self.failures[meta["number"], meta["of"]] = (sequence, meta["reason"])
        for number, owner, node, parent, connection, cursor in meta.get("more") or ():
            key = f"more|{owner}|{node}|{connection}|{cursor or ''}"
            self.wanted[key] = (number, owner, PART_OF[parent, connection])


def find_live(records: list[Record]) -> Live:
    """Find what counts among a repository's records, given in the order of their making."""
    scan = _Scan()
    for record in records:
        scan.read(record)
    live = Live({part: Floors(found) for part, found in scan.floors.items()})
    for walk, sequences in scan.walks.items():
        number, part, _ = walk
        if walk not in scan.complete and number in scan.floors[part]:
            live.skipped.update(sequences)
    swept = _newest_sweep(scan)
    if swept is not None:
        begun, numbers = swept
        live.gone = {n for n, sequence in scan.entry.items() if sequence < begun} - numbers
    live.gone |= {n for n, sequence in scan.gone.items() if scan.entry.get(n, -1) < sequence}
    live.announced = _announced(scan.announced)
    live.missing = sorted(
        _missing(scan, swept[1] if swept else set(), live.gone),
        key=lambda item: (item[0] or 0, item[1], item[2]),
    )
    return live


def _newest_sweep(scan: _Scan) -> tuple[int, set[int]] | None:
    """Return where the newest full sweep of both kinds began, and whom it found."""
    for run in sorted({run for run, _ in scan.sweeps}, reverse=True):
        pages = [scan.sweeps.get((run, kind), []) for kind in ("issue", "pull")]
        if all(p and p[0].meta["full"] and p[-1].meta["next"] is None for p in pages):
            numbers = {
                item[1] for page in pages for record in page for item in record.meta["items"]
            }
            return min(page[0].sequence for page in pages), numbers
    return None


def _announced(found: dict[str, int]) -> dict[str, int]:
    """Return issues and pulls; REST's list of issues counts pull requests as well."""
    pulls = found.get("pull", 0)
    issues = found["all"] - pulls if "all" in found else found.get("issue", 0)
    return {"issues": issues, "pulls": pulls} if found else {}


def _missing(scan: _Scan, swept: set[int], gone: set[int]) -> list[tuple[int | None, str, str]]:
    found: dict[tuple[int | None, str], str] = {}
    for number in swept - set(scan.entry):
        found[number, "entry"] = NOT_YET
    for key, (number, owner, part) in scan.wanted.items():
        if scan.owners.get(number) == owner and key not in scan.keys:
            found[number, part] = NOT_YET
    for number in scan.listed:
        for part in ("timeline", "files") if scan.listed[number] else ("timeline",):
            if number not in scan.floors[part]:
                found[number, part] = NOT_YET
    for (whose, part), (sequence, reason) in scan.failures.items():
        solved = -1
        if whose is not None:
            solved = max(scan.entry.get(whose, -1), scan.solved.get((whose, part), -1))
        if sequence > solved:
            found[whose, part] = reason
    return [(n, part, reason) for (n, part), reason in found.items() if n not in gone]

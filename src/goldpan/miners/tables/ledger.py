"""The ledger: announced and stored counts of each entry and of each of its lists.

It is the program's only knowledge of completeness: `goldpan status`, exit codes and `goldpan why`
read it. An announced length counts only as long as the list was not read again since.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from goldpan.core.schemas import LEDGER
from goldpan.miners.tables.current_records import LISTS, RELATIONS, CurrentRecords, Open, joined
from goldpan.miners.tables.floors import Floors, Numbers
from goldpan.miners.tables.rows import NOBODY

ISSUE_PARTS = ("entry", "edits", "comments", "labels", "timeline", "links", "relations")
PULL_PARTS = (
    *("entry", "edits", "comments", "labels", "timeline", "links"),
    *("files", "reviews", "review_comments", "commits"),
)
DISCUSSION_PARTS = ("entry", "edits", "comments", "replies", "labels")
_PARTS_OF = {"issue": ISSUE_PARTS, "pull": PULL_PARTS, "discussion": DISCUSSION_PARTS}
MOST_SERVED = {"files": 3_000, "commits": 250}
"""How many items GitHub lists at most."""

_FLOOR_OF = {
    "comments": "timeline",
    "reviews": "timeline",
    "replies": "timeline",
    "commits": "timeline",
    "length": "timeline",
    "items": "timeline",
    "threads": "review_comments",
    "labels": "entry",
    "unlisted": "entry",
}
_SCHEMA = LEDGER.schema_without_repo

Key = tuple[int | None, str]
Troubles = Mapping[Key, Open]


@dataclass(frozen=True, slots=True)
class PageSums:
    """Totals over the pages of lists, for each entry; -1 where the pages state none."""

    announced: defaultdict[str, Numbers]
    """How long each entry's list is, as far as GitHub says so."""
    received: defaultdict[str, Numbers]
    """How many items of each entry's list came."""
    present: defaultdict[str, np.ndarray[Any, np.dtype[np.bool_]]]
    """Whose lists any page was read of."""

    @classmethod
    def of(cls, size: int) -> Self:
        """Return the totals of so many entries before any page is read."""
        return cls(
            defaultdict(lambda: np.full(size, -1, dtype=np.int64)),
            defaultdict(lambda: np.zeros(size, dtype=np.int64)),
            defaultdict(lambda: np.zeros(size, dtype=bool)),
        )

    def timeline_items(self) -> Numbers:
        """Return how many items each whole timeline has; -1 where that is unknown."""
        items = np.where(self.present["items"], self.received["items"], -1)
        announced = self.announced["length"]
        return np.where(announced >= 0, announced, items)


def read_pages(pages: pa.Table, live: CurrentRecords, numbers: Numbers) -> PageSums:
    """Sum up the pages that count, for entries in the order of `numbers`, which are sorted."""
    sums = PageSums.of(len(numbers))
    announced = sums.announced
    pages = pages.filter(pc.is_in(pages["number"], value_set=pa.array(numbers)))
    for part in pc.unique(pages["part"]).to_pylist():
        rows = pages.filter(pc.equal(pages["part"], part)).sort_by("_sequence")
        owners, sequences = rows["number"].to_numpy(), rows["_sequence"].to_numpy()
        floor, indexes = _FLOOR_OF.get(part, part), np.searchsorted(numbers, owners)
        of_pull = rows["unit"].to_numpy(zero_copy_only=False) == "pull"
        current = sequences >= live.floors[floor].of(owners)
        # A pull request's word on its lists holds for the run in which they were read.
        recent = sequences >= live.begun[floor].of(owners)
        np.add.at(sums.received[part], indexes[current], rows["received"].to_numpy()[current])
        sums.present[part][indexes[current & ~of_pull]] = True
        announced[part] = _announced(rows.filter(np.where(of_pull, recent, current)), numbers)
    if "threads" in announced:
        none = announced["threads"] == 0
        comments = announced["review_comments"]
        announced["review_comments"] = np.where(none, np.maximum(comments, 0), comments)
    return sums


def _announced(rows: pa.Table, numbers: Numbers) -> Numbers:
    """Return the newest announcement of each entry, lists of several units added up."""
    rows = rows.filter(pc.is_valid(rows["announced"]))
    groups = rows.group_by(["number", "unit"], use_threads=False)
    newest = groups.aggregate([("announced", "last")])
    indexes = np.searchsorted(numbers, newest["number"].to_numpy())
    values = newest["announced_last"].to_numpy()
    of_unit = ~np.isin(newest["unit"].to_numpy(zero_copy_only=False), ("", "pull"))
    longest = np.full(len(numbers), -1, dtype=np.int64)
    np.maximum.at(longest, indexes[~of_unit], values[~of_unit])
    added = np.zeros(len(numbers), dtype=np.int64)
    np.add.at(added, indexes[of_unit], values[of_unit])
    longest[indexes[of_unit]] = np.maximum(longest, added)[indexes[of_unit]]
    return longest


def count_by(numbers: Numbers, table: pa.Table) -> Numbers:
    """Return how many rows of a table each entry has."""
    owners = table["number"].to_numpy()
    owners = np.sort(owners)
    return np.searchsorted(owners, numbers, "right") - np.searchsorted(owners, numbers, "left")


def entry_ledger(
    entry: pa.Table, stored: Mapping[str, Numbers], pages: PageSums, troubles: Troubles
) -> pa.Table:
    """Return the rows of one range of entries, sorted; `entry` is sorted by number.

    `troubles` holds the missing data of this range, also of entries that nothing is stored of.
    """
    numbers = entry["number"].to_numpy()
    parts = []
    for part in dict.fromkeys((*ISSUE_PARTS, *PULL_PARTS, *DISCUSSION_PARTS)):
        of_part = np.zeros(len(numbers), dtype=bool)
        for kind, kind_parts in _PARTS_OF.items():
            if part in kind_parts:
                of_part |= pc.equal(entry["kind"], kind).to_numpy(zero_copy_only=False)
        parts.append(_part_rows(part, entry.filter(pa.array(of_part)), of_part, stored, pages))
    return _with_troubles(pa.concat_tables(parts), troubles)


def _with_troubles(table: pa.Table, troubles: Troubles) -> pa.Table:
    """Put troubles into their rows, adding rows where there are none; sort them all."""
    if troubles:
        rows = {(row["number"], row["part"]): row for row in table.to_pylist()}
        for (number, part), trouble in troubles.items():
            announced = 1 if part == "entry" else None
            blank = {"number": number, "part": part, "announced": announced, "stored": 0}
            row = rows.setdefault((number, part), blank)
            row |= {"state": trouble.state, "reason": trouble.reason}
        table = pa.Table.from_pylist(list(rows.values()), schema=_SCHEMA)
    return table.sort_by([("number", "ascending"), ("part", "ascending")])


def _part_rows(
    part: str,
    entry: pa.Table,
    chosen: np.ndarray[Any, Any],
    stored: Mapping[str, Numbers],
    pages: PageSums,
) -> pa.Table:
    numbers = entry["number"].to_numpy()
    received = stored[part][chosen] if part in stored else pages.received[part][chosen]
    announced = pages.announced[part][chosen]
    unseen = np.zeros(len(numbers), dtype=bool)
    if part in ("links", "files", "edits"):  # some sources do not have them at all
        unseen = ~pages.present[part][chosen]
    if part == "entry":
        announced, received = np.ones_like(received), np.ones_like(received)
    elif part == "comments":
        announced = pc.fill_null(entry["comment_count"], -1).to_numpy()
    elif part == "relations":
        counts = [pc.fill_null(entry[name], -1).to_numpy() for name in RELATIONS]
        announced = sum(np.maximum(count, 0) for count in counts)
        received = sum(pages.received[name][chosen] for name in RELATIONS)
        # No backup holds these lists, and nothing can complete it.
        unseen = pages.present["unlisted"][chosen] & (received == 0)
        unseen |= np.all([count < 0 for count in counts], axis=0)
        announced = np.where(unseen, -1, announced)
    announced = np.where(unseen, -1, announced)
    state = np.full(len(numbers), "complete", dtype=object)
    reason = np.full(len(numbers), None, dtype=object)
    state[unseen] = "unseen"
    reason[unseen] = "the way that it was mined does not show it"
    for at in np.flatnonzero(announced > received):
        state[at], reason[at] = _short(part, int(announced[at]), int(received[at]))
    if part == "review_comments":
        threads = pages.announced["threads"][chosen]
        received_threads = pages.received["threads"][chosen]
        for at in np.flatnonzero((threads > received_threads) & (state == "complete")):
            state[at] = "short"
            reason[at] = f"GitHub announced {threads[at]:,} threads, {received_threads[at]:,} came"
    return pa.table(
        {
            "number": numbers,
            "part": pa.repeat(pa.scalar(part, pa.string()), len(numbers)),
            "announced": pa.array(announced, pa.int64(), mask=announced < 0),
            "stored": pa.array(received, pa.int64()),
            "state": pa.array(state, pa.string()),
            "reason": pa.array(reason, pa.string()),
        },
        schema=_SCHEMA,
    )


def _short(part: str, announced: int, stored: int) -> tuple[str, str]:
    most = MOST_SERVED.get(part)
    if most is not None and announced > most and stored >= most:
        return "withheld", f"GitHub lists {most:,} of {announced:,} at most"
    return "short", f"GitHub announced {announced:,}, {stored:,} came"


def read_losses(losses: pa.Table, live: CurrentRecords) -> Troubles:
    """Return the losses in records that count, by entry and part."""
    reasons: dict[Key, list[str]] = defaultdict(list)
    for row in losses.to_pylist():
        number, part, sequence = row["number"], row["part"], row["_sequence"]
        key: Key = (None if number == NOBODY else number, part)
        if number == NOBODY:
            key = (None, "issues" if part == "entry" else part)
            superseded = sequence < live.listing
        elif part == "entry":  # of which REST's lists bring the parts in any order
            superseded = sequence < _floor(live.begun, part, number)
        else:
            superseded = sequence < _floor(live.floors, _FLOOR_OF.get(part, part), number)
        if not superseded:
            owner, shown = key
            shown = "relations" if shown in RELATIONS else shown
            reasons[owner, shown].append(row["reason"])
    return {key: Open("failed", joined(of_key)) for key, of_key in reasons.items()}


def _floor(floors: Mapping[str, Floors], part: str, number: int) -> int:
    return int(floors[part].of(np.array([number], dtype=np.int64))[0]) if part in floors else -1


def list_ledger(
    stored: Mapping[str, int], unstored: int, live: CurrentRecords, troubles: Troubles
) -> pa.Table:
    """Return the rows of the repository's own lists.

    `stored` counts the items of each list, `unstored` the entries that are named and of which
    nothing is stored. Other parts in `troubles`, as of a backup, get a row too.
    """
    announced = {} if live.is_limited else live.announced
    shortfalls = {part: announced[part] - stored[part] for part in announced}
    unnamed = sum(max(0, count) for count in shortfalls.values()) > unstored
    rows = []
    for part in sorted({*LISTS, *live.further_lists, *(part for _, part in troubles)}):
        trouble = troubles.get((None, part))
        if trouble is None and unnamed and shortfalls.get(part, 0) > 0:
            trouble = Open("short", f"{shortfalls[part]:,} announced and not found")
        rows.append(
            {
                "number": None,
                "part": part,
                "announced": announced.get(part),
                "stored": stored.get(part, 0),
                "state": trouble.state if trouble else "complete",
                "reason": trouble.reason if trouble else live.further_lists.get(part),
            }
        )
    return pa.Table.from_pylist(rows, schema=_SCHEMA)

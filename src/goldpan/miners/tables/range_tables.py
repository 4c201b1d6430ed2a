"""The tables of one range of entry numbers, and the undocumented values in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from goldpan.core.schemas import (
    COMMENTS,
    COMMITS,
    DISCUSSION_COMMENTS,
    DISCUSSIONS,
    EDITS,
    ENTRIES,
    EVENTS,
    FILES,
    LEDGER,
    REFERENCES,
    UNKNOWN,
    TableSchema,
)
from goldpan.miners.facts import Facts
from goldpan.miners.tables.current_records import RELATIONS, CurrentRecords, Open
from goldpan.miners.tables.floors import Numbers
from goldpan.miners.tables.ledger import (
    PageSums,
    Troubles,
    count_by,
    entry_ledger,
    read_losses,
    read_pages,
)
from goldpan.miners.tables.rows import EVIDENCE_COLUMNS, FACETS, STATE_COLUMNS

_TYPES = ("user", "bot", "organization", "mannequin", "enterprise_user_account")
_ASSOCIATIONS = (
    "collaborator",
    "contributor",
    "first_time_contributor",
    "first_timer",
    "mannequin",
    "member",
    "none",
    "owner",
)
_KNOWN: dict[TableSchema, dict[str, tuple[str, ...]]] = {
    ENTRIES: {
        "state": ("open", "closed"),
        "state_reason": (
            *("completed", "not_planned", "duplicate", "reopened"),
            *("resolved", "outdated"),  # of discussions
        ),
        "author_type": _TYPES,
        "author_association": _ASSOCIATIONS,
    },
    COMMENTS: {
        "author_type": _TYPES,
        "author_association": _ASSOCIATIONS,
        "review_state": ("approved", "changes_requested", "commented", "dismissed", "pending"),
        "minimized_reason": (
            *("abuse", "off-topic", "outdated", "resolved", "duplicate", "spam", "low-quality"),
        ),
    },
    FILES: {
        "status": ("added", "changed", "copied", "modified", "removed", "renamed", "unchanged")
    },
    EVENTS: {"actor_type": _TYPES},
}


class Undocumented:
    """Counts by kind and name, with an entry for each."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], tuple[int, int]] = {}

    def add_events(self, rows: pa.Table) -> None:
        """Count events by name."""
        self._add("event", "", rows, "name")

    def add_values(self, table: TableSchema, rows: pa.Table) -> None:
        """Count the values of a table's enumerations that nobody documents."""
        for column, values_known in _KNOWN.get(table, {}).items():
            strange = pc.invert(pc.is_in(rows[column], value_set=pa.array((*values_known, None))))
            if pc.any(strange).as_py():
                self._add("value", f"{table.name}.{column} = ", rows.filter(strange), column)

    def table(self) -> pa.Table:
        """Return the counts as a table, sorted."""
        rows = [
            {"kind": kind, "name": name, "count": count, "number": number}
            for (kind, name), (count, number) in sorted(self._counts.items())
        ]
        return pa.Table.from_pylist(rows, schema=UNKNOWN.schema_without_repo)

    def _add(self, kind: str, prefix: str, rows: pa.Table, column: str) -> None:
        grouped = rows.group_by(column).aggregate([("number", "count"), ("number", "min")])
        for row in grouped.to_pylist():
            key = (kind, f"{prefix}{row[column]}")
            count, number = self._counts.get(key, (0, row["number_min"]))
            self._counts[key] = count + row["number_count"], min(number, row["number_min"])


# Rows as they were observed: the newest of those that share a key, and none twice.


def newest(rows: pa.Table, keys: list[str]) -> pa.Table:
    """Return, of the rows that share `keys`, the one that was observed last."""
    if len(rows) < 2:
        return rows
    columns = rows.select([*keys, "_sequence"])
    order = pc.sort_indices(
        columns, sort_keys=[(name, "ascending") for name in columns.column_names]
    )
    keyed = columns.select(keys).take(order)
    last = np.ones(len(rows), dtype=bool)
    last[:-1] = _changes(keyed)
    indices = order.to_numpy()[last]
    indices.sort()
    return rows if len(indices) == len(rows) else rows.take(pa.array(indices))


def distinct(rows: pa.Table) -> pa.Table:
    """Return sorted rows without those that equal the row before in every column."""
    if len(rows) < 2:
        return rows
    keep = np.ones(len(rows), dtype=bool)
    keep[1:] = _changes(rows)
    return rows if keep.all() else rows.filter(pa.array(keep))


def _changes(rows: pa.Table) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Tell for each row but the last whether the next one differs; two nulls are equal."""
    changed = np.zeros(len(rows) - 1, dtype=bool)
    for column in rows.itercolumns():
        values = column.combine_chunks()
        earlier, later = values.slice(0, len(values) - 1), values.slice(1)
        unequal = pc.fill_null(pc.not_equal(earlier, later), False)
        nulls = pc.not_equal(pc.is_null(earlier), pc.is_null(later))
        changed |= pc.or_(unequal, nulls).to_numpy(zero_copy_only=False)
    return changed


def sort_rows(rows: pa.Table, order: Iterable[str]) -> pa.Table:
    """Return rows in this order of columns, all ascending."""
    return rows.sort_by([(name, "ascending") for name in order])


def join_entries(entry: pa.Table, numbers: Numbers, facet: pa.Table) -> pa.Table:
    """Add a facet's columns to the entries of the same number; null where there is none."""
    facet = facet.sort_by("number")
    have = facet["number"].to_numpy()
    indexes = np.searchsorted(have, numbers)
    present = np.zeros(len(numbers), dtype=bool)
    if len(have):
        present = have[np.minimum(indexes, len(have) - 1)] == numbers
    rows = facet.take(pa.array(indexes, mask=~present))
    for name in facet.column_names:
        if name != "number" and not name.startswith("_"):
            entry = entry.append_column(name, rows[name])
    return entry


_TIES = (*REFERENCES.order, "where", "source_id", "start", "line", "excerpt")


class RangeTables:
    """The tables of one range of entry numbers."""

    def __init__(
        self,
        facts: Facts,
        facets: dict[str, pa.Table],
        live: CurrentRecords,
        deleted: Numbers,
        pending: Troubles,
    ) -> None:
        self._repo = facts.repo
        self._former = facts.former
        self._facets = facets
        self._live = live
        self._deleted = deleted
        losses = read_losses(self._current("losses"), live)
        self.troubles: dict[tuple[int | None, str], Open] = {**losses, **pending}
        self._tables: dict[TableSchema, pa.Table] = {}
        self._pages = PageSums.of(0)

    def tables(self) -> dict[TableSchema, pa.Table]:
        """Return this range's rows of each table."""
        entry = self._current("entry")
        floors = self._entry_floor(entry)
        superseded = (entry["_sequence"].to_numpy() > floors) & (floors >= 0)
        entry = newest(entry.filter(pa.array(~superseded)), ["number"]).sort_by("number")
        numbers = entry["number"].to_numpy()
        self._pages = read_pages(self._current("pages"), self._live, numbers)
        comments = newest(
            self._current("comments", lambda rows: _comment_floor(rows, self._live)),
            ["number", "kind", "comment_id"],
        )
        commits = newest(self._current("commits", self._floor("timeline")), ["number", "sha"])
        files = newest(self._current("files", self._floor("files")), ["number", "path"])
        of_discussions = self._current("discussion_comments", self._floor("timeline"))
        of_discussions = newest(of_discussions, ["number", "comment_id"])
        edits = newest(self._current("edits", self._floor("edits")), ["number", "edit_id"])
        events = self._current("events", self._floor("timeline")).drop_columns(["_sequence"])
        self._tables = {
            ENTRIES: self._entries(entry, comments),
            COMMENTS: COMMENTS.ordered(comments),
            DISCUSSIONS: newest(self._current("discussions"), ["number"]).sort_by("number"),
            DISCUSSION_COMMENTS: DISCUSSION_COMMENTS.ordered(of_discussions),
            EDITS: EDITS.ordered(edits),
            COMMITS: COMMITS.ordered(commits),
            FILES: FILES.ordered(files),
            EVENTS: distinct(sort_rows(events, (*EVENTS.order, "actor_id", "actor_type"))),
            REFERENCES: self._references(entry, (entry, comments, commits)),
            LEDGER: self._ledger(entry, comments, commits, files),
        }
        return self._tables

    def count_unknown(self, unknown: Undocumented) -> None:
        """Count the events and values of this range that nobody documents."""
        unknown.add_events(self._current("unknown", self._floor("timeline")))
        for table, rows in self._tables.items():
            unknown.add_values(table, rows)

    def _ledger(
        self, entry: pa.Table, comments: pa.Table, commits: pa.Table, files: pa.Table
    ) -> pa.Table:
        numbers = entry["number"].to_numpy()
        envelopes = self._current("envelopes", self._floor("timeline"))
        kinds = {
            kind: comments.filter(pc.equal(comments["kind"], kind))
            for kind in ("comment", "review", "review_comment", "discussion_comment")
        }
        of_discussions = kinds["discussion_comment"]
        is_reply = pc.is_valid(of_discussions["reply_to"])
        lengths = pc.fill_null(pc.list_value_length(entry["labels"]), 0)
        stored = {
            "comments": count_by(numbers, kinds["comment"])
            + count_by(numbers, of_discussions.filter(pc.invert(is_reply))),
            "replies": count_by(numbers, of_discussions.filter(is_reply)),
            "reviews": count_by(numbers, kinds["review"])
            + count_by(numbers, newest(envelopes, ["number", "comment_id"])),
            "review_comments": count_by(numbers, kinds["review_comment"]),
            "commits": count_by(numbers, commits),
            "files": count_by(numbers, files),
            "labels": lengths.to_numpy().astype(np.int64),
        }
        of_entries = {key: trouble for key, trouble in self.troubles.items() if key[0] is not None}
        return entry_ledger(entry, stored, self._pages, of_entries)

    def _current(self, name: str, floor: Callable[[pa.Table], Numbers] | None = None) -> pa.Table:
        """Return a facet's rows that are not superseded and whose entry still exists."""
        rows = self._facets[name]
        numbers = rows[FACETS[name].unit].to_numpy()
        keep = ~np.isin(numbers, self._deleted)
        if floor is not None and len(rows):
            keep &= rows["_sequence"].to_numpy() >= floor(rows)
        return rows if keep.all() else rows.filter(pa.array(keep))

    def _entry_floor(self, rows: pa.Table) -> Numbers:
        """Return, for each row, the record that holds the copy of its entry that counts."""
        return self._live.floors["entry"].of(rows["number"].to_numpy())

    def _floor(self, part: str, unit: str = "number") -> Callable[[pa.Table], Numbers]:
        return lambda rows: self._live.floors[part].of(rows[unit].to_numpy())

    def _entries(self, entry: pa.Table, comments: pa.Table) -> pa.Table:
        numbers = entry["number"].to_numpy()
        pulls, half = (newest(self._current(name), ["number"]) for name in ("pull", "half"))
        # Lists of issues tell the state of a pull request where theirs is the copy that counts.
        tells = half["_sequence"].to_numpy() == self._entry_floor(half)
        tells |= ~np.isin(half["number"].to_numpy(), pulls["number"].to_numpy())
        half = half.filter(pa.array(tells))
        others = pc.invert(pc.is_in(pulls["number"], value_set=half["number"].combine_chunks()))
        state = pa.concat_tables([pulls.filter(others).select(half.column_names), half])
        pulls = pulls.drop_columns([*STATE_COLUMNS])
        for facet in (state, pulls, newest(self._current("totals"), ["number"])):
            entry = join_entries(entry, numbers, facet)
        items = self._pages.timeline_items()
        entry = entry.append_column("timeline_items", pa.array(items, pa.int64(), mask=items < 0))
        if not len(self._facets["totals"]) or entry["changed_files"].null_count:
            entry = self._add_totals(entry, numbers)
        return entry.append_column("participants", _participants(entry, comments))

    def _add_totals(self, entry: pa.Table, numbers: Numbers) -> pa.Table:
        """Fill the totals that no reply held from the files, where those are all there."""
        complete = self._live.floors["files"].of(numbers) >= 0
        complete &= self._pages.present["files"]  # a backup tells no files
        files = newest(self._current("files", self._floor("files")), ["number", "path"])
        sums = files.group_by("number").aggregate(
            [("additions", "sum"), ("deletions", "sum"), ("path", "count")]
        )
        names = {"additions": "additions_sum", "deletions": "deletions_sum"} | {
            "changed_files": "path_count"
        }
        sums = join_entries(entry.select(["number"]), numbers, sums)
        is_pull = pc.and_(pc.equal(entry["kind"], "pull"), pa.array(complete))
        for name, source in names.items():
            summed = pc.if_else(is_pull, pc.fill_null(sums[source], 0), None)
            column = pc.coalesce(entry[name], pc.cast(summed, pa.int64()))
            entry = entry.set_column(entry.column_names.index(name), name, column)
        return entry

    def _link_floor(self, links: pa.Table) -> Numbers:
        """Return each link's floor: a new list of the part of an entry that it came from."""
        floors = np.full(len(links), -1, dtype=np.int64)
        numbers = links["observed_on"].to_numpy()
        parts = links["part"].to_numpy(zero_copy_only=False)
        for part in set(parts):
            floors[parts == part] = self._live.floors[part].of(numbers[parts == part])
        return floors

    def _between_entries(self, links: pa.Table) -> pa.Array[Any]:
        """Tell the links that neither come from nor lead to an entry that is gone."""
        deleted = pa.array(self._deleted)
        keep = pa.repeat(pa.scalar(True), len(links))
        for repo, number in (("repo", "number"), ("target_repo", "target_number")):
            is_own = pc.fill_null(pc.equal(links[repo], self._repo), False)
            is_gone = pc.fill_null(pc.is_in(links[number], value_set=deleted), False)
            keep = pc.and_(keep, pc.invert(pc.and_(is_own, is_gone)))
        return keep

    def _references(self, entry: pa.Table, texts: Iterable[pa.Table]) -> pa.Table:
        rows = pa.concat_arrays(
            [chunk for table in texts for chunk in table["_row"].chunks]
            or [pa.array([], pa.int64())]
        )
        mentions = self._current("mentions")
        mentions = mentions.filter(pc.is_in(mentions["_row"], value_set=rows))
        links = self._current("links", self._link_floor)
        links = links.filter(self._between_entries(links))
        links = links.filter(_still_related(links, entry))
        columns = mentions.column_names[:-1]
        references = pa.concat_tables([links.select(columns), mentions.select(columns)])
        for name in ("repo", "target_repo"):
            references = _renamed(references, name, self._former)
        references = distinct(sort_rows(references, _TIES))
        evidence = [references[name].combine_chunks() for name in EVIDENCE_COLUMNS]
        struct = pa.StructArray.from_arrays(
            evidence, fields=list(REFERENCES.schema.field("evidence").type)
        )
        return references.drop_columns(list(EVIDENCE_COLUMNS)).append_column("evidence", struct)


def _still_related(links: pa.Table, entry: pa.Table) -> pa.Array[Any]:
    """Tell the links that are not from a list of relations that the issue says is empty now."""
    keep = np.ones(len(links), dtype=bool)
    parts = links["part"].to_numpy(zero_copy_only=False)
    for part in RELATIONS:
        empty = entry.filter(pc.fill_null(pc.equal(entry[part], 0), False))["number"].to_numpy()
        keep &= ~((parts == part) & np.isin(links["observed_on"].to_numpy(), empty))
    return pa.array(keep)


def _renamed(rows: pa.Table, name: str, former: Mapping[str, str]) -> pa.Table:
    """Write a repository's former names as the one that it has now."""
    if not former:
        return rows
    column = rows[name].combine_chunks()
    names = list(former)
    lower = pa.array([former_name.lower() for former_name in names], pa.string())
    indexes = pc.index_in(pc.utf8_lower(column), value_set=lower)
    now = pa.array([former[former_name] for former_name in names], pa.string()).take(indexes)
    return rows.set_column(rows.column_names.index(name), name, pc.coalesce(now, column))


def _comment_floor(rows: pa.Table, live: CurrentRecords) -> Numbers:
    """Return each comment's floor: over REST, only review comments have a list of their own."""
    numbers = rows["number"].to_numpy()
    of_review = pc.equal(rows["kind"], "review_comment").to_numpy(zero_copy_only=False)
    return np.where(
        of_review, live.floors["review_comments"].of(numbers), live.floors["timeline"].of(numbers)
    )


def _participants(entry: pa.Table, comments: pa.Table) -> pa.Array[Any]:
    """Return, for each entry, the sorted logins of those who wrote it or in it."""
    people = pa.concat_tables([table.select(["number", "author"]) for table in (entry, comments)])
    people = people.filter(pc.is_valid(people["author"]))
    people = people.group_by(["number", "author"]).aggregate([])
    people = sort_rows(people, ("number", "author"))
    people = people.filter(pc.is_in(people["number"], value_set=entry["number"].combine_chunks()))
    numbers = entry["number"].to_numpy()
    order = np.argsort(numbers)
    starts = np.searchsorted(people["number"].to_numpy(), numbers[order])
    offsets = np.append(starts, len(people)).astype(np.int32)
    lists = pa.ListArray.from_arrays(pa.array(offsets), people["author"].combine_chunks())
    return lists.take(pa.array(np.argsort(order))).cast(ENTRIES.schema.field("participants").type)

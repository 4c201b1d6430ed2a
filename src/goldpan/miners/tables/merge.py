"""Merges parsed facets into tables, one range of entry numbers after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from goldpan.core.parquet import write, writer
from goldpan.core.progress import Reporter
from goldpan.core.schemas import (
    COMMENTS,
    COMMITS,
    ENTRIES,
    EVENTS,
    FILES,
    LEDGER,
    MINED,
    REFERENCES,
    REPOSITORIES,
    UNKNOWN,
    Table,
)
from goldpan.miners.facts import Facts
from goldpan.miners.tables.current_records import RELATIONS, Live, Numbers, Open
from goldpan.miners.tables.ledger import (
    Pages,
    Troubles,
    count_by,
    entry_ledger,
    list_ledger,
    read_losses,
    read_pages,
)
from goldpan.miners.tables.parts import count_ranges, range_of, read_ranges
from goldpan.miners.tables.rows import EVIDENCE_COLUMNS, FACETS, UNIT
from goldpan.miners.tables.unknown import Unknown

_WRITERS = 2
_TIES = (*REFERENCES.order, "where", "source_id", "start", "line", "excerpt")


def merge(scratch: Path, facts: Facts, live: Live, reporter: Reporter) -> dict[str, Path]:
    """Merge the part files in `scratch` and return each table's finished file."""
    paths = {table.name: scratch / f"{table.name}.parquet" for table in MINED}
    writers = {table.name: writer(paths[table.name], table) for table in MINED}
    gone = np.array(sorted(live.gone), dtype=np.int64)
    unknown, sums, of_lists = Unknown(), _Sums(), dict[tuple[int | None, str], Open]()
    waiting = _by_range(live)
    with (
        reporter.task("Merging tables", count_ranges(scratch)) as task,
        ThreadPoolExecutor(_WRITERS) as pool,
    ):
        writing: list[Future[None]] = []
        for index, facets in _all_ranges(scratch, waiting):
            part = _Range(facts, facets, live, gone, waiting.get(index, {}))
            tables = part.tables()
            for written in writing:  # while this range was merged
                written.result()
            writing = [
                pool.submit(write, writers[table.name], table, facts.repo, rows)
                for table, rows in tables.items()
            ]
            for table, rows in tables.items():
                sums.add(table, rows)
            of_lists |= {key: trouble for key, trouble in part.troubles.items() if key[0] is None}
            part.count_unknown(unknown)
            task.advance()
        for written in writing:
            written.result()
    row = {
        **facts.row,
        "issues_announced": live.announced.get("issues"),
        "pulls_announced": live.announced.get("pulls"),
        "former_names": sorted(facts.former),
    }
    write(writers[REPOSITORIES.name], REPOSITORIES, facts.repo, _one_row(row))
    of_lists |= {key: trouble for key, trouble in live.open.items() if key[0] is None}
    lists = list_ledger(sums.stored, sums.unstored, live, of_lists)
    write(writers[LEDGER.name], LEDGER, facts.repo, lists)
    write(writers[UNKNOWN.name], UNKNOWN, facts.repo, unknown.table())
    for target in writers.values():
        target.close()
    return paths


def _by_range(live: Live) -> dict[int, dict[tuple[int | None, str], Open]]:
    """Sort what lacks of entries into the ranges that they lie in."""
    by_range: dict[int, dict[tuple[int | None, str], Open]] = {}
    for (number, part), trouble in live.open.items():
        if number is not None:
            by_range.setdefault(range_of(number), {})[number, part] = trouble
    return by_range


def _all_ranges(scratch: Path, waiting: Iterable[int]) -> Iterator[tuple[int, dict[str, pa.Table]]]:
    """Yield each range in order, those too of which nothing but lacks are known."""
    empty = {name: schema.empty_table() for name, schema in FACETS.items()}
    lacking = sorted(waiting)
    for index, facets in read_ranges(scratch):
        while lacking and lacking[0] < index:
            yield lacking.pop(0), empty
        if lacking and lacking[0] == index:
            lacking.pop(0)
        yield index, facets
    for index in lacking:
        yield index, empty


class _Sums:
    """How much is stored of the repository's lists."""

    def __init__(self) -> None:
        self.stored = dict.fromkeys(("issues", "pulls", "comments", "review_comments"), 0)
        self.unstored = 0

    def add(self, table: Table, rows: pa.Table) -> None:
        """Add the rows of one range."""
        names = {
            ENTRIES: {"issue": "issues", "pull": "pulls"},
            COMMENTS: {"comment": "comments", "review_comment": "review_comments"},
        }.get(table, {})
        for kind, name in names.items():
            self.stored[name] += pc.sum(pc.equal(rows["kind"], kind)).as_py() or 0
        if table is LEDGER:
            lost = pc.and_(pc.equal(rows["part"], "entry"), pc.equal(rows["stored"], 0))
            self.unstored += pc.sum(lost).as_py() or 0


class _Range:
    """The tables of one range of entry numbers."""

    def __init__(
        self,
        facts: Facts,
        facets: dict[str, pa.Table],
        live: Live,
        gone: Numbers,
        lacking: Troubles,
    ) -> None:
        self._repo = facts.repo
        self._former = facts.former
        self._facets = facets
        self._live = live
        self._gone = gone
        losses = read_losses(self._current("losses"), live)
        self.troubles: dict[tuple[int | None, str], Open] = {**losses, **lacking}
        self._made: dict[Table, pa.Table] = {}
        self._pages = Pages({}, {}, {})

    def tables(self) -> dict[Table, pa.Table]:
        """Return this range's rows of each table."""
        entry = newest(self._current("entry"), ["number"]).sort_by("number")
        numbers = entry["number"].to_numpy()
        self._pages = read_pages(self._current("pages"), self._live, numbers)
        comments = newest(
            self._current("comments", lambda rows: _comment_floor(rows, self._live)),
            ["number", "kind", "comment_id"],
        )
        commits = newest(self._current("commits", self._floor("timeline")), ["number", "sha"])
        files = newest(self._current("files", self._floor("files")), ["number", "path"])
        events = self._current("events", self._floor("timeline")).drop_columns(["_sequence"])
        self._made = {
            ENTRIES: self._entries(entry, comments),
            COMMENTS: _sorted(comments, COMMENTS.order),
            COMMITS: _sorted(commits, COMMITS.order),
            FILES: _sorted(files, FILES.order),
            EVENTS: distinct(_sorted(events, (*EVENTS.order, "actor_id", "actor_type"))),
            REFERENCES: self._references(entry, (entry, comments, commits)),
            LEDGER: self._ledger(entry, comments, commits, files),
        }
        return self._made

    def count_unknown(self, unknown: Unknown) -> None:
        """Count the events and values of this range that nobody documents."""
        unknown.add_events(self._current("unknown", self._floor("timeline")))
        for table, rows in self._made.items():
            unknown.add_values(table, rows)

    def _ledger(
        self, entry: pa.Table, comments: pa.Table, commits: pa.Table, files: pa.Table
    ) -> pa.Table:
        numbers = entry["number"].to_numpy()
        envelopes = self._current("envelopes", self._floor("timeline"))
        kinds = {
            kind: comments.filter(pc.equal(comments["kind"], kind))
            for kind in ("comment", "review", "review_comment")
        }
        lengths = pc.fill_null(pc.list_value_length(entry["labels"]), 0)
        stored = {
            "comments": count_by(numbers, kinds["comment"]),
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
        numbers = rows[UNIT.get(name, "number")].to_numpy()
        keep = ~np.isin(numbers, self._gone)
        if floor is not None and len(rows):
            keep &= rows["_sequence"].to_numpy() >= floor(rows)
        return rows if keep.all() else rows.filter(pa.array(keep))

    def _floor(self, part: str, unit: str = "number") -> Callable[[pa.Table], Numbers]:
        return lambda rows: self._live.floors[part].of(rows[unit].to_numpy())

    def _entries(self, entry: pa.Table, comments: pa.Table) -> pa.Table:
        numbers = entry["number"].to_numpy()
        for name in ("pull", "totals"):
            facet = newest(self._current(name), ["number"])
            entry = _join(entry, numbers, facet)
        items = self._pages.timeline_items(len(numbers))
        entry = entry.append_column("timeline_items", pa.array(items, pa.int64(), mask=items < 0))
        if not len(self._facets["totals"]) or entry["changed_files"].null_count:
            entry = self._add_totals(entry, numbers)
        return entry.append_column("participants", _participants(entry, comments))

    def _add_totals(self, entry: pa.Table, numbers: Numbers) -> pa.Table:
        """Fill the totals that no reply held from the files, where those are all there."""
        complete = self._live.floors["files"].of(numbers) >= 0
        files = newest(self._current("files", self._floor("files")), ["number", "path"])
        sums = files.group_by("number").aggregate(
            [("additions", "sum"), ("deletions", "sum"), ("path", "count")]
        )
        names = {"additions": "additions_sum", "deletions": "deletions_sum"} | {
            "changed_files": "path_count"
        }
        sums = _join(entry.select(["number"]), numbers, sums)
        is_pull = pc.and_(pc.equal(entry["kind"], "pull"), pa.array(complete))
        for name, source in names.items():
            summed = pc.if_else(is_pull, pc.fill_null(sums[source], 0), None)
            column = pc.coalesce(entry[name], pc.cast(summed, pa.int64()))
            entry = entry.set_column(entry.column_names.index(name), name, column)
        return entry

    def _link_floor(self, links: pa.Table) -> Numbers:
        """Each link is superseded by what lists anew the part of an entry that it came from."""
        floors = np.full(len(links), -1, dtype=np.int64)
        numbers = links["observed_on"].to_numpy()
        parts = links["part"].to_numpy(zero_copy_only=False)
        for part in set(parts):
            floors[parts == part] = self._live.floors[part].of(numbers[parts == part])
        return floors

    def _between_entries(self, links: pa.Table) -> pa.Array[Any]:
        """Tell the links that neither come from nor lead to an entry that is gone."""
        gone = pa.array(self._gone)
        keep = pa.repeat(pa.scalar(True), len(links))
        for repo, number in (("repo", "number"), ("target_repo", "target_number")):
            here = pc.fill_null(pc.equal(links[repo], self._repo), False)
            lost = pc.and_(here, pc.fill_null(pc.is_in(links[number], value_set=gone), False))
            keep = pc.and_(keep, pc.invert(lost))
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
        references = distinct(_sorted(references, _TIES))
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
    kept = order.to_numpy()[last]
    kept.sort()
    return rows if len(kept) == len(rows) else rows.take(pa.array(kept))


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
        here, there = values.slice(0, len(values) - 1), values.slice(1)
        unequal = pc.fill_null(pc.not_equal(here, there), False)
        nulls = pc.not_equal(pc.is_null(here), pc.is_null(there))
        changed |= pc.or_(unequal, nulls).to_numpy(zero_copy_only=False)
    return changed


def _sorted(rows: pa.Table, order: Iterable[str]) -> pa.Table:
    return rows.sort_by([(name, "ascending") for name in order])


def _comment_floor(rows: pa.Table, live: Live) -> Numbers:
    """Review comments come in their own list over REST; all others stand on the timeline."""
    numbers = rows["number"].to_numpy()
    of_review = pc.equal(rows["kind"], "review_comment").to_numpy(zero_copy_only=False)
    return np.where(
        of_review,
        live.floors["review_comments"].of(numbers),
        live.floors["timeline"].of(numbers),
    )


def _join(entry: pa.Table, numbers: Numbers, facet: pa.Table) -> pa.Table:
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


def _participants(entry: pa.Table, comments: pa.Table) -> pa.Array[Any]:
    """Return, for each entry, the sorted logins of those who wrote it or in it."""
    people = pa.concat_tables([table.select(["number", "author"]) for table in (entry, comments)])
    people = people.filter(pc.is_valid(people["author"]))
    people = people.group_by(["number", "author"]).aggregate([])
    people = _sorted(people, ("number", "author"))
    people = people.filter(pc.is_in(people["number"], value_set=entry["number"].combine_chunks()))
    numbers = entry["number"].to_numpy()
    order = np.argsort(numbers)
    starts = np.searchsorted(people["number"].to_numpy(), numbers[order])
    offsets = np.append(starts, len(people)).astype(np.int32)
    lists = pa.ListArray.from_arrays(pa.array(offsets), people["author"].combine_chunks())
    return lists.take(pa.array(np.argsort(order))).cast(ENTRIES.schema.field("participants").type)


def _one_row(values: dict[str, Any]) -> pa.Table:
    arrays = []
    for column in REPOSITORIES.schema:
        value = values.get(column.name)
        if pa.types.is_timestamp(column.type):
            arrays.append(pa.array([value], pa.string()).cast(column.type))
        else:
            arrays.append(pa.array([value], column.type))
    return pa.Table.from_arrays(arrays, schema=REPOSITORIES.schema)

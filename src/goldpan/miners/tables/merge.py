"""Merges parsed facets into tables, one range of entry numbers after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from goldpan.miners.facts import Facts
from goldpan.miners.tables.live import Live, Numbers
from goldpan.miners.tables.parts import count_ranges, read_ranges
from goldpan.miners.tables.rows import EVIDENCE_COLUMNS, UNIT
from goldpan.parquet import write, writer
from goldpan.progress import Reporter
from goldpan.records import (
    COMMENTS,
    COMMITS,
    ENTRIES,
    FILES,
    MINED,
    MISSING,
    REFERENCES,
    REPOSITORIES,
    Table,
)

_TIES = (*REFERENCES.order, "where", "source_id", "start", "line", "excerpt")


def merge(scratch: Path, facts: Facts, live: Live, reporter: Reporter) -> dict[str, Path]:
    """Merge the part files in `scratch` and return each table's finished file."""
    paths = {table.name: scratch / f"{table.name}.parquet" for table in MINED}
    writers = {table.name: writer(paths[table.name], table) for table in MINED}
    gone = np.array(sorted(live.gone), dtype=np.int64)
    with reporter.task("Merging tables", count_ranges(scratch)) as task:
        for facets in read_ranges(scratch):
            for table, rows in _Range(facts.repo, facets, live, gone).tables().items():
                write(writers[table.name], table, facts.repo, rows)
            task.advance()
    row = {
        **facts.row,
        "issues_announced": live.announced.get("issues"),
        "pulls_announced": live.announced.get("pulls"),
    }
    write(writers[REPOSITORIES.name], REPOSITORIES, facts.repo, _one_row(row))
    missing = pa.table(
        {
            "number": pa.array([number for number, _, _ in live.missing], pa.int64()),
            "part": pa.array([part for _, part, _ in live.missing], pa.string()),
            "reason": pa.array([reason for _, _, reason in live.missing], pa.string()),
        }
    )
    write(writers[MISSING.name], MISSING, facts.repo, missing)
    for one in writers.values():
        one.close()
    return paths


class _Range:
    """The tables of one range of entry numbers."""

    def __init__(self, repo: str, facets: dict[str, pa.Table], live: Live, gone: Numbers) -> None:
        self._repo = repo
        self._facets = facets
        self._live = live
        self._gone = gone

    def tables(self) -> dict[Table, pa.Table]:
        entry = newest(self._current("entry"), ["number"])
        comments = newest(
            self._current("comments", lambda rows: _comment_floor(rows, self._live)),
            ["number", "kind", "comment_id"],
        )
        commits = newest(self._current("commits", self._floor("timeline")), ["number", "sha"])
        files = newest(self._current("files", self._floor("files")), ["number", "path"])
        return {
            ENTRIES: _sorted(self._entries(entry, comments), ENTRIES.order),
            COMMENTS: _sorted(comments, COMMENTS.order),
            COMMITS: _sorted(commits, COMMITS.order),
            FILES: _sorted(files, FILES.order),
            REFERENCES: self._references((entry, comments, commits)),
        }

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
        timeline = self._current("timeline", self._floor("timeline"))
        counts = timeline.group_by("number").aggregate([("timeline_items", "sum")])
        entry = _join(
            entry, numbers, counts.rename_columns({"timeline_items_sum": "timeline_items"})
        )
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

    def _between_entries(self, links: pa.Table) -> pa.Array[Any]:
        """Tell the links that neither come from nor lead to an entry that is gone."""
        gone = pa.array(self._gone)
        keep = pa.repeat(pa.scalar(True), len(links))
        for repo, number in (("repo", "number"), ("target_repo", "target_number")):
            here = pc.fill_null(pc.equal(links[repo], self._repo), False)
            lost = pc.and_(here, pc.fill_null(pc.is_in(links[number], value_set=gone), False))
            keep = pc.and_(keep, pc.invert(lost))
        return keep

    def _references(self, texts: Iterable[pa.Table]) -> pa.Table:
        rows = pa.concat_arrays(
            [chunk for table in texts for chunk in table["_row"].chunks]
            or [pa.array([], pa.int64())]
        )
        mentions = self._current("mentions")
        mentions = mentions.filter(pc.is_in(mentions["_row"], value_set=rows))
        links = self._facets["links"]
        floors = (
            np.where(
                pc.equal(links["part"], "links").to_numpy(zero_copy_only=False),
                self._floor("links", "observed_on")(links),
                self._floor("timeline", "observed_on")(links),
            )
            if len(links)
            else np.empty(0, np.int64)
        )
        links = self._current("links", lambda _: floors)
        links = links.filter(self._between_entries(links))
        columns = mentions.column_names[:-1]
        found = pa.concat_tables([links.select(columns), mentions.select(columns)])
        found = distinct(_sorted(found, _TIES))
        evidence = [found[name].combine_chunks() for name in EVIDENCE_COLUMNS]
        struct = pa.StructArray.from_arrays(
            evidence, fields=list(REFERENCES.schema.field("evidence").type)
        )
        return found.drop_columns(list(EVIDENCE_COLUMNS)).append_column("evidence", struct)


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
    place = np.searchsorted(have, numbers)
    found = np.zeros(len(numbers), dtype=bool)
    if len(have):
        found = have[np.minimum(place, len(have) - 1)] == numbers
    rows = facet.take(pa.array(place, mask=~found))
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

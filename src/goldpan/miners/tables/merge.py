"""Merges parsed facets into tables, one range of entry numbers after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from goldpan.core.parquet import write, writer
from goldpan.core.progress import Reporter
from goldpan.core.schemas import COMMENTS, ENTRIES, LEDGER, MINED, REPOSITORIES, UNKNOWN, Table
from goldpan.miners.facts import Facts
from goldpan.miners.tables.current_records import Live, Open
from goldpan.miners.tables.ledger import list_ledger
from goldpan.miners.tables.parts import count_ranges, range_of, read_ranges
from goldpan.miners.tables.range_tables import RangeTables
from goldpan.miners.tables.rows import FACETS
from goldpan.miners.tables.unknown import Unknown

_WRITERS = 2


def merge(scratch: Path, facts: Facts, live: Live, reporter: Reporter) -> dict[str, Path]:
    """Merge the part files in `scratch` and return each table's finished file."""
    paths = {table.name: scratch / f"{table.name}.parquet" for table in MINED}
    writers = {table.name: writer(paths[table.name], table) for table in MINED}
    deleted = np.array(sorted(live.deleted), dtype=np.int64)
    unknown, sums, of_lists = Unknown(), _Sums(), dict[tuple[int | None, str], Open]()
    waiting = _by_range(live)
    with (
        reporter.task("Merging tables", count_ranges(scratch)) as task,
        ThreadPoolExecutor(_WRITERS) as pool,
    ):
        writing: list[Future[None]] = []
        for index, facets in _all_ranges(scratch, waiting):
            part = RangeTables(facts, facets, live, deleted, waiting.get(index, {}))
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
    ahead = sorted(waiting)
    for index, facets in read_ranges(scratch):
        while ahead and ahead[0] < index:
            yield ahead.pop(0), empty
        if ahead and ahead[0] == index:
            ahead.pop(0)
        yield index, facets
    for index in ahead:
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


def _one_row(values: dict[str, Any]) -> pa.Table:
    arrays = []
    for column in REPOSITORIES.schema:
        value = values.get(column.name)
        if pa.types.is_timestamp(column.type):
            arrays.append(pa.array([value], pa.string()).cast(column.type))
        else:
            arrays.append(pa.array([value], column.type))
    return pa.Table.from_arrays(arrays, schema=REPOSITORIES.schema)

"""Rows as they were observed: the newest of those that share a key, and none twice."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from goldpan.miners.tables.current_records import Numbers


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

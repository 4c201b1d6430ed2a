"""Schema of a table: its columns with their descriptions, its row order and its key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import pyarrow as pa

TEXT = pa.string()
COUNT = pa.int64()
TIME = pa.timestamp("us", tz="UTC")
_AT_ONCE = 10_000
TEXTS = pa.list_(pa.field("item", pa.string(), nullable=False))


@dataclass(frozen=True, slots=True, eq=False)
class TableSchema:
    """A table's name, columns and row order; `key` columns tell its rows apart."""

    name: str
    schema: pa.Schema
    order: tuple[str, ...]
    key: tuple[str, ...]
    about: str = ""
    """Meaning of a row, and the command that makes it, in Markdown."""
    descriptions: Mapping[str, str] = field(default_factory=dict)
    """By column, in Markdown; none where the name says it."""

    @property
    def schema_without_repo(self) -> pa.Schema:
        """The columns but `repo`, which is the same in every row."""
        return pa.schema([field for field in self.schema if field.name != "repo"])

    def ordered(self, rows: pa.Table) -> pa.Table:
        """Return rows in the table's order."""
        return rows.sort_by([(name, "ascending") for name in self.order])

    def of_rows(self, rows: Iterable[Mapping[str, Any]]) -> pa.Table:
        """Return rows in the table's order; a column that a row lacks is null.

        Rows are taken some at a time, so memory follows the table.
        """
        return self.ordered(pa.Table.from_batches(self._batches(rows), schema=self.schema))

    def _batches(self, rows: Iterable[Mapping[str, Any]]) -> Iterator[pa.RecordBatch]:
        left = iter(rows)
        while some := list(islice(left, _AT_ONCE)):
            yield pa.RecordBatch.from_pylist(some, schema=self.schema)


class Column(NamedTuple):
    """A column, and what it holds, in Markdown, where its name does not say it."""

    name: str
    type: pa.DataType
    about: str = ""


def _typed(type: pa.DataType, name: str, about: str = "") -> Column:
    return Column(name, type, about)


text = partial(_typed, TEXT)
texts = partial(_typed, TEXTS)
count = partial(_typed, COUNT)
number = partial(_typed, pa.float64())
flag = partial(_typed, pa.bool_())
time = partial(_typed, TIME)


def table(
    name: str,
    about: str,
    *columns: Column,
    order: tuple[str, ...],
    key: tuple[str, ...] | None = None,
) -> TableSchema:
    """Return a table of columns; without a `key` its `order` tells the rows apart."""
    schema = pa.schema([pa.field(column.name, column.type) for column in columns])
    descriptions = {column.name: column.about for column in columns if column.about}
    return TableSchema(name, schema, order, order if key is None else key, about, descriptions)

"""Schema of a table: its columns with their descriptions, its row order and its key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

TEXT = pa.string()
COUNT = pa.int64()
FLAG = pa.bool_()
TIME = pa.timestamp("us", tz="UTC")
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


def table(
    name: str,
    about: str,
    *columns: tuple[str, pa.DataType] | tuple[str, pa.DataType, str],
    order: tuple[str, ...],
    key: tuple[str, ...],
) -> TableSchema:
    """Return a table of columns: each a name, a type and, where it needs one, a description."""
    schema = pa.schema([pa.field(column[0], column[1]) for column in columns])
    descriptions = {column[0]: column[2] for column in columns if len(column) == 3}
    return TableSchema(name, schema, order, key, about, descriptions)

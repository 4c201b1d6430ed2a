"""The rows that raw replies are parsed into, before they are merged into tables.

A reply seldom holds a whole table row: over REST an entry's facts come from three lists. So
parsing yields facets, each of which is superseded as a whole by its newest observation.
`sequence` is the archive record that a row came from; text rows bear a `row` id by which the
references found in their text share their fate.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from goldpan.records import COMMENTS, COMMITS, ENTRIES, FILES, REFERENCES

_PULL_COLUMNS = (
    "merged",
    "merged_at",
    "draft",
    "base_ref",
    "base_sha",
    "head_ref",
    "head_sha",
    "head_repo",
    "merge_sha",
)
_TOTAL_COLUMNS = ("additions", "deletions", "changed_files")
_ENTRY_COLUMNS = tuple(
    name
    for name in ENTRIES.schema.names
    if name not in ("repo", "participants", "timeline_items", *_PULL_COLUMNS, *_TOTAL_COLUMNS)
)


def _facet(table: pa.Schema, names: Iterable[str], *, text: bool = False) -> pa.Schema:
    fields = [table.field(name) for name in names]
    hidden = [pa.field("_sequence", pa.int64())]
    if text:
        hidden.append(pa.field("_row", pa.int64()))
    return pa.schema(fields + hidden)


def _without_repo(schema: pa.Schema) -> list[str]:
    return [name for name in schema.names if name != "repo"]


_REFERENCE = [field for field in REFERENCES.schema if field.name != "evidence"]
_EVIDENCE = list(REFERENCES.schema.field("evidence").type)

EVIDENCE_COLUMNS = tuple(item.name for item in _EVIDENCE)

FACETS: dict[str, pa.Schema] = {
    "entry": _facet(ENTRIES.schema, _ENTRY_COLUMNS, text=True),
    "pull": _facet(ENTRIES.schema, ("number", *_PULL_COLUMNS)),
    "totals": _facet(ENTRIES.schema, ("number", *_TOTAL_COLUMNS)),
    "timeline": _facet(ENTRIES.schema, ("number", "timeline_items")),
    "comments": _facet(COMMENTS.schema, _without_repo(COMMENTS.schema), text=True),
    "commits": _facet(COMMITS.schema, _without_repo(COMMITS.schema), text=True),
    "files": _facet(FILES.schema, _without_repo(FILES.schema)),
    "links": pa.schema([*_REFERENCE, *_EVIDENCE, ("part", pa.string()), ("_sequence", pa.int64())]),
    "mentions": pa.schema([*_REFERENCE, *_EVIDENCE, ("_row", pa.int64())]),
}
"""Facet name to schema; `links` are references that the API told, `mentions` those in texts."""

UNIT = {"links": "observed_on", "mentions": "observed_on"}
"""The column that names the entry that a facet's row belongs to, where it is not `number`."""


@dataclass(slots=True)
class Rows:
    """Rows of all facets, as tuples in the order of the facet's columns."""

    repo: str
    hosts: tuple[str, ...]
    facets: dict[str, list[tuple[Any, ...]]] = field(
        default_factory=lambda: {name: [] for name in FACETS}
    )
    sequence: int = 0
    _next_row: int = 0

    def begin(self, sequence: int) -> None:
        """Take the rows that follow as parsed from this archive record."""
        self.sequence = sequence
        self._next_row = sequence << 24  # room for 16 million texts a record

    def next_row(self) -> int:
        """Return a row id that no other text has."""
        self._next_row += 1
        return self._next_row

    def tables(self) -> dict[str, pa.Table]:
        """Return one Arrow table a facet that has rows, sorted by entry."""
        return {
            name: _table(rows, FACETS[name]).sort_by(UNIT.get(name, "number"))
            for name, rows in self.facets.items()
            if rows
        }


def _table(rows: list[tuple[Any, ...]], schema: pa.Schema) -> pa.Table:
    columns = [
        _times(values, kind.type)
        if pa.types.is_timestamp(kind.type)
        else pa.array(values, type=kind.type)
        for values, kind in zip(zip(*rows, strict=True), schema, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _times(values: tuple[str | None, ...], kind: pa.DataType) -> pa.Array[Any]:
    """Parse ISO 8601 times; GitHub writes them in UTC with a `Z`, git with an offset."""
    return pa.array(values, type=pa.string()).cast(kind)


def is_envelope(state: str | None, body: str | None) -> bool:
    """Tell a review that only carries its comments: it says nothing and decides nothing.

    The two APIs list different ones of these, and its comments bear its id, so it is no row.
    """
    return (state or "").lower() == "commented" and not body

"""Counts what GitHub sends and does not document: events, and values of enumerations."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from goldpan.core.schemas import COMMENTS, ENTRIES, EVENTS, FILES, UNKNOWN, Table

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
_KNOWN: dict[Table, dict[str, tuple[str, ...]]] = {
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
    },
    FILES: {
        "status": ("added", "changed", "copied", "modified", "removed", "renamed", "unchanged")
    },
    EVENTS: {"actor_type": _TYPES},
}


class Unknown:
    """Counts by kind and name, with an entry for each."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], tuple[int, int]] = {}

    def add_events(self, rows: pa.Table) -> None:
        """Count events by name."""
        self._add("event", "", rows, "name")

    def add_values(self, table: Table, rows: pa.Table) -> None:
        """Count the values of a table's enumerations that nobody documents."""
        for column, values_known in _KNOWN.get(table, {}).items():
            strange = pc.invert(pc.is_in(rows[column], value_set=pa.array((*values_known, None))))
            if pc.any(strange).as_py():
                self._add("value", f"{table.name}.{column} = ", rows.filter(strange), column)

    def table(self) -> pa.Table:
        """Return what was counted, sorted."""
        rows = [
            {"kind": kind, "name": name, "count": count, "number": number}
            for (kind, name), (count, number) in sorted(self._found.items())
        ]
        schema = pa.schema([field for field in UNKNOWN.schema if field.name != "repo"])
        return pa.Table.from_pylist(rows, schema=schema)

    def _add(self, kind: str, prefix: str, rows: pa.Table, column: str) -> None:
        grouped = rows.group_by(column).aggregate([("number", "count"), ("number", "min")])
        for row in grouped.to_pylist():
            key = (kind, f"{prefix}{row[column]}")
            count, number = self._found.get(key, (0, row["number_min"]))
            self._found[key] = count + row["number_count"], min(number, row["number_min"])

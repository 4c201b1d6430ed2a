"""The rows that raw replies are parsed into, before they are merged into tables.

A reply seldom holds a whole table row: over REST an entry's facts come from three lists. So
parsing yields facets, each of which is superseded as a whole by its newest observation.
`sequence` is the archive record that a row came from; text rows bear a `row` id by which the
references found in their text share their fate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import pyarrow as pa

from goldpan.core.schemas import (
    COMMENTS,
    COMMITS,
    DISCUSSION_COMMENTS,
    DISCUSSIONS,
    EDITS,
    ENTRIES,
    EVENTS,
    FILES,
    REFERENCES,
)
from goldpan.miners.tables.columns import Needs, UnreadableValue, make_table
from goldpan.text.keywords import LARGEST_NUMBER

# Who wrote something, told alike whichever API told it.


class Person(NamedTuple):
    """An account; all null for a deleted one ("ghost")."""

    login: Any
    id: Any
    type: Any


_GHOST = Person(None, None, None)
_RENAMED = {"Copilot[bot]": "copilot-swe-agent[bot]"}
"""Logins that REST spells in its own way."""


def actor(data: Any) -> Person:
    """Read a GraphQL actor."""
    return _person(data, "__typename", "databaseId")


def login_of(data: Any) -> Any:
    """Return a GraphQL actor's login."""
    return actor(data).login


def user(data: Any) -> Person:
    """Read a REST user."""
    if isinstance(data, dict) and data.get("login") in (None, "", "ghost"):
        return _GHOST
    return _person(data, "type", "id")


def _person(data: Any, kind_key: str, id_key: str) -> Person:
    if not data:
        return _GHOST
    if not isinstance(data, dict):
        return Person(UnreadableValue(data), None, None)
    login, kind, number = data.get("login"), data.get(kind_key) or "User", data.get(id_key)
    if not isinstance(login, str) or not isinstance(kind, str):
        return Person(UnreadableValue(login), number, UnreadableValue(kind))
    return (
        _account(login, kind, number)
        if isinstance(number, int)
        else _person_of(login, kind, number)
    )


def _person_of(login: str, kind: str, number: Any) -> Person:
    if kind == "Bot" and not login.endswith("[bot]"):
        login += "[bot]"
    return Person(_RENAMED.get(login, login), number, _snake(kind))


_account = lru_cache(maxsize=4_096, typed=True)(_person_of)
"""The same few people write most of a repository."""


@lru_cache(maxsize=64)
def _snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() and i else c.lower() for i, c in enumerate(name))


MALFORMED = (KeyError, TypeError, ValueError, AttributeError, IndexError)
"""What parsing raises where a reply has another shape than GitHub documents."""
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


def _plain(**columns: pa.DataType) -> pa.Schema:
    return pa.schema([*columns.items(), ("_sequence", pa.int64())])


_REFERENCE = [field for field in REFERENCES.schema if field.name != "evidence"]
_EVIDENCE = list(REFERENCES.schema.field("evidence").type)
EVIDENCE_COLUMNS = tuple(item.name for item in _EVIDENCE)
_COUNT, _TEXT = pa.int64(), pa.string()
FACETS: dict[str, pa.Schema] = {
    "entry": _facet(ENTRIES.schema, _ENTRY_COLUMNS, text=True),
    "pull": _facet(ENTRIES.schema, ("number", *_PULL_COLUMNS)),
    "totals": _facet(ENTRIES.schema, ("number", *_TOTAL_COLUMNS)),
    "comments": _facet(COMMENTS.schema, _without_repo(COMMENTS.schema), text=True),
    "discussions": _facet(DISCUSSIONS.schema, _without_repo(DISCUSSIONS.schema)),
    "discussion_comments": _facet(
        DISCUSSION_COMMENTS.schema, _without_repo(DISCUSSION_COMMENTS.schema)
    ),
    "edits": _facet(EDITS.schema, _without_repo(EDITS.schema)),
    "commits": _facet(COMMITS.schema, _without_repo(COMMITS.schema), text=True),
    "files": _facet(FILES.schema, _without_repo(FILES.schema)),
    "events": _facet(EVENTS.schema, _without_repo(EVENTS.schema)),
    "links": pa.schema([*_REFERENCE, *_EVIDENCE, ("part", pa.string()), ("_sequence", pa.int64())]),
    "mentions": pa.schema([*_REFERENCE, *_EVIDENCE, ("_row", pa.int64())]),
    "pages": _plain(number=_COUNT, part=_TEXT, unit=_TEXT, announced=_COUNT, received=_COUNT),
    "envelopes": _plain(number=_COUNT, comment_id=_COUNT),
    "unknown": _plain(number=_COUNT, name=_TEXT),
    "losses": _plain(number=_COUNT, part=_TEXT, reason=_TEXT),
}
"""Facet name to schema.

`links` are references that the API told, `mentions` those in texts. `pages` say of each page of a
list how long GitHub says that the list is, and how much came; its `unit` tells lists of the same
part apart. `envelopes` are the reviews that are no rows. `losses` name what could not be read.
"""
NEEDS = {
    "entry": Needs(("number",), ("title", "state", "created_at", "updated_at")),
    "pull": Needs(("number",), ("base_ref", "base_sha", "head_ref", "head_sha")),
    "totals": Needs(("number",)),
    "comments": Needs(("number", "comment_id"), ("created_at", "updated_at")),
    "discussions": Needs(("number",), ("category", "is_answerable")),
    "discussion_comments": Needs(("number", "comment_id")),
    "edits": Needs(("number", "edit_id"), ("edited_at",)),
    "commits": Needs(("number", "sha"), ("message", "authored_at", "committed_at")),
    "files": Needs(("number", "path"), ("status", "additions", "deletions")),
    "events": Needs(("number", "event"), ("at",)),
    "links": Needs(("observed_on",)),
    "mentions": Needs(("observed_on",)),
    "pages": Needs(("number",)),
    "envelopes": Needs(("number", "comment_id")),
}
UNIT = {"links": "observed_on", "mentions": "observed_on"}
"""The column that names the entry that a facet's row belongs to, where it is not `number`."""
_PARTS = {
    "pull": "entry",
    "totals": "entry",
    "discussions": "entry",
    "discussion_comments": "comments",
    "events": "timeline",
    "links": "timeline",
    "envelopes": "reviews",
}
PART_OF_KIND = {
    "comment": "comments",
    "review": "reviews",
    "review_comment": "review_comments",
    "discussion_comment": "comments",
}
PART_OF_RECORD = {
    "entries": "entry",
    "more": "timeline",
    "issues": "entry",
    "issue": "entry",
    "pulls": "entry",
    "pull": "entry",
    "pull_comments": "review_comments",
    "complete": "files",
    "backup": "entry",
}
"""Which part of an entry a reply holds, where it is not called the same."""
NOBODY = 0
"""Stands for the number where nothing tells which entry it was."""


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
    is_careful: bool = True
    """Whether what fails to parse costs an item alone; where not, it costs the record."""

    def begin(self, sequence: int) -> None:
        """Take the rows that follow as parsed from this archive record."""
        self.sequence = sequence
        self._next_row = sequence << 24  # room for 16 million texts a record

    def next_row(self) -> int:
        """Return a row id that no other text has."""
        self._next_row += 1
        return self._next_row

    def read(self, parse: Callable[..., None], *arguments: Any) -> None:
        """Parse a record; only where that fails, anew with care for each of its items."""
        lengths = self._lengths()
        self.is_careful = False
        try:
            parse(self, *arguments)
            return
        except MALFORMED:
            self._cut(lengths)
        finally:
            self.is_careful = True
        parse(self, *arguments)

    def attempt(
        self, number: object, part: str, parse: Callable[..., None], *arguments: Any, **options: Any
    ) -> None:
        """Parse one item; where that fails, nothing stays of it but what was lost."""
        if not self.is_careful:
            parse(self, *arguments, **options)
            return
        lengths = self._lengths()
        try:
            parse(self, *arguments, **options)
        except MALFORMED as error:
            self._cut(lengths)
            self.lose(number, part, f"an item cannot be read ({type(error).__name__}: {error})")

    def _lengths(self) -> tuple[int, ...]:
        return tuple(map(len, self.facets.values()))

    def _cut(self, lengths: tuple[int, ...]) -> None:
        for rows, length in zip(self.facets.values(), lengths, strict=True):
            del rows[length:]

    def page(
        self, number: int, part: str, announced: object, received: int, unit: str = ""
    ) -> None:
        """Note how long GitHub says that a list is, and how much of it a page brought."""
        self.facets["pages"].append((number, part, unit, announced, received, self.sequence))

    def lose(self, number: object, part: str, reason: str, sequence: int | None = None) -> None:
        """Note that something could not be read."""
        is_number = isinstance(number, int) and 0 < number <= LARGEST_NUMBER
        where = self.sequence if sequence is None else sequence
        self.facets["losses"].append((number if is_number else NOBODY, part, reason[:300], where))

    def tables(self) -> dict[str, pa.Table]:
        """Return one Arrow table a facet that has rows, sorted by entry."""
        tables = {name: self._table(name) for name in FACETS if name != "losses"}
        tables["losses"] = self._table("losses")
        return {
            name: _sorted(table, UNIT.get(name, "number"))
            for name, table in tables.items()
            if table
        }

    def _table(self, name: str) -> pa.Table | None:
        rows, schema = self.facets[name], FACETS[name]
        if not rows:
            return None
        unit = schema.get_field_index(UNIT.get(name, "number"))

        def on_loss(row: tuple[Any, ...], reason: str) -> None:
            # What is wrong with the time of a mention is wrong with its text, which tells.
            if name != "mentions":
                part = _part_of(name, row)
                self.lose(row[unit], part, reason, row[schema.get_field_index("_sequence")])

        table = make_table(rows, schema, NEEDS.get(name, Needs()), on_loss)
        return table if len(table) else None


def _sorted(table: pa.Table, unit: str) -> pa.Table:
    numbers = table[unit].to_numpy()
    return table if (numbers[1:] >= numbers[:-1]).all() else table.sort_by(unit)


def _part_of(facet: str, row: tuple[Any, ...]) -> str:
    if facet == "comments":
        return PART_OF_KIND[row[FACETS["comments"].get_field_index("kind")]]
    if facet == "pages":
        return str(row[1])
    return _PARTS.get(facet, facet)


def is_envelope(state: str | None, body: str | None) -> bool:
    """Tell a review that only carries its comments: it says nothing and decides nothing.

    The two APIs list different ones of these, and its comments bear its id, so it is no row.
    """
    return (state or "").lower() == "commented" and not body

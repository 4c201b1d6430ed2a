"""Makes columns of parsed values; a value that cannot be read costs its field, never the table.

A column is made at once. Only where that fails are the values found that do not fit, made null and
reported. A row without its identity is dropped and reported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

UNFIT = (pa.ArrowException, TypeError, ValueError, OverflowError)

# Python reads no other years, and nothing on GitHub is from them.
_FIRST = -62_135_596_800_000_000
_LAST = 253_402_300_799_999_999

Row = tuple[Any, ...]
OnLoss = Callable[[Row, str], None]
"""Called with a row and a description of what was lost of it."""


@dataclass(frozen=True, slots=True)
class UnreadableValue:
    """A value of another kind than GitHub documents, and its readable part."""

    value: object
    readable: object = None


@dataclass(frozen=True, slots=True)
class Facet:
    """The columns of a kind of rows, and which of them are needed."""

    schema: pa.Schema
    identity: tuple[str, ...] = ("number",)
    """Columns that a row cannot do without; the first names the entry that it belongs to."""
    always: tuple[str, ...] = ()
    """Columns that are null only by mistake."""
    part: str = ""
    """The part of an entry that the rows belong to, where the facet is not called the same."""

    @property
    def unit(self) -> str:
        """The column that names the entry."""
        return self.identity[0]


def make_table(rows: Sequence[Row], facet: Facet, on_loss: OnLoss) -> pa.Table:
    """Return the table of rows in the order of its columns; `on_loss` hears what was lost."""
    schema = facet.schema
    columns = [
        _column(name, values, rows, on_loss)
        for name, values in zip(schema, zip(*rows, strict=True), strict=True)
    ]
    table = pa.Table.from_arrays(columns, schema=schema)
    for name in facet.always:
        for index in _nulls(table, name):
            if rows[index][schema.get_field_index(name)] is None:
                on_loss(rows[index], f"{name} is missing")
    unknown = {index for name in facet.identity for index in _nulls(table, name)}
    if not unknown:
        return table
    for index in sorted(unknown):
        on_loss(rows[index], f"nothing identifies it: {', '.join(facet.identity)} cannot be read")
    keep = np.ones(len(table), dtype=bool)
    keep[list(unknown)] = False
    return table.filter(pa.array(keep))


def inner(value: Any, key: str) -> Any:
    """Return a member of an object that may be null."""
    if value is None:
        return None
    return value.get(key) if isinstance(value, dict) else UnreadableValue(value)


def lower(value: Any) -> Any:
    """Return an enumeration's value in lower case."""
    return value.lower() if isinstance(value, str) else value


def integer(value: Any) -> Any:
    """Return a number that GitHub may write as a text."""
    if isinstance(value, str):
        return int(value) if value.isascii() and value.isdigit() else UnreadableValue(value)
    return value


def nodes(connection: Any) -> Any:
    """Return the nodes of a list's page; the miner records those that GitHub left out."""
    items = inner(connection, "nodes")
    return [node for node in items if node] if isinstance(items, list) else items


def names(values: Any, key: str) -> Any:
    """Return the sorted names of a list's objects, or texts; those that have none are lost."""
    if values is None:
        return []
    if not isinstance(values, list):
        return UnreadableValue(values, [])
    return texts(values, [v.get(key) if isinstance(v, dict) else v for v in values])


def texts(values: list[Any], members: list[Any]) -> Any:
    """Return the sorted texts among the members of values; others are lost."""
    readable = sorted(member for member in members if isinstance(member, str))
    return readable if len(readable) == len(values) else UnreadableValue(values, readable)


# Accounts, in the same form from either API.


class Person(NamedTuple):
    """An account; all null for a deleted one ("ghost")."""

    login: Any
    id: Any
    type: Any


_GHOST = Person(None, None, None)
_APPS = {
    175728472: "copilot-pull-request-reviewer[bot]",
    198982749: "copilot-swe-agent[bot]",
    242468646: "anthropic-code-agent[bot]",
    242516109: "openai-code-agent[bot]",
}
"""Logins of apps, by id, which REST shows by a product's name: "Copilot" is two of them."""


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
    if isinstance(number, int) and (app := _APPS.get(number)):
        return Person(app, number, "bot")
    if kind == "Bot" and not login.endswith("[bot]"):
        login += "[bot]"
    return Person(login, number, _snake(kind))


_account = lru_cache(maxsize=4_096, typed=True)(_person_of)
"""The same few people write most of a repository."""


@lru_cache(maxsize=64)
def _snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() and i else c.lower() for i, c in enumerate(name))


def excerpt(value: object) -> str:
    """Return a value as a message may hold it."""
    text = repr(value.value if isinstance(value, UnreadableValue) else value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _column(
    field: pa.Field[Any], values: tuple[Any, ...], rows: Sequence[Row], on_loss: OnLoss
) -> pa.Array[Any]:
    try:
        return array_of(values, field.type)
    except UNFIT:
        pass
    fitting = list(values)
    for index, value in enumerate(values):
        try:
            array_of((value,), field.type)
        except UNFIT:
            fitting[index] = value.readable if isinstance(value, UnreadableValue) else None
            on_loss(rows[index], f"{field.name} cannot be read: {excerpt(value)}")
    return array_of(tuple(fitting), field.type)


def array_of(values: tuple[Any, ...], kind: pa.DataType) -> pa.Array[Any]:
    """Return a column of values, times as texts; raises one of `UNFIT` where one does not fit."""
    if not pa.types.is_timestamp(kind):
        return pa.array(values, type=kind)
    # ISO 8601: GitHub writes times in UTC with a `Z`, git with an offset.
    times = pa.array(values, type=pa.string()).cast(kind)
    ends = pc.min_max(times.cast(pa.int64())).as_py()
    if ends["min"] is not None and (ends["min"] < _FIRST or ends["max"] > _LAST):
        raise ValueError("an invalid year")
    return times


def _nulls(table: pa.Table, name: str) -> list[int]:
    column = table[name]
    if not column.null_count:
        return []
    return [int(i) for i in np.flatnonzero(pc.is_null(column).to_numpy(zero_copy_only=False))]

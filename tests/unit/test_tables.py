"""Tables: their definitions hold together, and the rows that parsing makes."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import goldpan
from goldpan.core import schemas
from goldpan.core.schemas import MINED, PAIRS, TableSchema
from goldpan.miners.tables.columns import UnreadableValue, actor, user

PACKAGE = Path(goldpan.__file__).parent
TABLES = [value for value in vars(schemas).values() if isinstance(value, TableSchema)]


def test_every_table_is_listed_once() -> None:
    names = [table.name for table in TABLES]
    assert len(set(names)) == len(names)
    assert {table.name for table in (*MINED, PAIRS)} <= set(names)
    assert {table.name for table in MINED} == {
        *("repositories", "entries", "comments", "discussions", "discussion_comments", "edits"),
        *("commits", "files", "references", "events", "ledger", "unknown"),
    }


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_schema_order_and_key_agree(table: TableSchema) -> None:
    names = table.schema.names
    assert names[0] == "repo"
    assert len(set(names)) == len(names)
    for columns in (table.order, table.key):
        assert set(columns) <= set(names)
        assert len(set(columns)) == len(columns)
    assert table.order
    # Rows that only the key tells apart would otherwise have no fixed order.
    assert set(table.key) <= set(table.order)
    for column in table.schema:
        if pa.types.is_timestamp(column.type):
            assert (column.type.unit, column.type.tz) == ("us", "UTC")
        named = column.name == "at" or column.name.endswith("_at")
        assert named == pa.types.is_timestamp(column.type)


def test_datasets_is_not_shadowed() -> None:
    assert str(PACKAGE) not in [str(Path(entry or ".").resolve()) for entry in sys.path]
    spec = importlib.util.find_spec("datasets")
    assert spec is None or not Path(str(spec.origin)).is_relative_to(PACKAGE)


def test_people_are_told_alike_by_both_apis() -> None:
    rest = user({"login": "renovate[bot]", "type": "Bot", "id": 7})
    assert rest == actor({"login": "renovate", "__typename": "Bot", "databaseId": 7})
    assert rest == ("renovate[bot]", 7, "bot")


@pytest.mark.parametrize("number", [1, True, 1.0, "1", [1], {"id": 1}, None])
def test_an_id_stays_as_it_came(number: Any) -> None:
    for value in (1, number, True):
        user_id = user({"login": "ann", "id": value}).id
        assert (user_id, type(user_id)) == (value, type(value))


@pytest.mark.parametrize("data", [None, {}, {"login": "ghost", "id": 1}, {"login": None}])
def test_deleted_accounts_are_nobody(data: Any) -> None:
    assert user(data) == (None, None, None)


@pytest.mark.parametrize("login", [7, ["ann"], {"login": "ann"}])
def test_a_login_that_is_none_is_unreadable(login: Any) -> None:
    assert user({"login": login, "id": 1}).login == UnreadableValue(login)

"""The tables' definitions hold together."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import goldpan
from goldpan.core import schemas
from goldpan.core.schemas import MINED, PAIRS, TableSchema

PACKAGE = Path(goldpan.__file__).parent
TABLES = [value for value in vars(schemas).values() if isinstance(value, TableSchema)]


def test_every_table_is_listed_once() -> None:
    names = [table.name for table in TABLES]
    assert len(set(names)) == len(names)
    assert {table.name for table in (*MINED, PAIRS)} <= set(names)
    assert {table.name for table in MINED} == {
        "repositories",
        "entries",
        "comments",
        "discussions",
        "discussion_comments",
        "edits",
        "commits",
        "files",
        "references",
        "events",
        "ledger",
        "unknown",
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

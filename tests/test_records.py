"""The tables' definitions hold together, and imports run one way."""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import goldpan
from goldpan import records
from goldpan.records import MINED, PAIRS, Table

PACKAGE = Path(goldpan.__file__).parent
TABLES = [value for value in vars(records).values() if isinstance(value, Table)]
FILES = sorted(PACKAGE.rglob("*.py"))
FOR_PEOPLE = (
    "goldpan.cli",
    "goldpan.commands",
    "goldpan.show",
    "goldpan.explain",
    "goldpan.report",
    "goldpan.demo",
)
ONE_WAY = ("miners", "filters", "datasets", "annotation", "builders", "evaluation")


def test_every_table_is_listed_once() -> None:
    names = [table.name for table in TABLES]
    assert len(set(names)) == len(names)
    assert {table.name for table in (*MINED, PAIRS)} <= set(names)
    assert {table.name for table in MINED} == {
        "repositories",
        "entries",
        "comments",
        "commits",
        "files",
        "references",
        "events",
        "ledger",
        "unknown",
    }


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_schema_order_and_key_agree(table: Table) -> None:
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


def imports(path: Path) -> Iterator[str]:
    """Yield the absolute names of all that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def within(name: str, modules: tuple[str, ...]) -> bool:
    return any(name == module or name.startswith(f"{module}.") for module in modules)


def test_the_scan_of_imports_sees_something() -> None:
    found = {name for path in FILES for name in imports(path)}
    assert within("goldpan.records.PAIRS", ("goldpan.records",))
    assert not within("goldpan.showing", ("goldpan.show",))
    assert {"goldpan.records.PAIRS", "goldpan.demo.run_demo", "duckdb"} <= found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_imports_run_one_way(path: Path) -> None:
    forbidden: tuple[str, ...] = ("goldpan.cli",)
    folder = path.relative_to(PACKAGE).parts[0]
    if folder in ONE_WAY:
        later = ONE_WAY[ONE_WAY.index(folder) + 1 :]
        forbidden = (*FOR_PEOPLE, *(f"goldpan.{name}" for name in later))
    assert [name for name in imports(path) if within(name, forbidden)] == []


def test_datasets_is_not_shadowed() -> None:
    assert str(PACKAGE) not in [str(Path(entry or ".").resolve()) for entry in sys.path]
    found = importlib.util.find_spec("datasets")
    assert found is None or not Path(str(found.origin)).is_relative_to(PACKAGE)

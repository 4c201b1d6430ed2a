"""Damage of a table or a result is found before anything of it is used."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from goldpan.core.errors import DamagedError, WorkspaceError
from goldpan.core.parquet import (
    count_rows,
    open_file,
    open_tables,
    read_metadata,
    read_table,
    write_table,
)
from goldpan.core.sealed import EMPTY, read_json, sealed_json
from goldpan.core.workspace import WorkspaceLayout

ROWS = pa.table({"number": range(3_000), "title": [f"text {n * 7919}" for n in range(3_000)]})


def flip(data: bytes, bit: int) -> bytes:
    damaged = bytearray(data)
    damaged[bit // 8] ^= 1 << bit % 8
    return bytes(damaged)


def in_duckdb(path: Path) -> object:
    workspace = WorkspaceLayout(path.parents[3])
    with open_tables(workspace, "a/b", ["entries"]) as connection:
        return connection.execute("SELECT count(*), min(number) FROM entries").fetchall()


READERS: list[Callable[[Path], object]] = [read_table, read_metadata, open_file, in_duckdb]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = WorkspaceLayout(tmp_path).table("a/b", "entries")
    path.parent.mkdir(parents=True)
    write_table(ROWS, path)
    return path


@pytest.mark.parametrize("read", READERS)
def test_no_flipped_bit_is_read(table: Path, read: Callable[[Path], object]) -> None:
    data = table.read_bytes()
    chance = random.Random(1)
    for number in range(450 if read is read_table else 60):
        bit = chance.randrange(len(data) * 8) if number else len(data) * 8 - 1
        table.write_bytes(flip(data, bit))
        with pytest.raises((OSError, WorkspaceError), match=r"entries\.parquet"):
            read(table)
    table.write_bytes(data)
    read(table)


def test_every_flipped_bit_of_a_footer_is_found(tmp_path: Path) -> None:
    path = tmp_path / "small.parquet"
    write_table(ROWS.slice(0, 2), path)
    data = path.read_bytes()
    for bit in range(0, len(data) * 8, 5):
        path.write_bytes(flip(data, bit))
        with pytest.raises(DamagedError):
            read_table(path)


def test_a_table_says_the_same_as_without_a_seal(table: Path) -> None:
    assert read_table(table).equals(ROWS)
    assert read_table(table, columns=["title"]).column_names == ["title"]
    assert count_rows(table) == len(ROWS)
    again = table.with_name("again.parquet")
    write_table(ROWS, again)
    assert again.read_bytes() == table.read_bytes()


def test_a_text_that_looks_like_a_seal_is_no_seal(tmp_path: Path) -> None:
    path = tmp_path / "hostile.parquet"
    texts = [f"goldpan.sha256\x18M{EMPTY}", f'"goldpan.sha256": "{EMPTY}"', "goldpan-seal:"]
    write_table(pa.table({"text": texts}), path)
    assert read_table(path)["text"].to_pylist() == texts
    data = sealed_json({"a": texts, "z": texts})
    (tmp_path / "hostile.json").write_bytes(data)
    assert read_json(tmp_path / "hostile.json") == {"a": texts, "z": texts}


def test_every_flipped_bit_of_a_result_is_found(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    data = sealed_json({"score": 0.75, "rows": {"test": 12}, "zeta": "é"})
    path.write_bytes(data)
    assert read_json(path) == {"score": 0.75, "rows": {"test": 12}, "zeta": "é"}
    for bit in range(len(data) * 8):
        path.write_bytes(flip(data, bit))
        with pytest.raises((DamagedError, orjson.JSONDecodeError)):
            read_json(path)


def test_what_was_written_before_there_were_seals_is_read(tmp_path: Path) -> None:
    path = tmp_path / "old.parquet"
    pq.write_table(ROWS, path)
    assert read_table(path).equals(ROWS)
    (tmp_path / "old.json").write_bytes(b'{"format": 1}')
    assert read_json(tmp_path / "old.json") == {"format": 1}

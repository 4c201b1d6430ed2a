"""Damage of tables and results is found before use; databases in memory are apart."""

from __future__ import annotations

import gc
import multiprocessing
import os
import random
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import duckdb
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from goldpan.core.errors import DamagedError, WorkspaceError
from goldpan.core.storage.parquet import (
    connect,
    count_rows,
    open_file,
    open_tables,
    read_metadata,
    read_table,
    second,
    write_table,
)
from goldpan.core.storage.sealed import EMPTY, read_json, sealed_json
from goldpan.core.storage.workspace import WorkspaceLayout

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


_SETTING = "SELECT current_setting('TimeZone'), current_setting('enable_progress_bar')"


def _count(number: int) -> int:
    with connect() as connection:
        connection.execute("CREATE TABLE numbers AS FROM range($1)", [number])
        return int(connection.execute("SELECT count(*) FROM numbers").fetchall()[0][0])


def test_each_has_tables_views_and_registered_rows_of_its_own() -> None:
    with connect() as outer, connect() as inner:
        for connection, number in ((outer, 1), (inner, 2)):
            connection.execute(f"CREATE TABLE kept AS SELECT {number} AS number")
            connection.execute("CREATE VIEW seen AS FROM kept")
            connection.register("rows", pa.table({"number": [number]}))
            connection.execute("CREATE TEMP TABLE copied AS FROM rows")
        for connection, number in ((outer, 1), (inner, 2)):
            for name in ("kept", "seen", "rows", "copied"):
                assert connection.execute(f"FROM {name}").fetchall() == [(number,)]
    with connect() as later, pytest.raises(duckdb.CatalogException):
        later.execute("FROM kept")


def test_a_second_connection_reads_on_while_the_first_asks() -> None:
    with connect() as connection:
        connection.execute("CREATE TABLE numbers AS FROM range(100_000) AS numbers(number)")
        answer = second(connection).execute("FROM numbers ORDER BY number")
        assert answer.fetchmany(1) == [(0,)]
        assert connection.execute("SELECT max(number) FROM numbers").fetchall() == [(99_999,)]
        assert answer.fetchmany(2) == [(1,), (2,)]


def test_a_file_that_changed_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    for number in range(3):
        write_table(pa.table({"number": [number]}), path)
        with connect() as connection:
            assert connection.execute(f"FROM '{path}'").fetchall() == [(number,)]


def test_threads_and_processes_may_ask_at_once() -> None:
    with connect() as connection:  # which a process that is forked must not use
        connection.execute("SELECT 1")
        with ThreadPoolExecutor(4) as threads:
            assert list(threads.map(_count, range(20))) == list(range(20))
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as processes:
        assert list(processes.map(_count, range(3))) == list(range(3))


def test_a_process_that_is_forked_leaves_its_parents_database_alone() -> None:
    """It lacks the threads of that: to ask it, or to end it, would crash."""
    assert _count(3) == 3
    child = os.fork()
    if not child:
        os._exit(0 if _count(4) == 4 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    program = [sys.executable, "-c", "pass"]
    assert subprocess.run(program, preexec_fn=gc.collect, check=False).returncode == 0
    assert _count(5) == 5

"""Databases in memory: all of a process share one DuckDB, and see nothing of each other."""

from __future__ import annotations

import gc
import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from goldpan.core.parquet import connect, connect_alone, second, write_table

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


def test_what_ended_leaves_no_database_behind() -> None:
    with connect() as connection:
        before = connection.execute("SELECT count(*) FROM duckdb_databases()").fetchall()
    with pytest.raises(duckdb.BinderException), connect() as connection:
        connection.execute("SELECT nothing")
    with connect() as connection:
        assert connection.execute("SELECT count(*) FROM duckdb_databases()").fetchall() == before


def test_all_speak_utc_and_print_nothing() -> None:
    with connect() as connection, connect_alone() as alone:
        for cursor in (connection, second(connection), alone):
            assert cursor.execute(_SETTING).fetchall() == [("UTC", False)]


def test_a_second_connection_reads_on_while_the_first_asks() -> None:
    with connect() as connection:
        connection.execute("CREATE TABLE numbers AS FROM range(100_000) AS numbers(number)")
        answer = second(connection).execute("FROM numbers ORDER BY number")
        assert answer.fetchmany(1) == [(0,)]
        assert connection.execute("SELECT max(number) FROM numbers").fetchall() == [(99_999,)]
        assert answer.fetchmany(2) == [(1,), (2,)]


def test_a_setting_of_the_whole_database_stays_with_its_own() -> None:
    with connect_alone() as alone, connect() as connection:
        alone.execute("SET threads = 1")
        assert _count(3) == 3
        alone.execute("SET memory_limit = '100MB'")
        (limit,) = connection.execute("SELECT current_setting('memory_limit')").fetchall()[0]
        assert limit != alone.execute("SELECT current_setting('memory_limit')").fetchall()[0][0]


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

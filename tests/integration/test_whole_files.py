"""Files and directories appear whole: killed or competing writers leave the old or the new."""

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

from goldpan.core.errors import WorkspaceError
from goldpan.core.locks import hold_lock
from goldpan.core.storage.workspace import WorkspaceLayout, replacing_file, write_whole
from goldpan.datasets.table_files import write_rows

# Each system call that moves something kills its process, before or after it moved.
_KILLED = """
import ctypes, os, signal, sys
from pathlib import Path
from goldpan.core.storage import workspace as storage
from goldpan.core.storage.workspace import WorkspaceLayout

at, left = sys.argv[2], int(sys.argv[3])

def dying(move):
    def moved(*arguments):
        global left
        left -= 1
        if not left and at == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        result = move(*arguments)
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        return result
    return moved

Path.rename = dying(Path.rename)
storage._exchanged = {exchange}
with WorkspaceLayout(Path(sys.argv[1])).replacing(Path(sys.argv[1]) / "datasets" / "qa") as new:
    (new / "rows").write_text("new")
"""


@pytest.mark.parametrize("at", ["before", "after"])
@pytest.mark.parametrize("move", [1, 2])
@pytest.mark.parametrize("exchange", ["dying(storage._exchanged)", "lambda one, other: False"])
def test_a_kill_while_a_directory_is_replaced_leaves_one_of_the_two(
    tmp_path: Path, exchange: str, move: int, at: str
) -> None:
    directory = tmp_path / "datasets" / "qa"
    directory.mkdir(parents=True)
    (directory / "rows").write_text("old")
    code = _KILLED.replace("{exchange}", exchange)
    subprocess.run([sys.executable, "-c", code, str(tmp_path), at, str(move)], check=False)
    with WorkspaceLayout(tmp_path).scratch():  # the next start, which clears up
        pass
    if exchange.startswith("dying"):
        assert (directory / "rows").read_text() in {"old", "new"}
    with pytest.raises(KeyboardInterrupt), WorkspaceLayout(tmp_path).replacing(directory):
        raise KeyboardInterrupt  # the next writer puts back what waits beside
    assert (directory / "rows").read_text() in {"old", "new"}
    with WorkspaceLayout(tmp_path).replacing(directory) as new:
        (new / "rows").write_text("newest")
    assert (directory / "rows").read_text() == "newest"
    assert _names(tmp_path / "datasets") == ["qa"]
    assert not _names(tmp_path / "tmp")


def test_a_directory_is_never_missing_while_it_is_replaced(tmp_path: Path) -> None:
    directory, missing = tmp_path / "datasets" / "qa", 0

    def replace_often() -> None:
        for _ in range(100):
            with WorkspaceLayout(tmp_path).replacing(directory) as new:
                (new / "rows").write_text("whole")

    with WorkspaceLayout(tmp_path).replacing(directory):
        pass
    with ThreadPoolExecutor(2) as pool:
        writers = [pool.submit(replace_often) for _ in range(2)]
        while not all(writer.done() for writer in writers):
            missing += not directory.exists()
    for writer in writers:
        writer.result()
    assert not missing
    assert (directory / "rows").read_text() == "whole"


def test_writers_of_one_file_wait_for_each_other(tmp_path: Path) -> None:
    target = tmp_path / "state.json"
    contents = [bytes([97 + number]) * 50_000 for number in range(4)]
    write_whole(target, contents[0])

    def write_often(content: bytes) -> None:
        for _ in range(75):
            write_whole(target, content)

    torn = 0
    with ThreadPoolExecutor(4) as pool:
        writers = [pool.submit(write_often, content) for content in contents]
        while not all(writer.done() for writer in writers):
            torn += target.read_bytes() not in contents
    for writer in writers:
        writer.result()
    assert not torn
    assert _names(tmp_path) == ["state.json"]


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def _write_rows(path: Path) -> None:
    schema = pa.schema([("text", pa.string())])
    batch = pa.record_batch([["x" * 1000] * 1000], schema=schema)

    def broken_off() -> Iterator[pa.RecordBatch]:
        yield batch
        os.kill(os.getpid(), signal.SIGKILL)

    write_rows(pa.RecordBatchReader.from_batches(schema, broken_off()), path)


def _write_draft(path: Path) -> None:
    with replacing_file(path) as draft:
        draft.write_text("half")
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("write", [_write_rows, _write_draft])
@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_a_killed_writer_leaves_the_file_as_it_was(
    tmp_path: Path, write: Callable[[Path], None], suffix: str
) -> None:
    target = tmp_path / f"rows{suffix}"
    target.write_text("old")
    process = os.fork()
    if not process:
        try:
            write(target)
        finally:
            os._exit(0)
    assert os.waitpid(process, 0)[1] == signal.SIGKILL
    assert target.read_text() == "old"
    write_whole(target, "new")
    assert target.read_text() == "new"
    assert _names(tmp_path) == [target.name]


def test_a_failed_write_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    target = tmp_path / "rows.csv"
    target.write_text("old")
    with pytest.raises(ValueError, match="bad row"), replacing_file(target) as draft:
        draft.write_text("half")
        raise ValueError("bad row")
    assert target.read_text() == "old"
    assert _names(tmp_path) == ["rows.csv"]


def test_links_modes_and_pipes_stay_what_they_are(tmp_path: Path) -> None:
    shared = tmp_path / "disk" / "rows.csv"
    shared.parent.mkdir()
    shared.write_text("old")
    shared.chmod(0o640)
    link = tmp_path / "rows.csv"
    link.symlink_to(shared)
    write_whole(link, "new")
    assert link.is_symlink()
    assert shared.read_text() == "new"
    assert stat.S_IMODE(shared.stat().st_mode) == 0o640
    write_whole(tmp_path / "secret", b"1", private=True)
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit(pipe.read_text)
        write_whole(pipe, "through")
        assert read.result() == "through"
    assert pipe.is_fifo()


def test_a_link_planted_in_the_place_of_a_draft_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / ".rows.csv.new").symlink_to(victim)
    with pytest.raises(OSError):
        write_whole(tmp_path / "rows.csv", "new")
    assert victim.read_text() == "precious"


HOLDER = """
import sys
from pathlib import Path

from goldpan.core.locks import hold_lock

with hold_lock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""
BUSY = WorkspaceError("Another goldpan is working here", "Wait for it")


def test_a_lock_goes_with_its_process_even_if_that_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == b"held\n"
        with pytest.raises(WorkspaceError, match="Another goldpan"), hold_lock(path, BUSY):
            pass
        process.kill()
    with hold_lock(path, BUSY):
        assert path.exists()


def test_failures_under_a_lock_are_told_as_they_are(tmp_path: Path) -> None:
    with pytest.raises(BlockingIOError), hold_lock(tmp_path / "lock", BUSY):
        raise BlockingIOError
    with hold_lock(tmp_path / "lock", BUSY):
        pass

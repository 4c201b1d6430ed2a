"""A full disk, a read-only place and too little memory are told as what they are."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from goldpan.core.errors import DamagedError, WorkspaceError
from goldpan.core.parallel.engine import open_engine
from goldpan.core.resources import explain, told_otherwise
from goldpan.core.storage.parquet import write_table
from goldpan.core.storage.workspace import WorkspaceLayout, write_whole
from goldpan.core.values import Execution
from tests.drawing import daily
from tests.mining import copy_mined
from tests.program import Done, goldpan


@pytest.fixture(scope="module")
def mined(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("mined")
    copy_mined(root)
    return root


def pair_and_filter(root: Path) -> None:
    for command in ("pair", "filter"):
        assert goldpan(command, "--workspace", root).code == 0


def assert_one_sentence(done: Done, *words: str) -> None:
    (line,) = [line for line in done.err.splitlines() if line.startswith("Error")]
    assert done.code == 1
    assert "itself failed" not in done.err
    assert [word for word in words if word not in line] == []


@pytest.mark.parametrize("command", ["normalize", "pair", "filter"])
def test_no_room_for_a_table_is_told(mined: Path, command: str) -> None:
    if command == "filter":
        assert goldpan("pair", "--workspace", mined).code == 0
    done = goldpan(command, "--workspace", mined, room=500)
    assert_one_sentence(done, f"{mined}/", "beyond the size")
    assert list((mined / "tmp").iterdir()) == []
    assert goldpan(command, "--workspace", mined).code == 0


@pytest.mark.parametrize("family", daily(["qa", "code-edit"], ["fault-localization"]))
def test_a_build_names_the_file_that_finds_no_room(mined: Path, family: str) -> None:
    pair_and_filter(mined)
    done = goldpan("build", family, "--workspace", mined, room=1_000)
    assert_one_sentence(done, f"{mined}/", "beyond the size")
    assert not (mined / "datasets" / family).exists()


def test_a_file_that_is_written_whole_is_named(tmp_path: Path) -> None:
    target = tmp_path / "newest.json"
    target.symlink_to("/dev/full")
    with pytest.raises(OSError) as caught:
        write_whole(target, b"{}")
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(target))
    write_whole(tmp_path / "text", "a\udc80b\n")
    assert (tmp_path / "text").read_bytes() == b"a?b\n"


@pytest.mark.parametrize("suffix", daily(["parquet"], ["jsonl", "csv"]))
def test_a_full_disk_for_what_is_rejected_is_told(mined: Path, tmp_path: Path, suffix: str) -> None:
    target = tmp_path / f"rejects.{suffix}"
    target.symlink_to("/dev/full")
    pair_and_filter(mined)
    done = goldpan("filter", "--workspace", mined, "--rejects", target)
    assert_one_sentence(done, f"rejects.{suffix}", "no room left", "Free some space")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "/w/a"), ("/w/a", "no room", "Free")),
        (OSError(errno.EROFS, "Read-only file system", "/w/a"), ("/w/a", "read-only")),
        (OSError(errno.EDQUOT, "Disk quota exceeded", "/w/a"), ("/w/a", "quota")),
        (PermissionError(errno.EACCES, "Permission denied", "/w/a"), ("/w/a", "permission")),
        (OSError("Error writing. Detail: [errno 28] No space left on device"), ("no room", "Free")),
        (
            duckdb.IOException('Could not write file "/w/x.tmp": No space left on device'),
            ("/w/x.tmp", "no room"),
        ),
        (duckdb.OutOfMemoryException("failed to allocate"), ("memory", "workers = 1")),
        (pa.ArrowMemoryError("malloc of size 1 failed"), ("memory",)),
        (MemoryError(), ("memory",)),
    ],
)
def test_each_library_s_words_are_understood(error: Exception, words: tuple[str, ...]) -> None:
    explanation = explain(error)
    assert explanation is not None
    assert [word for word in words if word not in str(explanation)] == []
    assert told_otherwise(error)


def test_other_errors_are_left_alone() -> None:
    for error in (ValueError("no space"), OSError(errno.ENOENT, "No such file"), duckdb.Error("x")):
        assert explain(error) is None
    damage = explain(DamagedError(Path("/w/t.parquet")))
    assert "goldpan check" in str(damage)
    assert not told_otherwise(DamagedError(Path("/w/t.parquet")))


def test_a_full_disk_under_an_engine_is_no_defect() -> None:
    def work(unit: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", f"/w/{unit}")

    with (
        open_engine(Execution(workers=1)) as engine,
        pytest.raises(WorkspaceError, match=r"/w/a .*no room"),
    ):
        list(engine.map(work, ["a"]))


def test_a_table_that_a_full_disk_left_open_prints_no_trace(tmp_path: Path) -> None:
    code = (
        "import resource, sys; from pathlib import Path; import pyarrow as pa\n"
        "from goldpan.core.storage.parquet import writer\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4, 4))\n"
        "with writer(Path(sys.argv[1]), pa.schema([('a', pa.int64())])): sys.exit()"
    )
    path = tmp_path / "x.parquet"
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_write_names_its_file(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r".") as caught:
        write_table(pa.table({"a": [1]}), tmp_path / "none" / "x.parquet")
    assert caught.value.filename == str(tmp_path / "none" / "x.parquet")


def test_a_read_only_workspace_is_told(mined: Path) -> None:
    folders = [path for path in (mined, *mined.rglob("*")) if path.is_dir()]
    for folder in folders:
        folder.chmod(0o555)
    try:
        done = goldpan("normalize", "--workspace", mined, obeys_modes=True)
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert "itself failed" not in done.err
    assert "permission" in done.err.lower()


def test_what_a_killed_run_left_is_removed_and_what_runs_is_not(tmp_path: Path) -> None:
    workspace = WorkspaceLayout(tmp_path)
    code = (
        "import os, sys; from pathlib import Path\n"
        "from goldpan.core.storage.workspace import WorkspaceLayout\n"
        "with WorkspaceLayout(Path(sys.argv[1])).scratch() as scratch:\n"
        "    (scratch / 'big').write_text('x'); print(scratch.name, flush=True); sys.stdin.read()"
    )
    command, pipe = [sys.executable, "-c", code, str(tmp_path)], subprocess.PIPE
    started = [subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) for _ in range(2)]
    names = [process.stdout.readline().strip() for process in started if process.stdout]
    started[0].kill()
    started[0].wait()
    (tmp_path / "tmp" / "older").mkdir()
    with workspace.scratch() as scratch:
        left = {path.name for path in (tmp_path / "tmp").iterdir()}
        assert left == {names[1], scratch.name}
    started[1].communicate("")
    started[0].communicate()
    assert list((tmp_path / "tmp").iterdir()) == []

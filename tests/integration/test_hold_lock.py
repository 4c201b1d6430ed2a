"""One process at a time: the lock tells others, and goes with its process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from goldpan.core.errors import WorkspaceError
from goldpan.core.locks import hold_lock

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

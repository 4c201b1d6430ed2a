"""A small part of `make chaos`, always the same: see docs/reliability.md."""

from __future__ import annotations

import subprocess
import sys

import pytest

_PART = ("--kills", "14", "--flips", "30", "--levels", "1")
_KINDS = ("--only", "kill", "--only", "full", "--only", "flip")


@pytest.mark.timeout(900)
def test_nothing_forbidden_comes_of_a_small_campaign() -> None:
    """Each stage is killed and runs out of room once; 30 bits and ends of files are damaged."""
    command = [sys.executable, "-m", "tests.chaos", "--no-mounts", "--minutes", "12"]
    done = subprocess.run(
        [*command, "--processes", "1", *_PART, *_KINDS], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "FORBIDDEN" not in done.stdout
    assert "not begun" not in done.stdout

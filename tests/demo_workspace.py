"""A workspace in which the demo ran, for tests of what stands on all stages."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_OFFLINE = {"GOLDPAN_API_URL": "http://127.0.0.1:9", "COLUMNS": "120"}


def goldpan(*arguments: str, cwd: Path | None = None, **environment: str) -> str:
    """Run the program where every request would fail; return what it prints."""
    done = attempt(*arguments, cwd=cwd, **environment)
    assert done.returncode == 0, f"{arguments}\n{done.stdout}{done.stderr}"
    return done.stdout


def attempt(
    *arguments: str, cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the program, whatever comes of it."""
    return subprocess.run(
        [sys.executable, "-c", "from goldpan.cli import main; main()", *arguments],
        env={
            **os.environ,
            "GOLDPAN_API_URL": "http://127.0.0.1:9",
            "COLUMNS": "120",
            **environment,
        },
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )


def make_demo(root: Path) -> Path:
    """Run the demo in a directory and return its workspace."""
    goldpan("demo", "--workspace", str(root))
    return root

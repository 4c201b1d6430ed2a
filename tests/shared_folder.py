"""What is dear and is made once for all processes of a test run."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

from goldpan.core.settings.trust import HOME

_VARIABLE = "GOLDPAN_TESTS_SHARED"
_LEADER = "GOLDPAN_TESTS_LEADER"


@contextmanager
def shared_folder() -> Iterator[None]:
    """Have a folder that this process shares with those that it starts; the first removes it."""
    if _VARIABLE in os.environ:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="goldpan-tests-") as folder:
        os.environ[_VARIABLE] = folder
        os.environ[_LEADER] = str(os.getpid())
        os.environ[HOME] = str(Path(folder) / "config")
        try:
            yield
        finally:
            del os.environ[_VARIABLE], os.environ[_LEADER], os.environ[HOME]


def made_once(name: str, make: Callable[[Path], object]) -> Path:
    """Return a folder that `make` fills, called by the first of all processes that asks for it."""
    folder = Path(os.environ[_VARIABLE]) / name
    with FileLock(folder.with_suffix(".lock")):
        if not folder.exists():
            part = folder.with_suffix(".part")
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir()
            make(part)
            part.rename(folder)
    return folder


def run_goes_on() -> bool:
    """Return whether the process that made the folder runs: what serves it ends with it."""
    try:
        os.kill(int(os.environ[_LEADER]), 0)
    except ProcessLookupError:
        return False
    return True

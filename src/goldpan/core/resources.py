"""Failures of the machine, such as a full disk or too little memory, and ways to save memory.

Each library has its own words for what is missing: the system's error numbers, Arrow's and
DuckDB's messages. Here they become one sentence with the file and the remedy.
"""

from __future__ import annotations

import errno
import gc
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from goldpan.core.errors import DamagedError, GoldpanError, UsageError, WorkspaceError

FREE_SPACE = "Free some space and run the same command again: it resumes where it stopped"
_CAUSES = {
    errno.ENOSPC: ("there is no room left on the disk", FREE_SPACE),
    errno.EDQUOT: ("the quota of the disk is used up", FREE_SPACE),
    errno.EFBIG: (
        "it grows beyond the size that files may have here",
        "Raise the limit with ulimit -f, or choose another disk",
    ),
    errno.EROFS: ("the disk is read-only", "Choose a place that can be written"),
    errno.EACCES: ("the permission is denied", "Change who may use it, or choose another place"),
    errno.EPERM: ("it is not permitted", "Change who may use it, or choose another place"),
    errno.EMFILE: ("too many files are open", "Raise the limit with ulimit -n 4096"),
    errno.EIO: ("the disk reports an error", "Check the disk, and run goldpan check"),
}
_NUMBERS = {os.strerror(number).lower(): number for number in _CAUSES}
_QUOTED = re.compile(r"""["']([^"'\n]*/[^"'\n]*)["']""")
_MEMORY_ERRORS = (("pyarrow", "ArrowMemoryError"), ("duckdb", "OutOfMemoryException"))
_LIBRARY_ERRORS = (("pyarrow", "ArrowException"), ("duckdb", "Error"))
_MEMORY = "Close other programs, set workers = 1 in goldpan.toml, or use a larger machine"


def told_otherwise(error: BaseException) -> bool:
    """Tell whether an error is one of the machine and says nothing of the file's contents."""
    return not isinstance(error, DamagedError) and explain(error) is not None


def explain(error: BaseException, path: Path | None = None) -> GoldpanError | None:
    """Return what an error of the machine means for people, None of other errors.

    `path` is the file that it is about, where the error does not tell.
    """
    if isinstance(error, DamagedError):
        return WorkspaceError(
            str(error), "Run goldpan check, which says what to restore or rebuild"
        )
    if isinstance(error, MemoryError) or _is_one(error, _MEMORY_ERRORS):
        return WorkspaceError("There is too little memory", _MEMORY)
    number = _number(error)
    if number not in _CAUSES:
        return None
    cause, remedy = _CAUSES[number]
    return WorkspaceError(f"{path or _file(error)} cannot be used: {cause}", remedy)


def unwritable(
    path: Path, error: OSError, kind: type[GoldpanError] = WorkspaceError
) -> GoldpanError:
    """Return an error of `kind` that says why a file or folder cannot be written, and what to do.

    Where the folder around it is missing, that is a `UsageError`, as for every missing path.
    """
    problem = f"{path} cannot be written"
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        if not path.absolute().parent.is_dir():
            return missing_folder(path)
        cause = f"files cannot be created in {path.absolute().parent}"
        return kind(f"{problem}: {cause}", "Choose another place")
    number = _number(error)
    cause, remedy = _CAUSES.get(number or 0, (error.strerror or str(error), "Choose another place"))
    return kind(f"{problem}: {cause}", remedy)


def missing_folder(path: Path) -> UsageError:
    """Return the error for a file or folder that would lie in a folder which is not there."""
    return UsageError(
        f"{path} cannot be written: there is no folder {path.parent}", "Create it, or name another"
    )


def check_folder(file: Path) -> None:
    """Raise `UsageError` where a file would lie in a folder that is not there."""
    if not file.absolute().parent.is_dir():
        raise missing_folder(file)


@contextmanager
def named(path: Path) -> Iterator[None]:
    """Say in an `OSError` which file it is about, which Arrow leaves out."""
    try:
        yield
    except OSError as error:
        number = _number(error)
        if isinstance(error, DamagedError) or error.filename or number is None:
            raise
        raise OSError(number, os.strerror(number), str(path)) from error


def _number(error: BaseException) -> int | None:
    """Return the system's number of an error, which Arrow and DuckDB may tell in words alone."""
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno
    if not isinstance(error, OSError) and not _is_one(error, _LIBRARY_ERRORS):
        return None
    text = str(error).lower()
    return next((number for words, number in _NUMBERS.items() if words in text), None)


def _is_one(error: BaseException, classes: tuple[tuple[str, str], ...]) -> bool:
    """Tell whether an error is of a library's class; one that is not loaded raised nothing."""
    return any(
        isinstance(error, getattr(sys.modules.get(library), name, ())) for library, name in classes
    )


def _file(error: BaseException) -> str:
    name = getattr(error, "filename2", None) or getattr(error, "filename", None)
    if name:
        return os.fsdecode(name)
    quoted = _QUOTED.search(str(error))
    return quoted[1] if quoted else "A file"


@contextmanager
def without_collection() -> Iterator[None]:
    """Spare work that makes many values and no cycles the search for cycles."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def frugal() -> Iterator[None]:
    """Have Arrow give back at once what its own pool would keep, which can be 100 MB."""
    import pyarrow as pa  # whoever explains errors need not load it

    before = pa.default_memory_pool()
    pa.set_memory_pool(pa.system_memory_pool())
    try:
        yield
    finally:
        pa.set_memory_pool(before)

"""Writes which files the processes of a test run imported, one a line, when each of them ends.

Where libfaketime moves the clock, `time.sleep` waits by another call that it leaves alone.

Python imports this at its start, before any code of the repository; it runs on whatever version of
Python the repository needs, 3.6 at the earliest.
"""

import atexit
import os
import select
import sys
import time


def write_imports() -> None:  # noqa: D103
    folder = os.environ.get("GOLDPAN_IMPORTS")
    if not folder:
        return
    lines = set()
    for name, module in list(sys.modules.items()):
        path = getattr(module, "__file__", None)
        if isinstance(path, str):
            lines.add(f"{name}\t{os.path.abspath(path)}")  # noqa: PTH100
    try:
        with open(f"{folder}/imports-{os.getpid()}", "a") as file:  # noqa: PTH123
            file.write("\n".join(sorted(lines)) + "\n")
    except (OSError, ValueError):  # a name that no encoding of the run can write
        pass


def sleep(seconds: float) -> None:
    """Wait as `time.sleep` does: libfaketime moves its deadline, too, so that it fails."""
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    select.select([], [], [], seconds)


atexit.register(write_imports)
if "FAKETIME" in os.environ and sys.version_info >= (3, 11):
    time.sleep = sleep  # type: ignore[assignment]

"""Work that tests have engines do; processes and machines import it by name."""

from __future__ import annotations

import os
import signal
import time
from importlib import import_module
from pathlib import Path

from goldpan.core.errors import UsageError


def square(number: int) -> int:
    """Return the square; later units are done sooner."""
    time.sleep(max(0, 8 - number) * 0.01)
    return number * number


def double(number: int) -> int:
    """Return twice a number, slowly where it is even."""
    time.sleep(0.02 if number % 2 == 0 else 0)
    return 2 * number


def process_of(_: int) -> int:
    """Return the process that works."""
    time.sleep(0.05)
    return os.getpid()


def refuse_three(number: int) -> int:
    """Fail as Goldpan fails for people, at 3."""
    if number == 3:
        raise UsageError("The number is odd", "Give another one")
    return number


def break_three(number: int) -> int:
    """Fail as nobody foresaw, at 3."""
    return 1 // (number - 3)


def die_at_three(number: int) -> int:
    """End the process, at 3."""
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def leave_mark(directory: Path, number: int) -> int:
    """Write a file, as work that is under way does."""
    (directory / str(number)).touch()
    return number


def node_of(_: int) -> str:
    """Return the node of a Ray cluster that works."""
    return str(import_module("ray").get_runtime_context().get_node_id())


def take_gpus(directory: Path, _: int) -> str:
    """Return which GPUs Ray shows, and note when work on them begins and ends."""
    for word in ("begin\n", "end\n"):
        with (directory / "gpus").open("a", encoding="utf-8") as log:
            log.write(word)
        time.sleep(0.2)
    return os.environ["CUDA_VISIBLE_DEVICES"]


def slow_line(directory: Path, number: int) -> str:
    """Say which node begins, then write a file by a rename; another attempt writes the same.

    In between it waits until a file `killed` names a node, which is not its own.
    """
    node = node_of(number)
    with (directory / "attempts").open("a", encoding="utf-8") as log:
        log.write(f"{number} {node}\n")
    killed = directory / "killed"
    while not (killed.exists() and killed.read_text(encoding="utf-8") != node):
        time.sleep(0.02)
    part = directory / f"{number}.{os.getpid()}"
    part.write_text(f"line {number}\n", encoding="utf-8")
    part.replace(directory / f"{number}.txt")
    return f"{number}.txt"


def linger(directory: Path, number: int) -> int:
    """Return 0 at once; other units take half a minute, and say how that ended."""
    if number:
        try:
            (directory / "begun").touch()
            time.sleep(30)
            (directory / "finished").touch()
        finally:
            (directory / "cleaned up").touch()
    return number

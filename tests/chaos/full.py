"""Stages on a disk that is full: a small file system of its own, or a limit on files' sizes."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from tests.chaos.commands import run, start
from tests.chaos.kills import judge, judged
from tests.chaos.outcomes import Tally, tail
from tests.chaos.stages import HOME, Stage
from tests.chaos.world import Base
from tests.program import Done

HOW = "full disk"
LEVELS = (0.6, 0.0, 0.2, 0.4, 0.8)
"""How much of the room that a stage needs is there."""
_PLENTY = 1 << 30
_REMOUNT = 0x20
_DETACH = 2
_PAGE = 4096
_LIBC = ctypes.CDLL(None, use_errno=True)


def can_mount() -> bool:
    """Whether this process may mount, in a namespace of its own that vanishes with it."""
    return "GOLDPAN_CHAOS_MOUNTS" in os.environ


def fill(stage: Stage, levels: tuple[float, ...], base: Base, _: Random, tally: Tally) -> None:
    """Run a stage at each fill level, and again once there is room."""
    if can_mount():
        with mounted(base.home):
            _fill_disk(base, stage, tally, levels)
    else:
        largest = max(
            (base.originals / stage.name / n).stat().st_size for n in base.expected[stage.name]
        )
        for level in levels:
            base.begin(stage.after)
            room = int(largest * level)
            done = run(stage.arguments, base.directory, base.apis[0], room=room)
            _judge(base, stage, done, f"files of at most {room:,} bytes", tally)


def _fill_disk(base: Base, stage: Stage, tally: Tally, levels: tuple[float, ...]) -> None:
    _resize(base.home, _PLENTY)
    base.begin(stage.after)
    before = _used(base.home)
    needs = _peak(base, stage) - before
    for level in levels:
        _resize(base.home, _PLENTY)
        base.begin(stage.after)
        room = int(needs * level) // _PAGE * _PAGE
        _resize(base.home, max(_used(base.home) + room, _PAGE))
        done = run(stage.arguments, base.directory, base.apis[0])
        _resize(base.home, _PLENTY)
        _judge(base, stage, done, f"{room:,} of {needs:,} bytes", tally)
    base.begin(None)


def _judge(base: Base, stage: Stage, done: Done, story: str, tally: Tally) -> None:
    outcome, problem = judged(base, stage, done, (f"{HOME}/", *_inputs(stage)))
    tally.add(stage.name, HOW, outcome, f"{story}: {problem}")
    if outcome == "named":
        judge(base, stage, f"{HOW}, then room", story, tally)


def _inputs(stage: Stage) -> tuple[str, ...]:
    """Return the files that a stage is given, by which git's failures are told."""
    return tuple(word for word in stage.command if "." in word)


def _peak(base: Base, stage: Stage) -> int:
    """Return the bytes that are used at most while a stage runs."""
    most = 0
    with start(stage.arguments, base.directory, base.apis[0]) as running:
        while not running.ended(0.003):
            most = max(most, _used(base.home))
        done = running.wait(sweep=True)
    assert done.code == 0, tail(done)
    return max(most, _used(base.home))


def _used(home: Path) -> int:
    usage = os.statvfs(home)
    return (usage.f_blocks - usage.f_bfree) * usage.f_frsize


@contextmanager
def mounted(folder: Path) -> Iterator[None]:
    """Put a file system in memory in a directory's place."""
    folder.mkdir(exist_ok=True)
    _mount(folder, 0, f"size={_PLENTY}")
    try:
        yield
    finally:
        if _LIBC.umount2(os.fsencode(folder), _DETACH):
            raise OSError(ctypes.get_errno(), f"{folder} cannot be unmounted")


def _resize(home: Path, size: int) -> None:
    _mount(home, _REMOUNT, f"size={size}")


def _mount(home: Path, flags: int, options: str) -> None:
    target = os.fsencode(home)
    if _LIBC.mount(b"tmpfs", target, b"tmpfs", ctypes.c_ulong(flags), options.encode()):
        raise OSError(ctypes.get_errno(), f"{home} cannot be mounted with {options}")

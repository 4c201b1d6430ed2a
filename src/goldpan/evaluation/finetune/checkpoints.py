"""Checkpoints that a training goes on from.

    DIRECTORY/checkpoints/checkpoint-120/
    ├── trainer_state.json   and the others that the Trainer writes
    └── whole.json           the sizes of all other files, written last

Two are kept, one of them the best: where the newest is damaged, the one before serves.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import orjson

from goldpan.core.storage.workspace import write_whole
from goldpan.core.terminal import Reporter

CHECKPOINTS = "checkpoints"
STATE = "trainer_state.json"
_WHOLE = "whole.json"


class DamagedCheckpointError(Exception):
    """A checkpoint cannot be read, though its files have their sizes."""


def seal(folder: Path) -> None:
    """Say that a checkpoint is whole, once all of it is on the disk."""
    paths = [path for path in folder.rglob("*") if path.is_file()]
    for path in paths:
        with path.open("rb") as file:
            os.fsync(file.fileno())
    sizes = {str(path.relative_to(folder)): path.stat().st_size for path in paths}
    write_whole(folder / _WHOLE, orjson.dumps(sizes))


def newest_checkpoint(directory: Path, reporter: Reporter) -> Path | None:
    """Return the newest checkpoint that is whole, and whose best step is; sets others aside."""
    paths = sorted(
        (directory / CHECKPOINTS).glob("checkpoint-*"),
        key=lambda path: int(path.name.rpartition("-")[2]),
        reverse=True,
    )
    for path in paths:
        problem = _problem(path)
        if not problem:
            best = json.loads((path / STATE).read_bytes())["best_global_step"]
            if not best or not _problem(path.with_name(f"checkpoint-{best}")):
                return path
            problem = "the best step before it is damaged"
        set_aside(path, problem, reporter)
    return None


def set_aside(path: Path, problem: str, reporter: Reporter) -> None:
    """Rename a checkpoint that is damaged, so that it is not taken again."""
    reporter.note(f"The checkpoint {path.name} is damaged ({problem}): going on without it")
    path.rename(path.with_name(f"damaged-{time.time_ns()}-{path.name}"))


def _problem(path: Path) -> str:
    """Return what is wrong with the files of a checkpoint, empty if nothing."""
    try:
        sizes = orjson.loads((path / _WHOLE).read_bytes())
        cut = [name for name, size in sizes.items() if (path / name).stat().st_size != size]
        return f"{cut[0]} is cut off" if cut else ""
    except (OSError, ValueError):
        return "it was not written to its end"

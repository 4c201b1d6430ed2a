"""Instances put aside on disk, to be gone through again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import orjson

from goldpan.builders.crosscode.instance import Instance, read_instances
from goldpan.builders.crosscode.meta import Meta
from goldpan.builders.crosscode.sampling import draw_instances


@dataclass(frozen=True, slots=True)
class TaskFiles:
    """A task and its data file."""

    meta: Meta
    data: Path


@dataclass(frozen=True, slots=True)
class TaskCount:
    """What became of a task's instances."""

    task: str
    available: int
    drawn: int
    shown: int
    """Instances that could not be drawn, as the task's examples show them."""
    leaking: int = 0
    """Drawn instances that were dropped, as they stand in the evaluation."""


@dataclass(frozen=True, slots=True)
class Spooled:
    """The drawn instances of one side, by task and place."""

    path: Path
    counts: tuple[TaskCount, ...]

    def read(self) -> Iterator[tuple[int, Instance]]:
        """Yield the number of the task, in the order given, and the instance."""
        with self.path.open("rb") as file:
            for line in file:
                task, input_text, output, split, idx = orjson.loads(line)
                yield task, Instance(input_text, output, split, idx)

    def inputs(self) -> Iterator[str]:
        """Yield the inputs alone."""
        return (instance.input for _, instance in self.read())


def spool_side(path: Path, tasks: Iterable[TaskFiles], cap: int, seed: int) -> Spooled:
    """Draw up to `cap` instances of each task and put them aside.

    Each data file is read twice, so that memory follows the numbers of what is drawn.
    """
    counts = []
    with path.open("wb") as file:
        for number, task in enumerate(tasks):
            name = task.meta.name
            drawn = draw_instances(
                read_instances(task.data), name, cap, seed, task.meta.shown_inputs
            )
            for index, instance in enumerate(read_instances(task.data)):
                if index in drawn.indexes:
                    line = (number, instance.input, instance.output, instance.split, instance.idx)
                    file.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))
            counts.append(TaskCount(name, drawn.instances, len(drawn.indexes), drawn.shown))
    return Spooled(path, tuple(counts))

"""Which instances of tasks a split takes: drawn by hash, and put aside on disk."""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import accumulate, islice, pairwise
from pathlib import Path

import msgspec

from goldpan.core.resources import named
from goldpan.datasets.hash_sampling import draw_number
from goldpan.datasets.manifest import Origin
from goldpan.papers.crosscodebench.instances import (
    INSTANCES,
    Instance,
    moment_of,
    read_instances,
)
from goldpan.papers.crosscodebench.json_files import FieldError, refused, text_of
from goldpan.papers.crosscodebench.meta import META, Meta

_BATCH = 1_024


@dataclass(frozen=True, slots=True)
class TaskFiles:
    """A task and its data file."""

    meta: Meta
    data: Path

    @property
    def paths(self) -> tuple[Path, Path]:
        """Both files of the task."""
        return self.data, self.data.with_name(f"{self.meta.stem}{META}")


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
class Draw:
    """Which instances of a task were drawn."""

    indexes: frozenset[int]
    """Their numbers in the task's file, from 0."""
    instances: int
    """How many the file holds."""
    shown: int
    """How many could not be drawn because the task's examples show them."""


class Drawn(msgspec.Struct, frozen=True):
    """An instance that was drawn, with what is known of its origin."""

    task: int
    """The number of its task on its side."""
    input: str
    output: str
    name: str
    """Its split in its own task, and its name there."""
    repo: str | None
    license: str | None
    created_at: datetime | None


@dataclass(frozen=True, slots=True)
class Spooled:
    """The drawn instances of one side, by task and place."""

    path: Path
    counts: tuple[TaskCount, ...]
    quoted: tuple[Origin, ...]
    """Where the instances are from that the tasks' examples show."""

    def read(self) -> Iterator[Drawn]:
        """Yield the instances, by the tasks in the order given."""
        decoder = msgspec.json.Decoder(Drawn)
        with self.path.open("rb") as file:
            yield from map(decoder.decode, file)

    def inputs(self) -> Iterator[list[str]]:
        """Yield the inputs alone, in batches."""
        left = (drawn.input for drawn in self.read())
        while batch := list(islice(left, _BATCH)):
            yield batch

    def counts_without(self, dropped: Iterable[int]) -> tuple[TaskCount, ...]:
        """Return the counts with those instances as leaking, by their places."""
        places = sorted(dropped)
        bounds = [0, *accumulate(count.drawn for count in self.counts)]
        return tuple(
            replace(count, leaking=bisect_left(places, end) - bisect_left(places, start))
            for count, (start, end) in zip(self.counts, pairwise(bounds), strict=True)
        )


def draw_instances(
    instances: Iterable[Instance], task: str, cap: int, seed: int, shown: frozenset[str]
) -> Draw:
    """Draw up to `cap` instances of a task that its examples do not show.

    Those with the lowest hashes of seed, task, split and number are drawn: a larger file gives
    the same ones, but for those that new ones with lower hashes push out (CrossCodeBench, IV-D,
    fixes them too). Memory follows the cap.
    """
    counts: Counter[str] = Counter()

    def ranks() -> Iterator[tuple[int, int]]:
        for index, instance in enumerate(instances):
            counts["all"] += 1
            if instance.input in shown:
                counts["shown"] += 1
            else:
                yield draw_number(seed, task, instance.split, instance.idx), index

    drawn = frozenset(index for _, index in heapq.nsmallest(cap, ranks()))
    return Draw(drawn, counts["all"], counts["shown"])


def spool_side(path: Path, tasks: Iterable[TaskFiles], cap: int, seed: int) -> Spooled:
    """Draw up to `cap` instances of each task and put them aside.

    Each data file is read twice, so that memory follows the numbers of what is drawn. Raises
    `DatasetError` that names file and instance where a fact of one is not what it should be.
    """
    counts = []
    quoted: set[Origin] = set()
    with named(path), path.open("wb") as file:
        for number, task in enumerate(tasks):
            meta, shown = task.meta, task.meta.shown_inputs
            draw = draw_instances(read_instances(task.data), meta.name, cap, seed, shown)
            counts.append(TaskCount(meta.name, draw.instances, len(draw.indexes), draw.shown))
            for index, instance in enumerate(read_instances(task.data)):
                if index in draw.indexes:
                    drawn = _drawn(number, task, instance, index)
                    file.write(msgspec.json.encode(drawn) + b"\n")
                elif instance.input in shown:
                    drawn = _drawn(number, task, instance, index)
                    quoted.add(Origin(drawn.repo or meta.work, drawn.license, 0))
    ordered = sorted(quoted, key=lambda origin: (origin.repo, origin.license or ""))
    return Spooled(path, tuple(counts), tuple(ordered))


def _drawn(number: int, task: TaskFiles, instance: Instance, index: int) -> Drawn:
    field, facts = f"{INSTANCES}[{index}].facts", instance.facts
    try:
        repo, license, moment = (
            None if facts.get(name) is None else text_of(facts[name], field)
            for name in ("repo", "license", "created_at")
        )
        created_at = None if moment is None else moment_of(moment, f"{field}.created_at")
    except FieldError as error:
        raise refused(error.problem(task.data.name)) from None
    if created_at is not None and created_at.tzinfo is None:
        created_at = created_at.replace(tzinfo=UTC)
    name = f"{instance.split}/{instance.idx}"
    origin = (repo, license or task.meta.license, created_at)
    return Drawn(number, instance.input, instance.output, name, *origin)

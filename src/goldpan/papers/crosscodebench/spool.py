"""Instances put aside on disk, to be gone through again."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import accumulate, pairwise
from pathlib import Path

import orjson

from goldpan.core.resources import named
from goldpan.datasets.manifest import Origin
from goldpan.papers.crosscodebench.instance import INSTANCES, Instance, read_instances
from goldpan.papers.crosscodebench.meta import Meta
from goldpan.papers.crosscodebench.problems import FieldError, refused, text_of
from goldpan.papers.crosscodebench.sampling import draw_instances


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
class Drawn:
    """An instance that was drawn, with what is known of its origin."""

    instance: Instance
    """Without its facts."""
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

    def read(self) -> Iterator[tuple[int, Drawn]]:
        """Yield the number of the task, in the order given, and the instance."""
        with self.path.open("rb") as file:
            for line in file:
                task, input_text, output, split, idx, repo, license, moment = orjson.loads(line)
                created_at = None if moment is None else datetime.fromisoformat(moment)
                instance = Instance(input_text, output, split, idx)
                yield task, Drawn(instance, repo, license, created_at)

    def inputs(self) -> Iterator[str]:
        """Yield the inputs alone."""
        return (drawn.instance.input for _, drawn in self.read())

    def counts_without(self, dropped: Iterable[int]) -> tuple[TaskCount, ...]:
        """Return the counts with those instances as leaking, by their places."""
        places = sorted(dropped)
        bounds = [0, *accumulate(count.drawn for count in self.counts)]
        return tuple(
            replace(count, leaking=bisect_left(places, end) - bisect_left(places, start))
            for count, (start, end) in zip(self.counts, pairwise(bounds), strict=True)
        )


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
            drawn = draw_instances(read_instances(task.data), meta.name, cap, seed, shown)
            for index, instance in enumerate(read_instances(task.data)):
                is_shown = instance.input in shown
                if not is_shown and index not in drawn.indexes:
                    continue
                try:
                    repo, license, moment = _facts(meta, instance, f"{INSTANCES}[{index}].facts")
                except FieldError as error:
                    raise refused(error.problem(task.data.name)) from None
                if is_shown:
                    quoted.add(Origin(repo or meta.work, license, 0))
                    continue
                text = (instance.input, instance.output, instance.split, instance.idx)
                line = (number, *text, repo, license, moment)
                file.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))
            counts.append(TaskCount(meta.name, drawn.instances, len(drawn.indexes), drawn.shown))
    ordered = sorted(quoted, key=lambda origin: (origin.repo, origin.license or ""))
    return Spooled(path, tuple(counts), tuple(ordered))


def _facts(
    meta: Meta, instance: Instance, field: str
) -> tuple[str | None, str | None, datetime | None]:
    """Return repository, license and time of an instance; raises `FieldError`."""
    repo, license, moment = (
        None if instance.facts.get(name) is None else text_of(instance.facts[name], field)
        for name in ("repo", "license", "created_at")
    )
    try:
        created_at = None if moment is None else datetime.fromisoformat(moment)
    except ValueError:
        raise FieldError(f"{field}.created_at", f"{str(moment)[:40]!r} is not a time") from None
    if created_at is not None and created_at.tzinfo is None:
        created_at = created_at.replace(tzinfo=UTC)
    return repo, license or meta.license, created_at

"""Splits of tasks and instances into training and evaluation (CrossCodeBench, III-C).

Instances are drawn by hash, and put aside on disk to be gone through again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from importlib.resources import files
from itertools import accumulate, islice, pairwise
from operator import itemgetter
from pathlib import Path
from typing import Literal

import msgspec

from goldpan.papers.crosscodebench.instances import Instance, read_instances, refused
from goldpan.papers.crosscodebench.kinds import (
    TaskKind,
    find_kind,
    kind_of_category,
    plain_name,
    same_category,
)
from goldpan.papers.crosscodebench.meta import META, Meta
from goldpan.plugins import data
from goldpan.plugins.data import FieldError, Origin, sample_by_hash

Level = Literal["category", "subtype", "type"]
Scope = Literal["intra", "inter"]
_BATCH = 1_024


@dataclass(frozen=True, slots=True)
class TaskSplit:
    """A split of tasks, as one table of a TOML file says it."""

    level: Level
    """The level that evaluation tasks share and training tasks lack."""
    scope: Scope
    """`intra`: training tasks are of the same type as the evaluation tasks."""
    evaluate: str
    """The category, sub-type (as Type -> Sub-type) or type of the evaluation tasks."""
    paper: tuple[int, int] | None = None
    """Tasks that the paper counts for training and evaluation."""

    @property
    def kind(self) -> TaskKind | None:
        """The kind of what it evaluates; None where that is not known."""
        if self.level == "category":
            return kind_of_category(self.evaluate)
        return find_kind([name.strip() for name in self.evaluate.split("->")])


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A task that would be trained on, were its data not those of an evaluation task."""

    task: str
    shared_with: str
    source: str

    def __str__(self) -> str:
        why = f"{self.shared_with} has the same source dataset"
        return f"{self.task} is left out of training: {why}"


@dataclass(frozen=True, slots=True)
class Assigned:
    """A split as it comes out with the tasks that are there."""

    name: str
    split: TaskSplit
    train: tuple[Meta, ...]
    evaluation: tuple[Meta, ...]
    left_out: tuple[LeftOut, ...]

    @property
    def empty(self) -> str:
        """The side that has no task: training, evaluation or both; empty where both have some."""
        sides = {"training": self.train, "evaluation": self.evaluation}
        return " and ".join(side for side, metas in sides.items() if not metas)


@cache
def shipped_splits() -> Mapping[str, TaskSplit]:
    """Return the ten splits of the paper by name."""
    return data.read_toml(files(__package__) / "splits.toml").read(dict[str, TaskSplit])


def find_split(name: str) -> str:
    """Return the name of a split as it is written; raises `UsageError`."""
    by_name = {split.casefold(): split for split in shipped_splits()}
    if name.casefold() not in by_name:
        raise data.unknown_name("split", name, shipped_splits())
    return by_name[name.casefold()]


def assign_tasks(name: str, split: TaskSplit, metas: Iterable[Meta]) -> Assigned:
    """Return the tasks that a split trains on and those that it evaluates on; either may be none.

    Tasks of the paper's other types stay out of `intra`, and a task whose source dataset is that
    of an evaluation task is left out of training and named.
    """
    train: list[Meta] = []
    evaluation: list[Meta] = []
    for meta in sorted(metas, key=lambda meta: meta.stem):
        (evaluation if _evaluates(split, meta) else train).append(meta)
    if split.scope == "intra":
        kinds = [split.kind, *(meta.kind for meta in evaluation)]
        types = {kind.type for kind in kinds if kind}
        train = [meta for meta in train if meta.kind.type in types]
    owners = {plain_name(meta.source): meta.stem for meta in reversed(evaluation)}
    left_out = tuple(
        LeftOut(meta.stem, owners[plain_name(meta.source)], meta.source)
        for meta in train
        if plain_name(meta.source) in owners
    )
    train = [meta for meta in train if plain_name(meta.source) not in owners]
    return Assigned(name, split, tuple(train), tuple(evaluation), left_out)


def _evaluates(split: TaskSplit, meta: Meta) -> bool:
    match split.level:
        case "category":
            return bool(meta.category) and same_category(meta.category, split.evaluate)
        case "subtype":
            return meta.kind == split.kind
        case "type":
            return TaskKind(meta.kind.type) == split.kind


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
    """Counts of a task's instances."""

    task: str
    available: int
    drawn: int
    shown: int
    """Instances that could not be drawn, as the task's examples show them."""
    leaking: int = 0
    """Drawn instances that were dropped, as they stand in the evaluation."""


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
        inputs = (drawn.input for drawn in self.read())
        while batch := list(islice(inputs, _BATCH)):
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
) -> tuple[frozenset[int], Counter[str]]:
    """Draw up to `cap` instances of a task that its examples do not show: their numbers, from 0.

    The counts are of `all` instances and those `shown`. Those with the lowest hashes of seed, task,
    split and number are drawn: a larger file gives the same ones, but for those that new ones with
    lower hashes push out (CrossCodeBench, IV-D, fixes them too). Memory follows the cap.
    """
    counts = Counter(all=0, shown=0)

    def names() -> Iterator[tuple[int, str]]:
        for index, instance in enumerate(instances):
            counts["all"] += 1
            if instance.input in shown:
                counts["shown"] += 1
            else:
                yield index, "\0".join((task, instance.split, instance.idx))

    return frozenset(
        index for index, _ in sample_by_hash(names(), cap, seed, itemgetter(1))
    ), counts


def spool_side(path: Path, tasks: Iterable[TaskFiles], cap: int, seed: int) -> Spooled:
    """Draw up to `cap` instances of each task and put them aside.

    Each data file is read twice, so that memory follows the numbers of what is drawn. Raises
    `DatasetError` that names file and instance where a fact of one is not what it should be.
    """
    counts = []
    quoted: set[Origin] = set()
    with data.named(path), path.open("wb") as file:
        for number, task in enumerate(tasks):
            meta, shown = task.meta, task.meta.shown_inputs
            indexes, found = draw_instances(read_instances(task.data), meta.name, cap, seed, shown)
            counts.append(TaskCount(meta.name, found["all"], len(indexes), found["shown"]))
            for index, instance in enumerate(read_instances(task.data)):
                if index not in indexes and instance.input not in shown:
                    continue
                try:
                    origin = instance.origin(index)
                except FieldError as error:
                    raise refused(error, task.data.name) from None
                repo, license = origin["repo"], origin["license"] or meta.license
                if index not in indexes:
                    quoted.add(Origin(repo or meta.work, license, 0))
                    continue
                name = f"{instance.split}/{instance.idx}"
                texts = instance.input, instance.output, name
                row = Drawn(number, *texts, repo, license, origin["created_at"])
                file.write(msgspec.json.encode(row) + b"\n")
    ordered = sorted(quoted, key=lambda origin: (origin.repo, origin.license or ""))
    return Spooled(path, tuple(counts), tuple(ordered))

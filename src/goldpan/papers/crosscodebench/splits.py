"""Which tasks are for training and which for evaluation (CrossCodeBench, section III-C)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal

from goldpan.core.errors import UsageError
from goldpan.core.registry import unknown_name
from goldpan.core.result import Block, Line, Result, Table
from goldpan.core.settings_file import read_toml
from goldpan.papers.crosscodebench.kinds import (
    Kind,
    find_kind,
    kind_of_category,
    known_types,
    plain_name,
    same_category,
)
from goldpan.papers.crosscodebench.meta import Meta

Level = Literal["category", "subtype", "type"]
Scope = Literal["intra", "inter"]


@dataclass(frozen=True, slots=True)
class TaskSplit:
    """A split of tasks, as one table of a TOML file says it."""

    level: Level
    """What evaluation tasks have in common, and training tasks lack."""
    scope: Scope
    """`intra`: training tasks are of the same type as the evaluation tasks."""
    evaluate: str
    """The category, sub-type (as Type -> Sub-type) or type of the evaluation tasks."""
    paper: tuple[int, int] | None = None
    """Tasks that the paper counts for training and evaluation."""

    @property
    def kind(self) -> Kind | None:
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
        """Return a sentence for people."""
        return (
            f"{self.task} is left out of training: {self.shared_with} has the same source dataset"
        )


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


@dataclass(frozen=True, slots=True)
class SplitList(Result):
    """Splits with the tasks that are available for them."""

    splits: tuple[Assigned, ...]

    def plain(self) -> list[dict[str, Any]]:
        """Return the splits and their tasks as plain data."""
        return [
            {
                "name": assigned.name,
                **asdict(assigned.split),
                "train": [meta.name for meta in assigned.train],
                "evaluation": [meta.name for meta in assigned.evaluation],
                "left_out": [asdict(task) for task in assigned.left_out],
                "empty": assigned.empty,
            }
            for assigned in self.splits
        ]

    def blocks(self) -> Iterator[Block]:
        """Yield how many tasks each split has."""
        cells = []
        for assigned in self.splits:
            paper = "/".join(map(str, assigned.split.paper)) if assigned.split.paper else ""
            empty = f"no task for {assigned.empty}" if assigned.empty else ""
            counts = (len(assigned.train), len(assigned.evaluation))
            cells.append((assigned.name, *counts, paper, empty))
        yield Table(("split", "train", "evaluation", "paper", ""), cells)
        for assigned in self.splits:
            for task in assigned.left_out:
                yield Line(f"{assigned.name}: {task}")


@cache
def shipped_splits() -> Mapping[str, TaskSplit]:
    """Return the ten splits of the paper by name."""
    return _splits_in(files(__package__) / "splits.toml")


def load_splits(path: Path | None = None) -> Mapping[str, TaskSplit]:
    """Return the splits of a TOML file, or those of the paper; raises `UsageError`."""
    return shipped_splits() if path is None else _splits_in(path)


def find_split(name: str, splits: Mapping[str, TaskSplit]) -> str:
    """Return the name of a split as it is written, whatever the case it is asked for in."""
    by_name = {split.casefold(): split for split in splits}
    if name.casefold() not in by_name:
        raise unknown_name("split", name, splits)
    return by_name[name.casefold()]


def find_shipped_split(name: str) -> str:
    """Return the name of a split of the paper, as it is written; raises `UsageError`."""
    return find_split(name, load_splits(None))


def assign_tasks(name: str, split: TaskSplit, metas: Iterable[Meta]) -> Assigned:
    """Say which tasks a split trains on and which it evaluates on; either may be none.

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
            return Kind(meta.kind.type) == split.kind


def _splits_in(path: Path | Traversable) -> Mapping[str, TaskSplit]:
    source = read_toml(path, "docs/crosscode.md")
    splits = source.read(dict[str, TaskSplit])
    for name, split in splits.items():
        if wrong := _unknown(split):
            where = source.place(name, "evaluate")
            raise UsageError(f"{where}: {name}.evaluate: {wrong}", f"Correct it. {source.see}")
    return splits


def _unknown(split: TaskSplit) -> str:
    """Return what is wrong with the type that a split evaluates; categories are open."""
    kind = split.kind
    if split.level == "type" and (kind is None or kind.subtype):
        return f"{split.evaluate!r} is none of {', '.join(known_types())}"
    if split.level == "subtype" and (kind is None or not kind.subtype):
        return f"{split.evaluate!r} is not a sub-type, such as Classification -> Binary"
    if split.level == "type" and split.scope == "intra":
        return "training tasks of the type that is evaluated would be none: use scope inter"
    return ""

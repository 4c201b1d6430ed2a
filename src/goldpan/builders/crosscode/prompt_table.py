"""The prompts of a split as Parquet files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from goldpan.builders.crosscode.budget import Budget
from goldpan.builders.crosscode.instance import Instance
from goldpan.builders.crosscode.prompt import Prompter
from goldpan.builders.crosscode.spool import Spooled, TaskFiles
from goldpan.datasets.prompt_methods import Method, Side
from goldpan.datasets.shards import write_shards
from goldpan.filters.duplicates.settings import DuplicateSettings

SHARDS: dict[Side, str] = {"train": "train", "evaluation": "test"}
"""The names of the two sides' files."""
_TEXT = pa.string()
PROMPTS = pa.schema(
    [
        pa.field("id", _TEXT, nullable=False),
        pa.field("task", _TEXT, nullable=False),
        pa.field("type", _TEXT, nullable=False),
        pa.field("subtype", _TEXT),
        pa.field("category", _TEXT),
        pa.field("source", _TEXT, nullable=False),
        pa.field("prompt", _TEXT, nullable=False),
        pa.field("input", _TEXT, nullable=False),
        pa.field("output", _TEXT, nullable=False),
        pa.field("positive", pa.int32(), nullable=False),
        pa.field("negative", pa.int32(), nullable=False),
        pa.field("examples_cut", pa.int32(), nullable=False),
        pa.field("input_cut", pa.int64(), nullable=False),
    ]
)
"""The columns of both sides; `input` is whole, whatever the prompt lost of it."""
_BATCH = 64
TRAIN_CAP = 10_000
"""The most instances to take from a training task."""


@dataclass(frozen=True, slots=True)
class CrossSettings:
    """How the prompts of a split are made."""

    method: Method
    seed: int = 0
    budget: Budget | None = None
    train_cap: int = TRAIN_CAP
    """Instances of a training task (section IV-D)."""
    evaluation_cap: int = 500
    duplicates: DuplicateSettings = field(default_factory=DuplicateSettings)
    layout: str = "lines"


def write_side(
    building: Path,
    side: Side,
    tasks: Sequence[TaskFiles],
    spooled: Spooled,
    dropped: Collection[int],
    settings: CrossSettings,
    cuts: Counter[str],
) -> Counter[int]:
    """Write the prompts of a side; return how many of its instances were dropped, by task.

    `dropped` has the places of those in `spooled`; `cuts` gains the prompts that lack examples or
    a part of their input.
    """
    lost: Counter[int] = Counter()

    def kept() -> Iterator[tuple[int, Instance]]:
        for index, (number, instance) in enumerate(spooled.read()):
            if index in dropped:
                lost[number] += 1
            else:
                yield number, instance

    rows = _rows(side, tasks, kept(), settings, cuts)
    data = building / "data"
    data.mkdir(exist_ok=True)
    write_shards(data, SHARDS[side], PROMPTS, _tables(rows))
    return lost


def _rows(
    side: Side,
    tasks: Sequence[TaskFiles],
    instances: Iterable[tuple[int, Instance]],
    settings: CrossSettings,
    cuts: Counter[str],
) -> Iterator[dict[str, Any]]:
    prompters = [
        Prompter(task.meta, settings.method, side, settings.seed, settings.budget, settings.layout)
        for task in tasks
    ]
    for number, instance in instances:
        meta = tasks[number].meta
        prompt = prompters[number].prompt(instance.input, f"{instance.split}/{instance.idx}")
        cuts["examples"] += prompt.examples_cut > 0
        cuts["input"] += prompt.input_cut > 0
        yield {
            "id": f"{meta.stem}/{instance.split}/{instance.idx}",
            "task": meta.name,
            "type": meta.kind.type,
            "subtype": meta.kind.subtype or None,
            "category": meta.category or None,
            "source": meta.source,
            "prompt": prompt.text,
            "input": instance.input,
            "output": instance.output,
            "positive": prompt.positive,
            "negative": prompt.negative,
            "examples_cut": prompt.examples_cut,
            "input_cut": prompt.input_cut,
        }


def _tables(rows: Iterable[dict[str, Any]]) -> Iterator[pa.Table]:
    left = iter(rows)
    while batch := list(islice(left, _BATCH)):
        yield pa.Table.from_pylist(batch, schema=PROMPTS)

"""The prompts of a split as rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from goldpan.datasets.family import GROUP
from goldpan.datasets.prompt_methods import Method, Side
from goldpan.filters.duplicates.settings import DuplicateSettings
from goldpan.papers.crosscodebench.budget import Budget
from goldpan.papers.crosscodebench.prompt import Prompter
from goldpan.papers.crosscodebench.spool import Spooled, TaskFiles

SHARDS: dict[Side, str] = {"train": "train", "evaluation": "test"}
"""The splits of the two sides."""
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


def prompt_rows(
    side: Side,
    tasks: Sequence[TaskFiles],
    spooled: Spooled,
    dropped: Collection[int],
    settings: CrossSettings,
    counts: Counter[str],
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a side, in the order of its tasks.

    `dropped` has the places of instances in `spooled` that are left out; `counts` gains the prompts
    that lack examples or a part of their input.
    """
    prompters = [
        Prompter(task.meta, settings.method, side, settings.seed, settings.budget, settings.layout)
        for task in tasks
    ]
    for index, (number, drawn) in enumerate(spooled.read()):
        if index in dropped:
            continue
        meta, instance = tasks[number].meta, drawn.instance
        prompt = prompters[number].prompt(instance.input, f"{instance.split}/{instance.idx}")
        counts["examples_cut"] += prompt.examples_cut > 0
        counts["inputs_cut"] += prompt.input_cut > 0
        yield {
            "id": f"{meta.stem}/{instance.split}/{instance.idx}",
            GROUP: SHARDS[side],
            "task": meta.name,
            "type": meta.kind.type,
            "subtype": meta.kind.subtype or None,
            "category": meta.category or None,
            "source": meta.source,
            "work": meta.work,
            "repo": drawn.repo,
            "license": drawn.license,
            "created_at": drawn.created_at,
            "prompt": prompt.text,
            "input": instance.input,
            "output": instance.output,
            "positive": prompt.positive,
            "negative": prompt.negative,
            "examples_cut": prompt.examples_cut,
            "input_cut": prompt.input_cut,
        }

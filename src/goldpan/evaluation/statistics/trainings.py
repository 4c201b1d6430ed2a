"""What other trainings would change: the variance of a model's mean score over tasks.

Where every task has a training of its own, the luck of each is independent, and the mean over many
tasks evens it out. Where one training answers several tasks, its luck moves them all: the tasks
are then one block, whose variance is seen only between seeds, and no number of tasks lessens it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from goldpan.evaluation.statistics.evidence import ModelEvidence, TaskEvidence


@dataclass(frozen=True, slots=True)
class TrainingVariance:
    """The variance that other trainings of one model would add to its mean over tasks."""

    alone: float
    """Of trainings that answered one task each."""
    shared: float
    """Of trainings that answered several."""
    rough: float
    """The sum of each block's squared variance over its degrees of freedom."""
    rough_shared: float
    """The part of it of `shared`."""
    own: tuple[bool, ...]
    """Whether each task has a training of its own."""
    fewest: int | None
    """The fewest seeds of a training that several tasks share; None where none is shared."""

    @property
    def total(self) -> float:
        """Both together."""
        return self.alone + self.shared


def training_variance(tasks: Sequence[TaskEvidence], model: str) -> TrainingVariance:
    """Return what other trainings of a model would change in its mean over these tasks."""
    blocks: dict[tuple[str, int], list[ModelEvidence]] = defaultdict(list)
    keys = []
    for at, task in enumerate(tasks):
        evidence = task.models[model]
        keys.append((evidence.training or f"\0task {at}", len(evidence.scores)))
        blocks[keys[-1]].append(evidence)
    alone = shared = rough = rough_shared = 0.0
    fewest: list[int] = []
    for (_, seeds), members in blocks.items():
        variance = _block_variance(members, len(tasks))
        unsure = variance**2 / max(1, seeds - 1)
        rough += unsure
        if len(members) == 1:
            alone += variance
        else:
            shared += variance
            rough_shared += unsure
            fewest.append(seeds)
    own = tuple(len(blocks[key]) == 1 for key in keys)
    return TrainingVariance(alone, shared, rough, rough_shared, own, min(fewest, default=None))


def _block_variance(members: Sequence[ModelEvidence], tasks: int) -> float:
    """Return the variance of a block's share of the mean, over the number of its seeds."""
    seeds = len(members[0].scores)
    if seeds < 2:
        return 0.0
    if len(members) == 1:
        return members[0].seed_variance / tasks**2
    by_seed = np.sum([member.scores for member in members], axis=0) / tasks
    by_answers = sum(member.answer_variance for member in members) / tasks**2
    return max(0.0, float(by_seed.var(ddof=1)) - by_answers) / seeds

"""Positive and negative examples of a task that its definition does not bring along.

The paper's coders chose four of each among short instances (CrossCodeBench, III-B2). Where the
registry has fewer, rows of the training split make up for them: short ones, each output in turn.
A negative example is an input with the output of another, and says what would be right.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence

from goldpan.datasets.hash_sampling import draw_number
from goldpan.datasets.task import Task
from goldpan.papers.crosscodebench.instance import Instance
from goldpan.papers.crosscodebench.meta import Example
from goldpan.papers.crosscodebench.read_meta import EXAMPLES

_SHORT = 400
"""Characters of input and output together up to which an instance is no worse for its length."""
_OUTPUTS = 64
"""Different outputs that are told apart; further ones share a place."""


def choose_examples(
    task: Task, instances: Iterable[Instance], seed: int
) -> tuple[tuple[Example, ...], tuple[Example, ...]]:
    """Return positive and negative examples, the task's own first, four of each where possible.

    `instances` are gone through once. Those for training are preferred, so that tests stay unseen.
    """
    positive = [Example(*fields) for fields in task.prompt.examples]
    negative = [Example(*fields) for fields in task.prompt.negative_examples]
    missing = max(0, EXAMPLES - len(positive)) + max(0, EXAMPLES - len(negative))
    inputs = {example.input for example in (*positive, *negative)}
    if not missing:
        return tuple(positive), tuple(negative)
    candidates = _candidates(task, instances, seed, inputs)
    needed = max(0, EXAMPLES - len(positive))
    positive += [Example(instance.input, instance.output) for instance in candidates[:needed]]
    rest = candidates[needed:] + candidates[:needed]
    outputs = [instance.output for instance in candidates] + [
        example.output for example in positive
    ]
    for instance in rest:
        if len(negative) >= EXAMPLES:
            break
        wrong = _other_output(instance, outputs, len(negative))
        if wrong is not None:
            reason = f"The right output is: {instance.output}"
            negative.append(Example(instance.input, wrong, reason))
    return tuple(positive), tuple(negative)


def _candidates(
    task: Task, instances: Iterable[Instance], seed: int, taken_inputs: set[str]
) -> list[Instance]:
    """Return short instances with different inputs, each output in turn."""
    most = 2 * EXAMPLES
    best: dict[str, list[tuple[tuple[int, int, int], int, Instance]]] = {}
    for index, instance in enumerate(instances):
        if instance.input in taken_inputs or not instance.input.strip():
            continue
        length = max(_SHORT, len(instance.input) + len(instance.output))
        rank = (
            -(instance.split != "train"),
            -length,
            -draw_number(seed, task.name, instance.split, instance.idx, "example"),
        )
        output = instance.output if instance.output in best or len(best) < _OUTPUTS else ""
        heap = best.setdefault(output, [])
        if len(heap) < most:
            heapq.heappush(heap, (rank, -index, instance))
        elif (rank, -index) > heap[0][:2]:
            heapq.heapreplace(heap, (rank, -index, instance))
    groups = [sorted(heap, reverse=True, key=lambda held: held[:2]) for heap in best.values()]
    groups.sort(key=lambda group: group[0][:2], reverse=True)
    candidates: list[Instance] = []
    inputs: set[str] = set()
    for turn in range(most):
        for group in groups:
            if turn < len(group) and group[turn][2].input not in inputs:
                candidates.append(group[turn][2])
                inputs.add(group[turn][2].input)
    return candidates[:most]


def _other_output(instance: Instance, outputs: Sequence[str], turn: int) -> str | None:
    """Return a wrong output, another one at each turn where there are several."""
    others = list(dict.fromkeys(output for output in outputs if output != instance.output))
    return others[turn % len(others)] if others else None

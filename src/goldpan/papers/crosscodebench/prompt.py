"""Prompts for an input of a task (CrossCodeBench, section IV-A).

    Description, or for m/n-instruct: Definition: ...

    Example 1 -                 (Positive Example 1 -, Negative Example 1 -)
    Input: ...
    Output: ...
    Explanation: ...            (m/n-instruct alone, where there is one)

    Now complete the following example -
    Input: ...
    Output:

A prompt that is too long loses its examples, the last first and negative ones before positive
ones, then the end of its input; never the description or definition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from goldpan.core.errors import UsageError
from goldpan.datasets.hash_sampling import draw_number
from goldpan.datasets.prompt_methods import Method, Side
from goldpan.papers.crosscodebench.budget import Budget, longest_fitting
from goldpan.papers.crosscodebench.layouts import find_layout
from goldpan.papers.crosscodebench.meta import Meta


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model is given."""

    text: str
    positive: int
    """Positive examples that it shows."""
    negative: int
    examples_cut: int
    """Examples that it would show, were it not for its length."""
    input_cut: int
    """Characters missing at the end of the input."""


class Prompter:
    """Makes the prompts of one task."""

    def __init__(
        self,
        meta: Meta,
        method: Method,
        side: Side,
        seed: int,
        budget: Budget | None = None,
        layout: str = "lines",
    ) -> None:
        """Refuse a budget that cannot hold the description or definition, by `UsageError`."""
        self._meta = meta
        self._method = method
        self._side: Side = side
        self._seed = seed
        self._budget = budget
        self._layout = find_layout(layout)
        self._head = self._layout.head(meta, method.instruct)
        self._positive, self._negative = (
            [self._layout.example(example, method.instruct) for example in examples]
            for examples in (meta.positive, meta.negative)
        )
        least = self._text([], [], "")
        if budget and not budget.holds(least):
            raise UsageError(
                f"The instruction of {meta.stem} has {budget.count(least):,} {budget.unit}, more "
                f"than a prompt of {budget.most:,} can hold",
                "Allow longer prompts, or use a method with a shorter instruction",
            )

    def prompt(self, input_text: str, name: str) -> Prompt:
        """Return the prompt for an input.

        The examples are drawn by the seed and `name`, which tells instances of the task apart.
        """
        positive = self._drawn(self._positive, self._method.positive(self._side), name)
        negative = self._drawn(self._negative, self._method.negative, name)
        count = len(positive) + len(negative)
        text = self._text(positive, negative, input_text)
        while self._budget and (positive or negative) and not self._budget.holds(text):
            (negative or positive).pop()
            text = self._text(positive, negative, input_text)
        length = len(input_text)
        if self._budget and not self._budget.holds(text):
            budget = self._budget
            length = longest_fitting(
                len(input_text), lambda size: budget.holds(self._text([], [], input_text[:size]))
            )
            text = self._text([], [], input_text[:length])
        cut = count - len(positive) - len(negative)
        return Prompt(text, len(positive), len(negative), cut, len(input_text) - length)

    def _drawn(self, blocks: Sequence[str], count: int, name: str) -> list[str]:
        order = sorted(
            range(len(blocks)),
            key=lambda at: draw_number(self._seed, self._meta.stem, name, str(at)),
        )
        return [blocks[at] for at in order[:count]]

    def _text(self, positive: Sequence[str], negative: Sequence[str], input_text: str) -> str:
        return self._layout.whole(self._head, positive, negative, input_text, self._method.instruct)

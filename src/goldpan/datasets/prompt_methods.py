"""The seven ways to ask (CrossCodeBench, section IV-A)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from goldpan.core.registry import Registry

Side = Literal["train", "evaluation"]


@dataclass(frozen=True, slots=True)
class Method:
    """What a prompt holds beside the input."""

    name: str
    instruct: bool
    """Whether it begins with the definition, and examples tell their reasons; else with the
    description."""
    train_positive: int
    evaluation_positive: int
    negative: int = 0

    def positive(self, side: Side) -> int:
        """Return how many positive examples a prompt of that side shows."""
        return self.train_positive if side == "train" else self.evaluation_positive


METHODS = {
    method.name: method
    for method in (
        *(Method(f"{k}-shot", False, k, k) for k in (4, 3, 2, 1)),
        Method("zero-shot", False, 0, 0),
        Method("2/0-instruct", True, 2, 4),
        Method("2/2-instruct", True, 2, 2, negative=2),
    )
}
"""All methods by name."""


find_method = Registry("method", lambda: METHODS).find

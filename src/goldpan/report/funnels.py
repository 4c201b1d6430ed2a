"""Measures funnels for drawing."""

from __future__ import annotations

from dataclasses import dataclass

from goldpan.filters.funnel import Funnel, Step


@dataclass(frozen=True, slots=True)
class Level:
    """What a deciding criterion leaves of what reached it."""

    criterion: str
    before: int
    left: int

    @property
    def dropped(self) -> int:
        """Return how many it takes out here, where those before it have decided."""
        return self.before - self.left


def levels(funnel: Funnel) -> list[Level]:
    """Return the steps that decide, each with what reaches it and what it leaves."""
    steps: list[Level] = []
    before = funnel.rows
    for step in funnel.steps:
        if step.left is not None:
            steps.append(Level(step.criterion, before, step.left))
            before = step.left
    return steps


def frequent(step: Step) -> list[tuple[str, int]]:
    """Return a step's reasons, the most frequent first."""
    return sorted(
        ((reason or "undecided", count) for reason, count in step.reasons.items()),
        key=lambda item: (-item[1], item[0]),
    )

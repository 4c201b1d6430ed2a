"""Tiers of answers that rules choose: how often such rows are right elsewhere, and in a dataset.

The counts are of the gold set of nine repositories that the points were not made on:
``python -m tests.gold.by_repository`` prints them, and a test compares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import sqrt

from goldpan.core.proportions import Estimate, wilson
from goldpan.filters.answers import LEAST

LIKELY = "likely"


@dataclass(frozen=True, slots=True)
class Tier:
    """Answers with so many points, and what became of such answers in the gold set."""

    name: str
    least: int
    """The points from which on an answer belongs to it."""
    whole: int
    """Gold rows that answer in whole."""
    at_least_partly: int
    rows: int
    """All gold rows of the tier."""
    points: str
    """Its points in words."""


TIERS = (
    Tier(LIKELY, 12, 35, 45, 50, "12 points or more"),
    Tier("possible", LEAST, 27, 58, 69, "9 to 11 points"),
)
"""The tiers, the best first; their names sort in this order, too."""

BY_REPOSITORY = (0.13, 0.75)
"""The least and the greatest share of whole answers, of repositories with ten gold rows or more."""

_ALONE = "goldpan build qa --answer likely"
_REVIEW = "goldpan review --model NAME --subject issue"
_REVIEWED = "goldpan build qa --require question-answer --answer reviewed"


def tier_of(points: int | None) -> str | None:
    """Return the tier of an answer with these points; None for fewer than any tier has."""
    return next((t.name for t in TIERS if points is not None and points >= t.least), None)


def expected_share(rows: Mapping[str, int], right: Callable[[Tier], int]) -> Estimate:
    """Return which share of rows of these tiers is right, if they are as those of the gold set.

    `right` returns how many gold rows of a tier are. The interval puts together those of the tiers
    by the squares of their distances (Zou & Donner, 2008), as their samples are independent.
    """
    total = sum(rows.values())
    value, below, above = 0.0, 0.0, 0.0
    for tier in TIERS:
        share = wilson(right(tier), tier.rows)
        if share.value is None or share.low is None or share.high is None:
            continue
        weight = rows.get(tier.name, 0) / total
        value += weight * share.value
        below += (weight * (share.value - share.low)) ** 2
        above += (weight * (share.high - share.value)) ** 2
    return Estimate(value, value - sqrt(below), value + sqrt(above))


def tier_lines(rows: Mapping[str, int]) -> Iterator[str]:
    """Yield how many rows each tier has, and the commands for better ones."""
    for tier in TIERS:
        share = wilson(tier.whole, tier.rows).short()
        yield (
            f"  {rows.get(tier.name, 0):,} {tier.name} ({tier.points}): "
            f"on held-out repositories, {share} of such answers were complete"
        )
    if rows.get(LIKELY, 0) < sum(rows.values()):
        yield f"  {_ALONE} keeps only the likely ones; {_REVIEW} asks a model"


def mix_accuracy(rows: Mapping[str, int]) -> str:
    """Return how right rows of these tiers are expected to be, for a card."""
    named = [
        f"{rows[tier.name]:,} {tier.name} ({tier.points}; "
        f"{wilson(tier.whole, tier.rows).short()} complete)"
        for tier in TIERS
        if rows.get(tier.name)
    ]
    whole = expected_share(rows, lambda tier: tier.whole).short()
    at_least_partly = expected_share(rows, lambda tier: tier.at_least_partly).short()
    low, high = BY_REPOSITORY
    return (
        f"Answer tiers (`answer_tier`): {' and '.join(named)}, measured on nine held-out "
        f"repositories. For this mix, expect {whole} complete answers and {at_least_partly} at "
        f"least partial ones; in single repositories {low:.0%} to {high:.0%} were complete. "
        f"`{_ALONE}` keeps only the likely rows; `{_REVIEW}`, then `{_REVIEWED}`, asks a model"
    )

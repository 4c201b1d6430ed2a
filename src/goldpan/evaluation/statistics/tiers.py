"""Turns decisions about pairs into tiers and ties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def tiers(order: Sequence[str], beats: Mapping[str, frozenset[str]]) -> dict[str, int]:
    """Return the tier of each model, 1 the best: the division that agrees with most decisions.

    Tiers are stretches of the ranking. A pair agrees with them when it is undecided or equal and
    shares a tier, or when it is decided and does not. Of divisions that agree as well, the one
    with fewer tiers counts. One pair that flips by chance shifts the count by one, so it seldom
    moves a border; rules that go from model to model let it move all that follow.
    """
    count = len(order)
    decided = [
        [upper != lower and (lower in beats[upper] or upper in beats[lower]) for lower in order]
        for upper in order
    ]
    # within[a][b]: pairs among order[a:b] that are decided, less those that are not.
    within = [[0] * (count + 1) for _ in range(count + 1)]
    for start in range(count):
        for end in range(start + 1, count + 1):
            new = sum(1 if decided[at][end - 1] else -1 for at in range(start, end - 1))
            within[start][end] = within[start][end - 1] + new
    best: list[tuple[int, int]] = [(0, 0)]
    cut = [0]
    for end in range(1, count + 1):
        options = [
            ((best[start][0] + within[start][end], best[start][1] + 1), start)
            for start in range(end)
        ]
        cost, start = min(options)
        best.append(cost)
        cut.append(start)
    borders = {count}
    while (start := cut[min(borders)]) > 0:
        borders.add(start)
    return {model: 1 + sum(border <= at for border in borders) for at, model in enumerate(order)}


def agreement(tier_of: Mapping[str, int], beats: Mapping[str, frozenset[str]]) -> float:
    """Return the share of pairs that agree with tiers, as `tiers` counts them."""
    names = sorted(tier_of)
    pairs = [(first, other) for at, first in enumerate(names) for other in names[at + 1 :]]
    agreeing = sum(
        (other in beats[first] or first in beats[other]) == (tier_of[first] != tier_of[other])
        for first, other in pairs
    )
    return agreeing / len(pairs)


def open_places(
    order: Sequence[str], beats: Mapping[str, frozenset[str]]
) -> dict[str, tuple[int, int]]:
    """Return the best and the worst place that the decisions leave to each model.

    Models that are decided to be better stand above it, those that are decided to be worse
    stand below it, and no test puts it among the others.
    """
    return {
        model: (
            1 + sum(model in beats[other] for other in order),
            len(order) - len(beats[model]),
        )
        for model in order
    }

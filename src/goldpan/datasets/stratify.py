"""Stratified splits: every side gets its share of every label.

Iterative stratification (Sechidis, Tsoumakas and Vlahavas, 2011), which SELU uses for
multi-label tasks: labels are dealt out one after the other, the rarest first, each name to the
side that still wants most of that label; names that stand for many examples come first. With one
label an example it is plain stratification, within one example of each label's share.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from math import lcm


def stratify(
    labels: Mapping[str, Collection[str]],
    sizes: Mapping[str, int],
    shares: Sequence[Fraction],
    seed: int,
) -> dict[str, int]:
    """Return the side of each name, given its labels and how many examples it stands for.

    The order of names does not matter. Those without a label go where examples are wanted most.
    The time grows with the number of labels that names have, and of different labels.
    """
    order = sorted(labels, key=lambda name: (-sizes[name], _draw(seed, name), name))
    by_label: dict[str, list[str]] = {}
    for name in order:
        for label in labels[name]:
            by_label.setdefault(label, []).append(name)
    left = Counter({label: len(names) for label, names in by_label.items()})
    total = {label: sum(sizes[name] for name in names) for label, names in by_label.items()}
    # Counted in parts of an example, so that integers do: fractions would take many times longer.
    parts = lcm(*(share.denominator for share in shares))
    portions = [int(share * parts) for share in shares]
    needed = {label: [portion * count for portion in portions] for label, count in total.items()}
    room = [portion * sum(sizes.values()) for portion in portions]
    sides: dict[str, int] = {}

    def assign(name: str, label: str | None) -> None:
        wishes = needed[label] if label is not None else room
        side = max(range(len(shares)), key=lambda side_: (wishes[side_], room[side_], -side_))
        sides[name] = side
        room[side] -= parts * sizes[name]
        for other in labels[name]:
            needed[other][side] -= parts * sizes[name]
            left[other] -= 1

    while left := +left:
        rarest = min(left, key=lambda label: (left[label], label))
        for name in by_label[rarest]:
            if name not in sides:
                assign(name, rarest)
    for name in order:
        if name not in sides:
            assign(name, None)
    return sides


def _draw(seed: int, name: str) -> bytes:
    return hashlib.sha256(f"{seed}\0{name}".encode()).digest()

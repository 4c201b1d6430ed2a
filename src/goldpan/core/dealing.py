"""Deals repositories out to processes by size, so that none waits long for another at the end."""

from __future__ import annotations

from collections.abc import Mapping


def deal(sizes: Mapping[str, int], processes: int, worth: int) -> list[str]:
    """Return the units that go to processes of their own, the largest first.

    Left out are those larger than the even share of a process: all processes had better work on
    each of them together. None goes where they sum up to less than what is `worth` the start of
    processes, or are fewer than two.
    """
    most = sum(sizes.values()) / max(processes, 1)
    dealt = sorted((unit for unit in sizes if sizes[unit] <= most), key=lambda unit: -sizes[unit])
    worthwhile = sum(sizes[unit] for unit in dealt) >= worth
    return dealt if processes > 1 and len(dealt) > 1 and worthwhile else []

"""Values that several operations take: options that always go together, and limits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge

Positive = Annotated[int, Ge(1)]
"""A whole number of 1 or more."""
Count = Annotated[int, Ge(0)]
"""A whole number of 0 or more."""
EngineName = Literal["local", "ray"]


@dataclass(frozen=True, slots=True)
class Execution:
    """Where work is done.

    Args:
        engine: This machine, or a Ray cluster.
        address (HOST:PORT): The address of a Ray cluster, or auto.
        workers (N): How many processes work at once; 0 is one per core.

    """

    engine: EngineName = "local"
    address: str = ""
    workers: Count = 0


LOCAL = Execution()


def several(value: str | Iterable[str]) -> tuple[str, ...]:
    """Return what may be given several times: one text, or some."""
    return (value,) if isinstance(value, str) else tuple(value)

"""Draws examples again and again to tell how far a score would differ on other examples.

Examples of one project are alike, so whole projects are drawn where examples name theirs; drawing
single examples would make intervals too narrow. The same draws serve all metrics of a run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from goldpan.evaluation.metrics.result import Unit

Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]

_AT_ONCE = 4_000_000
"""Weights that are held at once: draws times examples."""


@dataclass(frozen=True, eq=False)
class Resampling:
    """How examples are drawn."""

    unit: Unit
    unit_of: Whole
    """The number of each example's unit, from 0."""
    seed: int
    resamples: int

    @cached_property
    def units(self) -> int:
        """How many units there are to draw from."""
        return int(self.unit_of.max()) + 1 if len(self.unit_of) else 0

    def draws(self) -> Iterator[Floats]:
        """Yield how often each unit is drawn, some draws (rows) at a time."""
        if self.units < 2:
            return
        generator = np.random.default_rng(self.seed)
        at_once = max(1, _AT_ONCE // max(self.units, len(self.unit_of)))
        for start in range(0, self.resamples, at_once):
            draws = min(at_once, self.resamples - start)
            units = generator.integers(0, self.units, size=(draws, self.units))
            units += np.arange(draws)[:, None] * self.units
            counts = np.bincount(units.ravel(), minlength=draws * self.units)
            yield counts.reshape(draws, self.units).astype(np.float64)


def resample(repos: Sequence[str | None], *, seed: int, resamples: int) -> Resampling:
    """Return the drawing of whole projects where two or more are named, else of examples.

    An example without a project is a project of its own, unless none has any.
    """
    named = sorted({repo for repo in repos if repo})
    if len(named) < 2:
        return Resampling("example", np.arange(len(repos)), seed, resamples)
    numbers = {repo: number for number, repo in enumerate(named)}
    unit_of = np.empty(len(repos), dtype=np.int64)
    for index, repo in enumerate(repos):
        unit_of[index] = numbers[repo] if repo else numbers.setdefault(f"\0{index}", len(numbers))
    return Resampling("project", unit_of, seed, resamples)

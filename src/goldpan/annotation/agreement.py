"""Agreement of people, or models, beyond chance (CrossCodeBench, section III-B2).

Kappa is scikit-learn's, alpha that of `krippendorff`; all measures are nominal. Items on which
raters chose alike are counted together, so memory follows the ways to rate an item, not the items.
They are resampled for the bootstrap intervals, with a seed. A coefficient is None where it is not
defined: where chance alone would agree always, because everybody chose one category.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, groupby
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from goldpan.core.imports import load
from goldpan.core.proportions import Estimate, cohen_kappa

Counts = npt.NDArray[np.int64]
Labels = tuple[str, ...]

_SAMPLES, _FEWEST_SAMPLES = 1_000, 100
_MOST_DRAWN = 5_000_000
"""Items over all resamplings, beyond which there are fewer of these."""
_LEVEL = 0.95
MOST_LISTED = 1_000
"""Items of which an agreement says what raters chose."""


class Rating(NamedTuple):
    """A rater's choice for one item; several labels where the field takes several."""

    item: str
    rater: str
    labels: Labels


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """Two raters on the items that both rated."""

    raters: tuple[str, str]
    items: int
    raw: float
    kappa: Estimate
    choices: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    """Items by the first rater's choice, then the second's."""


@dataclass(frozen=True, slots=True)
class CategoryAgreement:
    """One category against all others."""

    category: str
    chosen: int
    """Ratings that chose it."""
    alpha: Estimate


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreement of raters on one field."""

    field: str
    items: int
    """Rated by two or more."""
    single: int
    """Rated by one alone, which no measure can use."""
    raters: tuple[str, ...]
    raw: Estimate
    """The share of pairs of ratings of an item that are equal, over items."""
    pairs: tuple[PairAgreement, ...]
    alpha: Estimate
    """Krippendorff's, over all items, whoever is missing."""
    categories: tuple[CategoryAgreement, ...]
    differing: int
    """Items on which not all raters chose the same."""
    disagreements: Mapping[str, Mapping[str, Labels]]
    """The first thousand of them, with what raters chose."""


def agree(
    field: str, ratings: Iterable[Rating], *, seed: int = 0, samples: int = _SAMPLES
) -> Agreement:
    """Measure agreement on a field by ratings that are sorted by item.

    Sets of labels are compared as a whole, and label by label. Raises `ValueError` where a rater
    rated an item twice.
    """
    patterns: Counter[tuple[Labels, ...]] = Counter()
    cells: defaultdict[tuple[str, str], Counter[tuple[Labels, Labels]]] = defaultdict(Counter)
    raters: set[str] = set()
    disagreements: dict[str, Mapping[str, Labels]] = {}
    for item, group in groupby(ratings, attrgetter("item")):
        chosen = _choices(group)
        raters |= chosen.keys()
        patterns[tuple(sorted(chosen.values()))] += 1
        for first, other in combinations(chosen, 2):
            cells[first, other][chosen[first], chosen[other]] += 1
        if len(disagreements) < MOST_LISTED and len(set(chosen.values())) > 1:
            disagreements[item] = chosen
    both = {pattern: count for pattern, count in sorted(patterns.items()) if len(pattern) > 1}
    counts, weights = count_choices(list(both)), np.array([*both.values()], dtype=np.int64)
    rng = np.random.default_rng(seed)
    estimate = partial(_bootstrap, rng=rng, samples=samples)
    return Agreement(
        field,
        sum(both.values()),
        patterns.total() - sum(both.values()),
        tuple(sorted(raters)),
        estimate(partial(raw_agreement, counts), weights),
        tuple(
            PairAgreement(
                pair,
                each.total(),
                sum(each[cell] for cell in each if cell[0] == cell[1]) / each.total(),
                kappa(each, rng, samples),
                *_confusion(each),
            )
            for pair, each in sorted(cells.items())
        ),
        estimate(partial(krippendorff_alpha, counts), weights),
        tuple(_categories(both, partial(estimate, weights=weights))),
        sum(count for pattern, count in both.items() if len(set(pattern)) > 1),
        disagreements,
    )


def _choices(ratings: Iterable[Rating]) -> dict[str, Labels]:
    """Return what each rater chose for an item, by their names in order."""
    chosen: dict[str, Labels] = {}
    for item, rater, labels in sorted(ratings):
        if rater in chosen:
            raise ValueError(f"{rater} rated {item} twice")
        chosen[rater] = tuple(sorted(set(labels)))
    return chosen


def raw_agreement(counts: Counts, weights: Counts) -> float | None:
    """Return the share of equal pairs of ratings of an item, averaged over items.

    `counts` are ways to rate an item x categories: how many raters chose a category; `weights` say
    how many items were rated so.
    """
    if not weights.sum():
        return None
    sizes = counts.sum(axis=1)
    shares = (counts * (counts - 1)).sum(axis=1) / (sizes * (sizes - 1))
    return float(np.average(shares, weights=weights))


def krippendorff_alpha(counts: Counts, weights: Counts) -> float | None:
    """Return Krippendorff's alpha for nominal data, of the same as `raw_agreement`."""
    items = np.repeat(counts, weights, axis=0)
    items = items[:, items.any(axis=0)]
    if items.shape[1] < 2:
        return None
    alpha = load("krippendorff", "Agreement of annotators").alpha
    return float(alpha(value_counts=items, level_of_measurement="nominal"))


def kappa(
    cells: Mapping[tuple[Any, Any], int], rng: np.random.Generator, samples: int = _SAMPLES
) -> Estimate:
    """Return Cohen's kappa by how many items have each pair of choices, with its interval."""
    names = sorted({choice for cell in cells for choice in cell})
    first, other = (np.array([names.index(cell[side]) for cell in cells]) for side in (0, 1))
    weights = np.array([*cells.values()], dtype=np.int64)
    return _bootstrap(partial(cohen_kappa, first, other), weights, rng, samples)


def count_choices(patterns: Sequence[tuple[Labels, ...]]) -> Counts:
    """Return ways to rate an item x categories; a set of labels is one category."""
    names = sorted({labels for pattern in patterns for labels in pattern})
    rows = [[pattern.count(name) for name in names] for pattern in patterns]
    return np.array(rows, dtype=np.int64).reshape(len(patterns), len(names))


def _bootstrap(
    statistic: Callable[[Counts], float | None],
    weights: Counts,
    rng: np.random.Generator,
    samples: int,
) -> Estimate:
    """Return a statistic of items with its percentile interval, by drawing items again.

    Samples in which it is not defined are left out of the interval.
    """
    value, items = statistic(weights), int(weights.sum())
    if value is None:
        return Estimate(None, None, None)
    samples = min(samples, max(_FEWEST_SAMPLES, _MOST_DRAWN // items))
    drawn = map(statistic, rng.multinomial(items, weights / items, samples))
    estimates = [estimate for estimate in drawn if estimate is not None]
    if not estimates:
        return Estimate(value, None, None)
    low, high = np.quantile(estimates, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
    return Estimate(value, float(low), float(high))


def _confusion(
    cells: Counter[tuple[Labels, Labels]],
) -> tuple[tuple[str, ...], tuple[tuple[int, ...], ...]]:
    names = sorted({labels for cell in cells for labels in cell})
    counts = tuple(tuple(cells[row, column] for column in names) for row in names)
    return tuple(", ".join(labels) or "nothing" for labels in names), counts


def _categories(
    patterns: Mapping[tuple[Labels, ...], int],
    estimate: Callable[[Callable[[Counts], float | None]], Estimate],
) -> Iterator[CategoryAgreement]:
    for name in sorted({label for pattern in patterns for labels in pattern for label in labels}):
        chosen = [sum(name in labels for labels in pattern) for pattern in patterns]
        others = [len(pattern) for pattern in patterns]
        counts = np.array([np.subtract(others, chosen), chosen], dtype=np.int64).T
        total = sum(map(int.__mul__, chosen, patterns.values()))
        yield CategoryAgreement(name, total, estimate(partial(krippendorff_alpha, counts)))

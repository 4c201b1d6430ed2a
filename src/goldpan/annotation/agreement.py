"""Agreement of people, or models, beyond chance (CrossCodeBench, section III-B2).

Kappa is scikit-learn's, alpha that of `krippendorff`; all measures are nominal. An item is
resampled as a whole for the bootstrap intervals, with a seed. A coefficient is None where it is not
defined: where chance alone would agree always, because everybody chose one category.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np
import numpy.typing as npt

from goldpan.core.imports import load
from goldpan.core.proportions import Estimate, cohen_kappa

Counts = npt.NDArray[np.int64]
"""Items x categories: how many raters chose a category of an item."""
Items = npt.NDArray[np.intp]
"""The places of items, some several times, as a resampling drew them."""
Statistic = Callable[[Items], float | None]

_SAMPLES, _FEWEST_SAMPLES = 1_000, 100
_MOST_DRAWN = 5_000_000
"""Items over all resamplings, beyond which there are fewer of these."""
_LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Rating:
    """A rater's choice for one item; several labels where the field takes several."""

    item: str
    rater: str
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """Two raters on the items that both rated."""

    raters: tuple[str, str]
    items: int
    raw: float
    kappa: Estimate


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
    disagreements: Mapping[str, Mapping[str, tuple[str, ...]]]
    """Items on which not all raters chose the same, with what they chose."""


def agree(
    field: str, ratings: Iterable[Rating], *, seed: int = 0, samples: int = _SAMPLES
) -> Agreement:
    """Measure agreement on a field. Sets of labels are compared as a whole, and label by label.

    Raises `ValueError` where a rater rated an item twice.
    """
    by_item = _by_item(ratings)
    both = {item: labels for item, labels in sorted(by_item.items()) if len(labels) > 1}
    raters = tuple(sorted({rater for labels in by_item.values() for rater in labels}))
    counts = count_choices(list(both.values()))
    rng = np.random.default_rng(seed)

    def estimate(statistic: Statistic, items: int) -> Estimate:
        return bootstrap(statistic, items, rng, samples)

    pairs = []
    for first, other in combinations(raters, 2):
        shared = [
            (labels[first], labels[other])
            for labels in both.values()
            if first in labels and other in labels
        ]
        if shared:
            kappa = estimate(_kappa(shared), len(shared))
            same = sum(one == two for one, two in shared) / len(shared)
            pairs.append(PairAgreement((first, other), len(shared), same, kappa))
    return Agreement(
        field,
        len(both),
        len(by_item) - len(both),
        raters,
        estimate(partial(raw_agreement, counts), len(both)),
        tuple(pairs),
        estimate(partial(krippendorff_alpha, counts), len(both)),
        tuple(_categories(both, estimate)),
        {
            item: dict(sorted(labels.items()))
            for item, labels in both.items()
            if len(set(labels.values())) > 1
        },
    )


def raw_agreement(counts: Counts, items: Items | slice = slice(None)) -> float | None:
    """Return the share of equal pairs of ratings of an item, averaged over items."""
    counts = counts[items]
    sizes = counts.sum(axis=1)
    if not len(counts):
        return None
    return float(np.mean((counts * (counts - 1)).sum(axis=1) / (sizes * (sizes - 1))))


def krippendorff_alpha(counts: Counts, items: Items | slice = slice(None)) -> float | None:
    """Return Krippendorff's alpha for nominal data; items may have different numbers of ratings."""
    counts = counts[items]
    counts = counts[:, counts.any(axis=0)]
    if counts.shape[1] < 2:
        return None
    alpha = load("krippendorff", "Agreement of annotators").alpha
    return float(alpha(value_counts=counts, level_of_measurement="nominal"))


def count_choices(items: Sequence[Mapping[str, tuple[str, ...]]]) -> Counts:
    """Return items x categories; a set of labels is one category."""
    names = sorted({labels for ratings in items for labels in ratings.values()})
    places = {labels: place for place, labels in enumerate(names)}
    counts = np.zeros((len(items), len(names)), dtype=np.int64)
    for row, ratings in enumerate(items):
        for labels in ratings.values():
            counts[row, places[labels]] += 1
    return counts


def bootstrap(
    statistic: Statistic, items: int, rng: np.random.Generator, samples: int = _SAMPLES
) -> Estimate:
    """Return a statistic with its percentile interval over resampled items.

    Samples in which it is not defined are left out of the interval.
    """
    value = statistic(np.arange(items)) if items else None
    if value is None:
        return Estimate(None, None, None)
    samples = min(samples, max(_FEWEST_SAMPLES, _MOST_DRAWN // items))
    drawn = (statistic(rng.integers(0, items, items)) for _ in range(samples))
    estimates = [estimate for estimate in drawn if estimate is not None]
    if not estimates:
        return Estimate(value, None, None)
    low, high = np.quantile(estimates, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
    return Estimate(value, float(low), float(high))


def _kappa(shared: Sequence[tuple[tuple[str, ...], tuple[str, ...]]]) -> Statistic:
    names = sorted({labels for pair in shared for labels in pair})
    places = {labels: place for place, labels in enumerate(names)}
    first, other = (np.array([places[pair[side]] for pair in shared]) for side in (0, 1))
    return lambda items: cohen_kappa(first[items], other[items])


def _by_item(ratings: Iterable[Rating]) -> dict[str, dict[str, tuple[str, ...]]]:
    by_item: dict[str, dict[str, tuple[str, ...]]] = defaultdict(dict)
    for rating in ratings:
        if rating.rater in by_item[rating.item]:
            raise ValueError(f"{rating.rater} rated {rating.item} twice")
        by_item[rating.item][rating.rater] = tuple(sorted(set(rating.labels)))
    return by_item


def _categories(
    items: Mapping[str, Mapping[str, tuple[str, ...]]],
    estimate: Callable[[Statistic, int], Estimate],
) -> Iterator[CategoryAgreement]:
    names = {label for ratings in items.values() for labels in ratings.values() for label in labels}
    for name in sorted(names):
        chosen = [sum(name in labels for labels in ratings.values()) for ratings in items.values()]
        others = [len(ratings) for ratings in items.values()]
        counts = np.array([np.subtract(others, chosen), chosen], dtype=np.int64).T
        yield CategoryAgreement(
            name, sum(chosen), estimate(partial(krippendorff_alpha, counts), len(items))
        )

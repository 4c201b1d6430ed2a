"""Agreement of people, or models, beyond chance (CrossCodeBench, section III-B2).

All measures are nominal. An item is resampled as a whole for the bootstrap intervals, with a seed.
A coefficient is None where it is not defined: where chance alone would agree always, because
everybody chose one category.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np
import numpy.typing as npt

from goldpan.core.proportions import Estimate, cohen_kappa

Counts = npt.NDArray[np.float64]
"""Items x categories: how many raters chose a category of an item."""
Weights = npt.NDArray[np.float64]
"""How often each item counts: all ones, or what a resampling drew."""
Statistic = Callable[[Weights], float | None]

_SAMPLES = 1_000
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
    raw: float
    alpha: Estimate


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An item on which not all raters chose the same."""

    item: str
    labels: Mapping[str, tuple[str, ...]]
    """By rater."""


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
    fleiss: Estimate
    """Over `fleiss_items`, which as many raters rated as most items."""
    fleiss_items: int
    alpha: Estimate
    """Krippendorff's, over all items, whoever is missing."""
    categories: tuple[CategoryAgreement, ...]
    disagreements: tuple[Disagreement, ...]


def agree(
    field: str, ratings: Iterable[Rating], *, seed: int = 0, samples: int = _SAMPLES
) -> Agreement:
    """Measure agreement on a field. Sets of labels are compared as a whole, and label by label.

    Raises `ValueError` where a rater rated an item twice.
    """
    by_item = _by_item(ratings)
    both = {
        item: labels_by_rater
        for item, labels_by_rater in sorted(by_item.items())
        if len(labels_by_rater) > 1
    }
    raters = tuple(
        sorted({rater for labels_by_rater in by_item.values() for rater in labels_by_rater})
    )
    counts = count_choices(list(both.values()))
    sizes = counts.sum(axis=1)
    usual = Counter(sizes.tolist()).most_common(1)[0][0] if len(both) else 0.0
    complete = counts[sizes == usual]
    rng = np.random.default_rng(seed)

    def estimate(statistic: Statistic, items: int) -> Estimate:
        return bootstrap(statistic, items, rng, samples)

    pairs = []
    for pair in combinations(raters, 2):
        shared = [
            (labels_by_rater[pair[0]], labels_by_rater[pair[1]])
            for labels_by_rater in both.values()
            if set(pair) <= set(labels_by_rater)
        ]
        if shared:
            kappa = estimate(_kappa(shared), len(shared))
            same = sum(first == other for first, other in shared) / len(shared)
            pairs.append(PairAgreement(pair, len(shared), same, kappa))
    return Agreement(
        field,
        len(both),
        len(by_item) - len(both),
        raters,
        estimate(partial(raw_agreement, counts), len(both)),
        tuple(pairs),
        estimate(partial(fleiss_kappa, complete), len(complete)),
        len(complete),
        estimate(partial(krippendorff_alpha, counts), len(both)),
        tuple(_categories(both, estimate)),
        tuple(
            Disagreement(item, dict(sorted(labels_by_rater.items())))
            for item, labels_by_rater in both.items()
            if len(set(labels_by_rater.values())) > 1
        ),
    )


def raw_agreement(counts: Counts, weights: Weights | None = None) -> float | None:
    """Return the share of equal pairs of ratings of an item, averaged over items."""
    sizes = counts.sum(axis=1)
    if not len(counts) or (sizes < 2).any():
        return None
    equal = (counts * (counts - 1)).sum(axis=1) / (sizes * (sizes - 1))
    return float(np.average(equal, weights=weights))


def fleiss_kappa(counts: Counts, weights: Weights | None = None) -> float | None:
    """Return Fleiss' kappa; every item has to have the same number of ratings, two or more."""
    observed = raw_agreement(counts, weights)
    if observed is None:
        return None
    if np.ptp(counts.sum(axis=1)):
        raise ValueError("Fleiss' kappa needs the same number of ratings for each item")
    chosen = counts.sum(axis=0) if weights is None else weights @ counts
    expected = float(((chosen / chosen.sum()) ** 2).sum())
    return None if expected >= 1 else (observed - expected) / (1 - expected)


def krippendorff_alpha(counts: Counts, weights: Weights | None = None) -> float | None:
    """Return Krippendorff's alpha for nominal data; items may have different numbers of ratings.

    Items with a single rating pair with nothing and do not count.
    """
    sizes = counts.sum(axis=1)
    usable = sizes > 1
    counts, sizes = counts[usable], sizes[usable]
    weights = np.ones(len(counts)) if weights is None else weights[usable]
    chosen = weights @ counts
    whole = float(chosen.sum())
    if whole < 2:
        return None
    unequal = (sizes**2 - (counts**2).sum(axis=1)) / (sizes - 1)
    observed = float(weights @ unequal) / whole
    expected = float(whole**2 - (chosen**2).sum()) / (whole * (whole - 1))
    return None if not expected else 1 - observed / expected


def count_choices(items: Sequence[Mapping[str, tuple[str, ...]]]) -> Counts:
    """Return items x categories; a set of labels is one category."""
    names = sorted({labels for ratings in items for labels in ratings.values()})
    indexes = {labels: index for index, labels in enumerate(names)}
    counts = np.zeros((len(items), len(names)))
    for row, ratings in enumerate(items):
        for labels in ratings.values():
            counts[row, indexes[labels]] += 1
    return counts


def bootstrap(
    statistic: Statistic, items: int, rng: np.random.Generator, samples: int = _SAMPLES
) -> Estimate:
    """Return a statistic with its percentile interval over resampled items.

    Samples in which it is not defined are left out of the interval.
    """
    value = statistic(np.ones(items)) if items else None
    if value is None:
        return Estimate(None, None, None)
    estimates = []
    for _ in range(samples):
        weights = np.bincount(rng.integers(0, items, items), minlength=items)
        estimate = statistic(weights.astype(float))
        if estimate is not None:
            estimates.append(estimate)
    if not estimates:
        return Estimate(value, None, None)
    low, high = np.quantile(estimates, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
    return Estimate(value, float(low), float(high))


def _kappa(shared: Sequence[tuple[tuple[str, ...], tuple[str, ...]]]) -> Statistic:
    """Return Cohen's kappa of two raters' choices, as one count of cells for each resampling."""
    names = sorted({labels for pair in shared for labels in pair})
    places = {labels: index for index, labels in enumerate(names)}
    size = len(names)
    cells = np.array([places[first] * size + places[other] for first, other in shared])
    return lambda weights: cohen_kappa(np.bincount(cells, weights, size**2).reshape(size, size))


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
) -> Iterable[CategoryAgreement]:
    names = {label for ratings in items.values() for labels in ratings.values() for label in labels}
    for name in sorted(names):
        counts = np.zeros((len(items), 2))
        for row, ratings in enumerate(items.values()):
            for labels in ratings.values():
                counts[row, int(name in labels)] += 1
        yield CategoryAgreement(
            name,
            int(counts[:, 1].sum()),
            raw_agreement(counts) or 0.0,
            estimate(partial(krippendorff_alpha, counts), len(items)),
        )

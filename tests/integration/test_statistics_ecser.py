"""ECSER's own numbers: metrics, effect sizes and p values that its tables print."""

from __future__ import annotations

import math

import pytest

from goldpan.evaluation.metrics.curves import BinaryConfusion, pool
from goldpan.evaluation.statistics.effects import (
    degradation,
    eta_magnitude,
    eta_squared,
    magnitude,
    overfitting,
)

pytest.importorskip("scipy")

# Table 5: TP, FP, TN, FN and the printed precision, recall, specificity, accuracy, F1, F2.
TABLE_5 = [
    ((5, 2, 4, 1), (0.71, 0.83, 0.67, 0.75, 0.77, 0.81)),
    ((4, 4, 2, 2), (0.50, 0.67, 0.33, 0.50, 0.57, 0.63)),
    ((2, 0, 6, 4), (1.00, 0.33, 1.00, 0.67, 0.50, 0.38)),
    ((6, 0, 6, 0), (1.00, 1.00, 1.00, 1.00, 1.00, 1.00)),
    ((4, 2, 4, 2), (0.67, 0.67, 0.67, 0.67, 0.67, 0.67)),
    ((3, 3, 3, 3), (0.50, 0.50, 0.50, 0.50, 0.50, 0.50)),
    ((99, 1, 0, 0), (0.99, 1.00, 0.00, 0.99, 0.99, 1.00)),
    ((98, 1, 0, 1), (0.99, 0.99, 0.00, 0.98, 0.99, 0.99)),
    ((0, 0, 99, 1), (None, 0.00, 1.00, 0.99, None, None)),
    ((0, 1, 98, 1), (0.00, 0.00, 0.99, 0.98, None, None)),
]


@pytest.mark.parametrize(("counts", "printed"), TABLE_5)
def test_table_5(counts: tuple[int, int, int, int], printed: tuple[float | None, ...]) -> None:
    one = BinaryConfusion(*counts)
    values = (one.precision, one.recall, one.specificity, one.accuracy, one.f1, one.f_beta(2))
    rounded = tuple(value and pytest.approx(value, abs=0.005 + 1e-9) for value in values)
    assert printed == rounded


def test_pooling_adds_up_counts() -> None:
    folds = [BinaryConfusion(1, 2, 3, 4), BinaryConfusion(10, 20, 30, 40)]
    assert pool(folds) == BinaryConfusion(11, 22, 33, 44)
    assert pool([]).f1 is None


def test_the_example_of_overfitting_and_degradation() -> None:
    """S8: training, validation and four test sets of Table 5."""
    right = [BinaryConfusion(*counts).accuracy or 0 for counts, _ in TABLE_5]
    training, validation, *tests = right[:6]
    over = overfitting(training, tests)
    assert (round(over.mean, 2), over.test_sets) == (-0.04, 4)
    down = degradation([validation], tests)
    assert (round(down.difference, 2), down.test, down.p) == (0.21, "difference", None)


def test_magnitudes_of_tables_11_and_14() -> None:
    named = [magnitude(d) for d in (0.059, 0.37, 2.152, 0.683, 0.134, -0.778)]
    assert named == ["none", "small", "large", "medium", "none", "medium"]
    assert [eta_magnitude(eta) for eta in (0.686, 0.11, 0.126, 0.059, 0.009)] == [
        "large",
        "medium",
        "medium",
        "small",
        "none",
    ]


def samples(u: int, *, ties: bool = False) -> tuple[list[float], list[float]]:
    """Return scores of ten folds and of seven projects that give U; ties are three zeros."""
    folds = [float(10 * at) for at in range(1, 11)]
    if u == 0:
        return folds, [0.0] * 3 * ties + [at / 10 for at in range(3 * ties, 7)]
    above, rest = divmod(u, 10)
    projects = [at / 10 for at in range(7 - above - 1)]
    return folds, [*projects, 10.0 * rest + 5, *(1000.0 + at for at in range(above))]


@pytest.mark.parametrize(
    ("u", "eta", "named"), [(0, 0.686, "large"), (21, 0.11, "medium"), (20, 0.126, "medium")]
)
def test_eta_squared_of_table_14(u: int, eta: float, named: str) -> None:
    """All of them come from Mann-Whitney's U of ten folds and seven projects, uncorrected."""
    assert round(eta_squared(u, 7, 10), 3) == eta
    assert eta_magnitude(eta) == named
    folds, projects = samples(u, ties=True)
    result = degradation(folds, projects, ranks=True)
    assert result.eta_squared is not None
    assert round(result.eta_squared, 3) == eta
    assert result.test == "mann-whitney u"


def test_p_values_of_table_14() -> None:
    """Exact without ties (Voc: 0.193, 0.161); 0.001 is that of U = 0 with two to four zeros."""
    for u, ties, p in ((21, False, 0.193), (20, False, 0.161), (0, True, 0.001)):
        result = degradation(*samples(u, ties=ties), ranks=True)
        assert result.p is not None
        assert round(result.p, 3) == p
    exact = degradation(*samples(0), ranks=True).p
    assert exact == pytest.approx(2 / math.comb(17, 7))

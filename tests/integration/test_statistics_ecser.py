"""ECSER's own numbers: what comes out of its printed tables, and what cannot."""

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

# Table 9: TP, FP, TN, FN.
TABLE_9 = {
    ("isF", "ling17"): ((229, 83, 232, 81), (1009, 321, 365, 194)),
    ("isF", "km500"): ((306, 6, 309, 4), (655, 185, 501, 548)),
    ("isF", "norbert"): ((301, 10, 305, 9), (940, 159, 527, 263)),
    ("isQ", "ling17"): ((315, 60, 183, 67), (673, 258, 495, 463)),
    ("isQ", "km500"): ((382, 5, 238, 0), (806, 377, 376, 330)),
    ("isQ", "norbert"): ((382, 27, 216, 0), (998, 362, 391, 138)),
}
# Table 10: training, test mean and sd, overfitting; precision, recall, F1.
TABLE_10 = {
    ("isF", "ling17"): ((73, 74, 23, 1), (74, 82, 11, 8), (74, 75, 11, 1)),
    ("isF", "km500"): ((98, 76, 22, -22), (99, 55, 13, -44), (98, 61, 9, -38)),
    ("isF", "norbert"): ((97, 83, 21, -14), (97, 79, 16, -19), (97, 79, 9, -18)),
    ("isQ", "ling17"): ((84, 63, 19, -21), (82, 57, 13, -26), (80, 62, 9, -18)),
    ("isQ", "km500"): ((99, 61, 23, -38), (100, 67, 15, -33), (99, 60, 12, -39)),
    ("isQ", "norbert"): ((93, 67, 18, -27), (100, 83, 17, -17), (96, 71, 13, -25)),
}
METRICS = ("precision", "recall", "f1")
# Table 13: training, validation, tests.
TABLE_13 = {
    "FF": ((449, 1, 15947, 0), (348, 143, 15805, 101), (14, 134, 5057, 344)),
    "Voc": ((401, 2655, 13293, 48), (344, 2515, 13433, 105), (120, 1669, 3522, 238)),
    "VocFF": ((449, 1, 15947, 0), (354, 121, 15827, 95), (29, 114, 5077, 329)),
}
# Table 14: training, validation mean, test mean and sd, overfitting; precision, recall, F1.
TABLE_14 = {
    "FF": ((100, 71, 9, 19, -91), (100, 78, 5, 7, -95), (100, 74, 3, 4, -97)),
    "Voc": ((13, 12, 15, 17, 1), (89, 77, 34, 18, -55), (23, 21, 16, 15, -7)),
    "VocFF": ((100, 75, 12, 23, -87), (100, 79, 5, 6, -95), (100, 77, 6, 9, -94)),
}


def metric(name: str, counts: tuple[int, int, int, int]) -> float:
    value = getattr(BinaryConfusion(*counts), name)
    assert isinstance(value, float)
    return value


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


def test_training_scores_of_table_10() -> None:
    """16 of 18 come out of Table 9; two F1 scores are printed too low, one of them by 0.03."""
    recomputed = {
        (key, name): (round(100 * metric(name, TABLE_9[key][0])), printed)
        for key, columns in TABLE_10.items()
        for name, (printed, *_) in zip(METRICS, columns, strict=True)
    }
    assert {key: pair for key, pair in recomputed.items() if pair[0] != pair[1]} == {
        (("isQ", "ling17"), "f1"): (83, 80),
        (("isQ", "norbert"), "f1"): (97, 96),
    }
    assert len(recomputed) == 18


def test_pooled_scores_are_not_the_printed_means() -> None:
    """Table 10 averages over 13 projects that it does not list; only the sums are printed.

    Pooled, the same answers score up to 0.095 higher than the printed means.
    """
    apart = {
        (key, name): round(100 * metric(name, TABLE_9[key][1]) - test, 1)
        for key, columns in TABLE_10.items()
        for name, (_, test, _, _) in zip(METRICS, columns, strict=True)
    }
    assert max(apart, key=lambda key: apart[key]) == (("isQ", "km500"), "f1")
    assert (max(apart.values()), min(apart.values())) == (9.5, -0.9)


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


def test_training_and_pooled_test_scores_of_table_14() -> None:
    for model, columns in TABLE_14.items():
        training, _, test = TABLE_13[model]
        assert (sum(training), training[0] + training[3]) == (16397, 449)
        assert (sum(test), test[0] + test[3]) == (5549, 358)
        for name, (printed, *_) in zip(METRICS, columns, strict=True):
            assert round(100 * metric(name, training)) == printed, (model, name)
    apart = {
        model: round(100 * metric("f1", TABLE_13[model][2])) - TABLE_14[model][2][2]
        for model in TABLE_14
    }
    assert apart == {"FF": 3, "Voc": -5, "VocFF": 6}

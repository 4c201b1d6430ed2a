"""ECSER's own numbers: what comes out of its printed tables, and what cannot."""

from __future__ import annotations

import math
from itertools import product

import pytest

from goldpan.evaluation.metrics.curves import BinaryConfusion, points
from goldpan.evaluation.statistics.effects import (
    degradation,
    eta_magnitude,
    eta_squared,
    magnitude,
    overfitting,
)

pytest.importorskip("scipy")

# Table 5: TP, FP, TN, FN of six data sets of 12.
TABLE_5 = ((5, 2, 4, 1), (4, 4, 2, 2), (2, 0, 6, 4), (6, 0, 6, 0), (4, 2, 4, 2), (3, 3, 3, 3))
# Table 7: size, functional, quality.
TABLE_7 = {
    "Dronology": (97, 94, 28),
    "DUAP": (148, 138, 110),
    "ERec mgmt": (228, 163, 149),
    "ESA": (236, 91, 211),
    "Helpdesk": (172, 143, 51),
    "Leeds Library": (85, 44, 61),
    "NFR-Examples": (130, 15, 117),
    "OAppT": (140, 84, 53),
    "PROMISE NFR": (625, 310, 382),
    "RepReq": (99, 40, 47),
    "ReqView": (87, 75, 32),
    "Streaming": (291, 135, 233),
    "User mgmt": (138, 126, 25),
    "WASP": (62, 55, 19),
}
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
# Table 11: Cohen's d of ling17 and km500, ling17 and norbert, km500 and norbert.
TABLE_11 = {
    ("isF", "precision"): (0.059, 0.37, 0.314),
    ("isF", "recall"): (2.152, 0.236, 1.528),
    ("isF", "f1"): (1.39, 0.43, 1.989),
    ("isQ", "recall"): (0.683, 1.659, 0.977),
    ("isQ", "f1"): (0.134, 0.778, 0.807),
}
PAIRS = (("ling17", "km500"), ("ling17", "norbert"), ("km500", "norbert"))
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
    (point,) = points("m", {"d": BinaryConfusion(*counts)})
    precision, recall = point.precision, point.recall
    assert precision is not None
    assert recall is not None
    both = {"precision": precision, "recall": recall}
    return both.get(name, 2 * precision * recall / (precision + recall))


def accuracy(counts: tuple[int, int, int, int]) -> float:
    tp, _, tn, _ = counts
    return (tp + tn) / sum(counts)


def test_the_example_of_overfitting_and_degradation() -> None:
    """S8: training, validation and four test sets of Table 5."""
    training, validation, *tests = map(accuracy, TABLE_5)
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


def test_overfitting_of_table_10_fits_its_own_rounding() -> None:
    """Test minus training, of numbers that were rounded after: off by 0.01 at most."""
    apart = [
        (test - training) - printed
        for columns in TABLE_10.values()
        for training, test, _, printed in columns
    ]
    assert {abs(difference) for difference in apart} <= {0, 1}
    assert sum(difference != 0 for difference in apart) == 4


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


def test_table_7_and_table_9_count_different_requirements() -> None:
    """13 test projects have 1,913 requirements in Table 7, and 1,889 answers in Table 9."""
    sizes = [sum(column) for column in zip(*TABLE_7.values(), strict=True)]
    assert sizes == [2538, 1513, 1518]
    train = TABLE_7["PROMISE NFR"]
    tested = [size - part for size, part in zip(sizes, train, strict=True)]
    assert tested == [1913, 1203, 1136]
    for (task, _), (training, test) in TABLE_9.items():
        positives = tested[1] if task == "isF" else tested[2]
        assert sum(training) == train[0]
        assert (sum(test), test[0] + test[3]) == (1889, positives)


def test_effect_sizes_of_table_11_fit_the_rounded_table_10() -> None:
    """With means and deviations printed to two decimals, d is known within a range only.

    All 15 lie in it. The p values cannot be had: scores of single projects are not printed.
    """
    inside = 0
    for (task, name), printed in TABLE_11.items():
        column = METRICS.index(name)
        for (first, second), d in zip(PAIRS, printed, strict=True):
            low, high = d_range(
                TABLE_10[task, first][column][1:3], TABLE_10[task, second][column][1:3]
            )
            assert low <= d <= high, (task, name, first, second, low, high)
            inside += 1
    assert inside == 15


def d_range(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[float, float]:
    """Return the smallest and largest |d| of numbers that round to these hundredths."""
    effects = [
        abs((first[0] + a) - (second[0] + b))
        / math.sqrt(((first[1] + c) ** 2 + (second[1] + e) ** 2) / 2)
        for a, b, c, e in product((-0.5, 0, 0.5), repeat=4)
    ]
    return min(effects), max(effects)


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


def test_overfitting_of_table_14_fits_its_own_rounding() -> None:
    apart = {
        (model, name): (test - training) - over
        for model, columns in TABLE_14.items()
        for name, (training, _, test, _, over) in zip(METRICS, columns, strict=True)
    }
    assert {key: difference for key, difference in apart.items() if difference} == {
        ("Voc", "precision"): 1,
        ("VocFF", "precision"): -1,
    }

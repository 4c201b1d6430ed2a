"""Drawings of comparisons and curves."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from goldpan.evaluation.metrics.curves import BinaryConfusion, Point, points, pr_curve, roc_curve
from goldpan.evaluation.statistics.comparison import Comparison
from goldpan.evaluation.statistics.decide import compare
from goldpan.evaluation.statistics.scores import RunScore, StatisticsError, score_matrix
from goldpan.report.comparison.plots import (
    critical_difference_plot,
    decision_plot,
    interval_plot,
    posterior_plot,
    pr_plot,
    roc_plot,
)

pytest.importorskip("scipy")
HOSTILE = "<script>&\u202e\x00$x_1$ " + "long " * 30
MODELS = ("tfidf", "bert", "dummy")


def comparison(approach: str = "bayesian") -> Comparison:
    random = np.random.default_rng(0)
    scores = [
        RunScore(model, f"test {at}", 1, 0.7 - 0.1 * row + float(random.normal(0, 0.01)))
        for row, model in enumerate(MODELS)
        for at in range(6)
    ]
    return compare(score_matrix(scores, "macro_f1"), approach=approach, samples=2000)  # type: ignore[arg-type]


def drawings() -> dict[str, str]:
    normal = comparison("frequentist")
    scores = [
        RunScore(model, f"t{at}", 0, 0.9 - index / 10 + at / 50)
        for index, model in enumerate((HOSTILE, "b", "c", "d"))
        for at in range(8)
    ]
    matrix = score_matrix(scores, "f1")
    ranked = compare(matrix, approach="frequentist", choice="nonparametric")
    shown = points(
        HOSTILE, {"one": BinaryConfusion(5, 2, 4, 1), "two": BinaryConfusion(4, 4, 2, 2)}
    )
    curve = roc_curve(HOSTILE, "one", [True, False, True], [0.9, 0.5, 0.4])
    return {
        "posterior": posterior_plot(comparison()),
        "intervals": interval_plot(normal),
        "decisions": decision_plot(ranked),
        "critical difference": critical_difference_plot(ranked),
        "roc": roc_plot(shown, (curve,)),
        "pr": pr_plot(shown, ()),
        "nothing": roc_plot((), ()),
    }


def test_drawings_are_whole_svg_with_the_same_bytes_and_harmless_names() -> None:
    first, second = drawings(), drawings()
    for name, svg in first.items():
        assert svg == second[name], name
        root = ET.fromstring(svg)
        assert root.tag.endswith("svg")
        assert "<script" not in svg
        assert "\u202e" not in svg
        assert "<dc:date>" not in svg
    assert "&lt;script" in first["roc"]
    assert "critical difference" in first["critical difference"]


def test_points_know_what_divides_by_zero() -> None:
    never, other, pooled = points(
        "m", {"a": BinaryConfusion(0, 0, 9, 1), "b": BinaryConfusion(3, 1, 5, 1)}
    )
    assert never == Point("m", "a", recall=0.0, false_positive_rate=0.0, precision=None)
    assert other.precision == 0.75
    assert (pooled.dataset, pooled.recall) == ("pooled", 0.6)
    assert "pooled" in roc_plot((never, other, pooled), ())


def test_a_curve_needs_both_kinds_and_a_score_each() -> None:
    with pytest.raises(StatisticsError, match="d has 2 positives among 2 examples"):
        roc_curve("m", "d", [True, True], [0.1, 0.2])
    with pytest.raises(StatisticsError, match="d has 2 labels and 1 scores"):
        pr_curve("m", "d", [True, False], [0.1, float("nan")])

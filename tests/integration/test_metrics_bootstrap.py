"""Bootstrap intervals: seeded, clustered by project, wide enough, and fast."""

from __future__ import annotations

import time

import numpy as np
import pytest

from goldpan.evaluation.metrics.estimate import estimate, means, resample
from tests.scoring import make_task, scored

LABELS = ("bug", "feature", "question")
TASK = make_task("multi-class", LABELS)


def interval(values: list[float], repos: list[str | None], *, seed: int = 0) -> tuple[float, float]:
    drawing = resample(repos, seed=seed, resamples=2_000)
    (metric,) = estimate([means({"mean": np.array(values)})], drawing)
    assert metric.interval
    return metric.interval.low, metric.interval.high


def test_the_interval_of_a_mean_is_what_theory_says() -> None:
    values = np.random.default_rng(1).normal(size=400).tolist()
    low, high = interval(values, [None] * 400)
    half = 1.96 * np.std(values) / 20
    assert (low, high) == pytest.approx(
        (np.mean(values) - half, np.mean(values) + half), abs=half / 5
    )


def test_projects_are_drawn_as_a_whole() -> None:
    """All examples of a project agree, so 8 projects tell as much as 8 examples."""
    values = [float(project % 2) for project in range(8) for _ in range(50)]
    repos: list[str | None] = [f"o/r{project}" for project in range(8) for _ in range(50)]
    clustered, plain = interval(values, repos), interval(values, [None] * 400)
    eight = interval(values[::50], [None] * 8)
    assert clustered == pytest.approx(eight, abs=0.13)
    assert clustered[1] - clustered[0] > 4 * (plain[1] - plain[0])


def test_examples_without_a_project_are_drawn_alone() -> None:
    drawing = resample(["a", "b", "a", None, None, ""], seed=0, resamples=10)
    assert (drawing.unit, drawing.units) == ("project", 5)
    assert drawing.unit_of.tolist() == [0, 1, 0, 2, 3, 4]
    for repos in ([None, None], ["a", "a"], ["a", None]):
        alone = resample(repos, seed=0, resamples=10)
        assert (alone.unit, alone.units) == ("example", 2)


def test_the_seed_decides() -> None:
    values = np.random.default_rng(2).normal(size=100).tolist()
    repos: list[str | None] = [None] * 100
    assert interval(values, repos, seed=5) == interval(values, repos, seed=5)
    assert interval(values, repos, seed=5) != interval(values, repos, seed=6)


def test_every_draw_has_as_many_units_as_there_are() -> None:
    drawing = resample([None] * 3_000, seed=0, resamples=3_000)
    draws = list(drawing.draws())
    assert sum(len(weights) for weights in draws) == 3_000
    assert len(draws) > 1
    assert all((weights.sum(axis=1) == 3_000).all() for weights in draws)


def test_a_metric_that_most_draws_leave_undefined_has_no_interval() -> None:
    truths = answers = ["bug"] * 200 + ["question"]
    scores = [[0.9, 0.1, 0.0]] * 200 + [[0.1, 0.0, 0.9]]
    result = scored(TASK, truths, answers, resamples=200, scores=scores)
    recall = result.metric("recall", "question")
    assert recall.value == 1 and recall.interval  # 63 % of draws hold the one question
    few = ["bug", "bug", "question"]
    rare = scored(TASK, few, few, resamples=200, repos=["a", "b", "b"]).metric("mcc")
    assert rare.interval is not None or "undefined in" in rare.reason


def test_one_example_has_no_interval() -> None:
    metric = scored(TASK, ["bug"], ["bug"], resamples=10).metric("accuracy")
    assert (metric.value, metric.interval) == (1, None)
    assert metric.reason == "no interval: fewer than two units"


@pytest.mark.nightly
def test_ten_thousand_rows_take_seconds() -> None:
    generator = np.random.default_rng(0)
    names = [LABELS[number] for number in generator.integers(0, 3, 10_000)]
    scores = generator.random((10_000, 3)).tolist()
    start = time.process_time()
    result = scored(TASK, names, names[::-1], resamples=1_000, scores=scores)
    assert time.process_time() - start < 60  # it takes about 4
    metric = result.metric("macro_f1")
    assert metric.interval and metric.value
    assert metric.interval.low < metric.value < metric.interval.high

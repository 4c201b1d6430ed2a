"""Bootstrap intervals: seeded, clustered by project, wide enough, and fast."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from goldpan.evaluation.metrics.estimate import estimate, means, resample
from goldpan.evaluation.score import score
from goldpan.evaluation.units import Units, units_of
from tests.scoring import make_predictions, make_task, scored

LABELS = ("bug", "feature", "question")
TASK = make_task("multi-class", LABELS)


def units(repos: Sequence[str | None], documents: Sequence[str | None] = ()) -> Units:
    ids = [str(at) for at in range(len(repos))]
    return units_of(ids, repos, documents or [None] * len(repos))


def interval(values: list[float], repos: list[str | None], *, seed: int = 0) -> tuple[float, float]:
    drawing = resample(units(repos), seed=seed, resamples=2_000)
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
    """All examples of a project agree, so 12 projects tell as much as 12 examples."""
    values = [float(project % 2) for project in range(12) for _ in range(50)]
    repos: list[str | None] = [f"o/r{project}" for project in range(12) for _ in range(50)]
    clustered, plain = interval(values, repos), interval(values, [None] * 600)
    twelve = interval(values[::50], [None] * 12)
    assert clustered == pytest.approx(twelve, abs=0.1)
    assert clustered[1] - clustered[0] > 4 * (plain[1] - plain[0])


def test_one_rule_says_what_is_drawn() -> None:
    """Projects where there are ten, else documents, else rows; scores and comparisons share it."""
    ten = [f"o/r{at % 10}" for at in range(40)]
    some: list[str | None] = [f"d{at // 2}" for at in range(40)]
    for repos, documents, kind, many in (
        (ten, some, "projects", 10),
        ([*ten[:38], None, ""], some, "projects", 12),
        (ten[:9] * 4, [f"d{at % 18}" for at in range(36)], "documents", 18),
        (ten[:3] * 10, [f"d{at}" for at in range(30)], "rows", 30),
        (["o/r"] * 4, ["a", "a", "b", None], "documents", 3),
        ([None] * 4, [None] * 4, "rows", 4),
        ([], [], "rows", 0),
    ):
        found = units(repos, documents)
        assert (found.kind, len(set(found.names))) == (kind, many)
        assert resample(found, seed=0, resamples=1).units == many
    table = make_predictions("multi-class", ["bug"] * 9, ["bug"] * 9, repos=ten[:9])
    scores = score(TASK, table)
    assert (scores.unit, scores.units, scores.projects) == ("rows", 9, 9)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_few_documents_have_a_wide_interval_or_none(count: int) -> None:
    """Percentiles of the draws of five documents cover four fifths where they say 95%."""
    truths = [LABELS[at % 3] for at in range(60)]
    wrong = np.random.default_rng(2).random(60) < 0.3
    answers = [LABELS[(at + bool(wrong[at])) % 3] for at in range(60)]
    table = make_predictions("multi-class", truths, answers)
    documents = pa.array([f"d{at % count}" for at in range(60)])
    at = table.schema.get_field_index("document")
    metric = score(TASK, table.set_column(at, "document", documents)).metric("accuracy")
    if count == 1:
        assert (metric.interval, metric.reason) == (
            None,
            "no interval: of 1 document there is none",
        )
        return
    by_document = [
        [t == a for t, a in zip(truths[d::count], answers[d::count], strict=True)]
        for d in range(count)
    ]
    shares = [np.mean(rows) for rows in by_document]
    half = {2: 9.7, 5: 2.77}[count] * np.std(shares, ddof=1) / np.sqrt(count)
    assert metric.interval and metric.value
    assert metric.interval.low == pytest.approx(max(0.0, metric.value - half), abs=0.02)
    assert metric.interval.high == pytest.approx(min(1.0, metric.value + half), abs=0.02)


def test_draws_that_are_all_the_same_are_no_certainty() -> None:
    task = make_task("regression")
    for metric in scored(task, [1.0, 2.0] * 9, [1.0, 2.0] * 9, resamples=99).metrics:
        assert (metric.interval, metric.reason) == (
            None,
            "no interval: all draws have the same value",
        )


def test_units_of_unequal_size_count_as_fewer() -> None:
    values = np.random.default_rng(3).random(12)
    sizes = [200] * 2 + [5] * 10
    repos: list[str | None] = [f"o/r{at}" for at, size in enumerate(sizes) for _ in range(size)]
    drawing = resample(units(repos), seed=0, resamples=100)
    assert (drawing.units, round(drawing.alike, 1)) == (12, 2.5)
    low, high = interval([values[at] for at, size in enumerate(sizes) for _ in range(size)], repos)
    assert low <= values.min() + 0.05 and high >= values[:2].max()


@pytest.mark.parametrize(("right", "low", "high"), [(8, 0.63, 1.0), (0, 0.0, 0.37)])
def test_all_right_or_all_wrong_is_no_certainty(right: int, low: float, high: float) -> None:
    """Eight of eight: Clopper and Pearson's interval begins at 63%."""
    answers = ["bug"] * right + ["feature"] * (8 - right)
    metric = scored(TASK, ["bug"] * 8, answers, resamples=200).metric("accuracy")
    assert metric.interval
    assert (metric.interval.low, metric.interval.high) == pytest.approx((low, high), abs=0.005)


def test_a_label_that_a_draw_lacks_does_not_count_there() -> None:
    """Without a row of it, right or answered, its F1 is no 0: a perfect model is perfect."""
    truths = ["bug", "feature"] * 30 + ["question"]
    scores = scored(TASK, truths, truths, resamples=300)
    for name in ("f1", "precision", "recall", "specificity", "jaccard"):
        metric = scores.metric(f"macro_{name}")
        assert metric.value == 1 and metric.interval
        assert 0.9 < metric.interval.low <= metric.interval.high == 1


def test_a_part_of_a_test_is_scored_on_the_labels_that_it_has() -> None:
    """Scikit-learn's default: the labels that occur, right or answered."""
    sklearn = pytest.importorskip("sklearn.metrics")
    truths, answers = ["bug", "bug", "feature"], ["bug", "feature", "feature"]
    table = make_predictions("multi-class", truths, answers)
    for part, labels in ((True, None), (False, LABELS)):
        for name in ("f1", "precision", "recall"):
            expected = getattr(sklearn, f"{name}_score")(
                truths, answers, labels=labels, average="macro", zero_division=0
            )
            scores = score(TASK, table, resamples=0, part=part)
            assert scores.value(f"macro_{name}") == pytest.approx(expected)
    several = make_task("multi-label", LABELS)
    one = make_predictions("multi-label", [["bug"], []], [["bug"], []])
    assert score(several, one, resamples=0, part=True).value("macro_f1") == 1
    assert score(several, one, resamples=0).value("macro_f1") == pytest.approx(1 / 3)
    none = make_predictions("multi-label", [[], []], [[], []])
    assert score(several, none, resamples=0, part=True).value("macro_f1") is None


def test_a_metric_that_most_draws_leave_undefined_has_no_interval() -> None:
    truths = answers = ["bug"] * 200 + ["question"]
    scores = [[0.9, 0.1, 0.0]] * 200 + [[0.1, 0.0, 0.9]]
    result = scored(TASK, truths, answers, resamples=200, scores=scores)
    recall = result.metric("recall", "question")
    assert recall.value == 1 and recall.interval  # 63% of draws hold the one question
    few = ["bug"] * 6 + ["question"]
    rare = scored(TASK, few, ["bug"] * 7, resamples=200).metric("precision", "question")
    assert (rare.value, rare.reason) == (None, "the label was never answered")
    two = scored(TASK, few * 8, ["bug"] * 55 + ["question"], resamples=200)
    assert two.metric("precision", "question").interval is not None


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

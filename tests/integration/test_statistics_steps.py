"""The ten ECSER steps and their drawings."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from dataclasses import asdict, replace

import numpy as np
import pytest

from goldpan.evaluation.statistics.compare import compare
from goldpan.evaluation.statistics.comparison import Comparison
from goldpan.evaluation.statistics.curves import Counts, Point, points, pr_curve, roc_curve
from goldpan.evaluation.statistics.errors import StatisticsError
from goldpan.evaluation.statistics.plots import (
    critical_difference_plot,
    decision_plot,
    interval_plot,
    posterior_plot,
    pr_plot,
    roc_plot,
)
from goldpan.evaluation.statistics.scores import Score, score_matrix
from goldpan.evaluation.statistics.step_shapes import Figure, Table, Text
from goldpan.evaluation.statistics.steps import Step, steps
from goldpan.evaluation.statistics.study import Part, Result, Split, Study, Training

pytest.importorskip("scipy")
HOSTILE = "<script>&\u202e\x00$x_1$ " + "long " * 30
MODELS = ("tfidf", "bert", "dummy")
PARTS: tuple[tuple[Part, float, int], ...] = (
    ("train", 0.95, 1),
    ("validation", 0.8, 4),
    ("test", 0.7, 6),
)


def result(model: str, part: Part, dataset: str, score: float) -> Result:
    tp = round(50 * score)
    return Result(
        model=model,
        task="issue_type",
        seed=1,
        part=part,
        dataset=dataset,
        metrics={"macro_f1": score, "accuracy": score},
        counts={"bug": Counts(tp, 50 - tp, tp, 50 - tp)},
    )


def study() -> Study:
    random = np.random.default_rng(0)
    truth = (random.random(60) < 0.5).tolist()
    scores = random.normal(size=60).tolist()
    return Study(
        metric="macro_f1",
        splits=(
            Split("issue_type", "holdout", {"train": 80, "validation": 10, "test": 10}, 42, "abc"),
        ),
        trainings=tuple(
            Training(
                model=model,
                task="issue_type",
                seed=1,
                trained_on=80,
                settings={"C": "1.0"},
                tuned_on="" if model == "dummy" else "validation",
                candidates=8,
                retrained=model == "tfidf",
            )
            for model in MODELS
        ),
        results=tuple(
            result(model, part, f"{part} {at}", base - 0.1 * place + float(random.normal(0, 0.01)))
            for place, model in enumerate(MODELS)
            for part, base, many in PARTS
            for at in range(many)
        ),
        roc=(roc_curve("tfidf", "pooled", truth, scores),),
        pr=(pr_curve("tfidf", "pooled", truth, scores),),
    )


def comparison(approach: str = "bayesian") -> Comparison:
    scores = [
        Score(one.model, one.dataset, one.seed, one.metrics["macro_f1"])
        for one in study().results
        if one.part == "test"
    ]
    return compare(score_matrix(scores, "macro_f1"), approach=approach, samples=2000)  # type: ignore[arg-type]


def table(step: Step, title: str) -> Table:
    (found,) = [
        one for one in step.content if isinstance(one, Table) and one.title.startswith(title)
    ]
    return found


def test_all_ten_are_done_in_order_and_can_be_stored() -> None:
    found = steps(study(), comparison())
    assert [one.number for one in found] == list(range(1, 11))
    assert [one.optional for one in found] == [n in (3, 4, 10) for n in range(1, 11)]
    assert {one.state for one in found} == {"done"}
    assert all(one.content and not one.reason for one in found)
    stored = json.dumps([asdict(one) for one in found], allow_nan=False, sort_keys=True)
    again = steps(study(), comparison())
    assert stored == json.dumps([asdict(one) for one in again], allow_nan=False, sort_keys=True)


def test_what_the_steps_say() -> None:
    found = steps(study(), comparison())
    assert table(found[0], "How").rows[0][:5] == ("issue_type", "holdout", 80, 10, 10)
    assert [row[0] for row in table(found[2], "Chosen").rows] == ["bert", "tfidf"]
    assert Text("With settings fixed beforehand: dummy") in found[2].content
    assert [row[0] for row in table(found[3], "Trained").rows] == ["tfidf"]
    assert table(found[4], "Tested").rows[0] == ("bert", "issue_type", 1, 6, 0)
    summed = table(found[5], "Confusion").rows
    tests = [row for row in summed if row[1:3] == ("test", "tfidf")]
    assert sum(cell for cell in tests[0][4:] if isinstance(cell, int)) == 600
    over = {row[1]: row[2] for row in table(found[7], "Overfitting").rows}
    assert over["tfidf"] == pytest.approx(-0.25, abs=0.02)
    down = {row[1]: row for row in table(found[7], "Degradation").rows}
    assert down["tfidf"][2] == pytest.approx(-0.1, abs=0.02)
    assert down["tfidf"][6] == "large"
    titles = [one.title for one in found[8].content if isinstance(one, Figure)]
    assert titles == [
        "ROC: issue_type, bug",
        "Precision and recall: issue_type, bug",
        "ROC curves",
        "Precision-recall curves",
    ]
    assert table(found[9], "Ranking").rows[0][2] == "tfidf"


def test_what_is_missing_is_skipped_with_the_reason() -> None:
    found = steps(Study(metric="macro_f1"), "There is one model, so nothing to compare")
    assert {one.state for one in found} == {"skipped"}
    assert all(one.reason and not one.content for one in found)
    assert found[9].reason == "There is one model, so nothing to compare"
    other = steps(replace(study(), examples="other"), comparison())
    assert [one.number for one in other if one.state == "skipped"] == [6, 9]
    assert other[5].reason == "Only classification has confusion matrices"


def test_a_comparison_that_tested_nothing_is_a_skipped_step() -> None:
    scores = [Score(model, "one task", 1, at / 10) for at, model in enumerate(MODELS)]
    last = steps(study(), compare(score_matrix(scores, "f1")))[9]
    assert last.state == "skipped"
    assert last.reason.startswith("There is 1 task, and tests over tasks need 5")


def test_seeds_are_no_further_data_sets() -> None:
    """Two seeds of one test set give a difference, and nothing to test."""
    scores: tuple[tuple[Part, float], ...] = (("validation", 0.8), ("test", 0.7))
    results = tuple(
        replace(result("tfidf", part, "", score), seed=seed)
        for part, score in scores
        for seed in (1, 2)
    )
    step = steps(replace(study(), results=results), comparison())[7]
    (row,) = table(step, "Degradation").rows
    assert row[2] == pytest.approx(-0.1)
    assert row[3:5] == ("difference", None)
    assert any(
        isinstance(one, Text) and "Overfitting is unknown" in one.text for one in step.content
    )


def test_settings_that_the_test_set_chose_are_named() -> None:
    cheated = tuple(replace(one, tuned_on="the test split") for one in study().trainings)
    step = steps(replace(study(), trainings=cheated), comparison())[2]
    assert any(isinstance(one, Text) and "too high" in one.text for one in step.content)


def drawings() -> dict[str, str]:
    normal = comparison("frequentist")
    ranked = compare(
        score_matrix(
            [
                Score(model, f"t{at}", 0, 0.9 - place / 10 + at / 50)
                for place, model in enumerate((HOSTILE, "b", "c", "d"))
                for at in range(8)
            ],
            "f1",
        ),
        approach="frequentist",
        choice="nonparametric",
    )
    found = points(HOSTILE, {"one": Counts(5, 2, 4, 1), "two": Counts(4, 4, 2, 2)})
    curve = roc_curve(HOSTILE, "one", [True, False, True], [0.9, 0.5, 0.4])
    return {
        "posterior": posterior_plot(comparison()),
        "intervals": interval_plot(normal),
        "decisions": decision_plot(ranked),
        "critical difference": critical_difference_plot(ranked),
        "roc": roc_plot(found, (curve,)),
        "pr": pr_plot(found, ()),
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


def test_what_cannot_be_drawn_is_said() -> None:
    with pytest.raises(StatisticsError, match="has no critical difference"):
        critical_difference_plot(comparison())
    with pytest.raises(StatisticsError, match="no posterior probabilities"):
        posterior_plot(comparison("frequentist"))


def test_points_know_what_divides_by_zero() -> None:
    never, other, pooled = points("m", {"a": Counts(0, 0, 9, 1), "b": Counts(3, 1, 5, 1)})
    assert never == Point("m", "a", recall=0.0, false_positive_rate=0.0, precision=None)
    assert other.precision == 0.75
    assert (pooled.dataset, pooled.recall) == ("pooled", 0.6)
    assert "pooled" in roc_plot((never, other, pooled), ())


def test_a_curve_needs_both_kinds_and_a_score_each() -> None:
    with pytest.raises(StatisticsError, match="d has 2 positives among 2 examples"):
        roc_curve("m", "d", [True, True], [0.1, 0.2])
    with pytest.raises(StatisticsError, match="d has 2 labels and 1 scores"):
        pr_curve("m", "d", [True, False], [0.1, float("nan")])

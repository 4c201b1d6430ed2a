"""Scoring as a whole: every type of task, JSON, tables that are none, ablations and thirds."""

from __future__ import annotations

from typing import Any

import orjson
import pyarrow as pa
import pytest
from pydantic import TypeAdapter

from goldpan.core.errors import EvaluationError, UsageError
from goldpan.datasets.examples import CODE_EDIT, FAULT_LOCALIZATION, QA
from goldpan.datasets.task import TaskType
from goldpan.evaluation.metrics.estimate import Scores
from goldpan.evaluation.score import score
from goldpan.evaluation.slices import length_thirds, score_by_length
from goldpan.evaluation.task_input import MODULES, ablate, relative_change, without
from tests.scoring import make_predictions, make_task

CASES: list[tuple[TaskType, tuple[str, ...], list[Any], list[Any], str]] = [
    ("binary", ("yes", "no"), ["yes", "no"], ["yes", None], "f1"),
    ("multi-class", ("a", "b", "c"), ["a", "b"], ["a", "c"], "macro_f1"),
    ("multi-label", ("a", "b"), [["a"], []], [["a", "b"], None], "macro_f1"),
    ("regression", (), [1.0, 2.0], [1.5, None], "smape"),
    ("ner", ("O", "B-x"), [["O", "B-x"], ["O"]], [["O", "B-x"], None], "seqeval_f1"),
    ("mlm", (), [["send"], ["log"]], [["send"], None], "mlm_accuracy"),
    ("text-generation", (), ["a b c d", "e f"], ["a b c", None], "rouge_l"),
]


@pytest.mark.parametrize(("type_", "labels", "truths", "answers", "main"), CASES)
def test_every_type_has_its_main_metric_and_goes_through_json(
    type_: TaskType, labels: tuple[str, ...], truths: list[Any], answers: list[Any], main: str
) -> None:
    task = make_task(type_, labels, metric=main)
    scores = score(task, make_predictions(type_, truths, answers), resamples=20, seed=3)
    assert scores.value(scores.main) is not None
    assert (scores.examples, scores.seed, scores.resamples) == (2, 3, 20)
    assert scores.invalid == (None in answers)
    names = [(metric.name, metric.label) for metric in scores.metrics]
    assert len(set(names)) == len(names)
    assert all(metric.reason for metric in scores.metrics if metric.value is None)
    assert TypeAdapter(Scores).validate_json(orjson.dumps(scores)) == scores


@pytest.mark.parametrize(("type_", "labels", "truths", "answers", "main"), CASES)
def test_right_answers_score_best(
    type_: TaskType, labels: tuple[str, ...], truths: list[Any], answers: list[Any], main: str
) -> None:
    if type_ == "multi-class":
        truths = [*truths, "c"]
    if type_ == "multi-label":
        truths = [*truths, ["b"]]
    task = make_task(type_, labels, metric=main)
    scores = score(task, make_predictions(type_, truths, truths), resamples=0)
    best = scores.metric(main)
    assert best.value == pytest.approx(1 if best.higher_is_better else 0)


@pytest.mark.parametrize(("type_", "labels", "truths", "answers", "main"), CASES)
def test_without_examples_everything_is_undefined_with_a_reason(
    type_: TaskType, labels: tuple[str, ...], truths: list[Any], answers: list[Any], main: str
) -> None:
    for builder in ("", "fault-localization", "code-edit")[
        : 3 if type_ == "text-generation" else 1
    ]:
        task = make_task(type_, labels, builder=builder)
        scores = score(task, make_predictions(type_, [], []))
        assert scores.examples == scores.units == 0
        assert all(metric.value is None and metric.reason for metric in scores.metrics)


def test_unknown_metrics_are_named() -> None:
    scores = score(make_task("regression"), make_predictions("regression", [1.0], [1.0]))
    with pytest.raises(KeyError, match="macro_f1"):
        scores.value("macro_f1")


def test_tables_that_are_no_predictions_are_refused() -> None:
    task = make_task("binary", ("yes", "no"))
    table = make_predictions("binary", ["yes", "no"], ["yes", "no"])
    cases = {
        "lack the columns answer, raw": table.drop_columns(["answer", "raw"]),
        "do not have the columns of a binary": make_predictions("ner", [["O"]], [["O"]]),
        "hold 'made_up:000000' twice": pa.concat_tables([table, table]),
        "'maybe' is a right answer": make_predictions("binary", ["maybe"], ["yes"]),
    }
    for problem, wrong in cases.items():
        with pytest.raises(EvaluationError, match=problem):
            score(task, wrong)
    with pytest.raises(EvaluationError, match="not a finite number"):
        score(make_task("regression"), make_predictions("regression", [float("nan")], [1.0]))


def test_ablations_are_those_of_table_5() -> None:
    names = [without(CODE_EDIT, left_out).name for left_out in ([], *([name] for name in MODULES))]
    assert names == ["IT+IB+PT+PB", "IB+PT+PB", "IT+PT+PB", "IT+IB+PB", "IT+IB+PT"]


def test_the_code_can_be_left_out_too() -> None:
    assert without(CODE_EDIT, ["file_before", "title"]).removed == ("title", "file_before")
    with pytest.raises(UsageError, match="no part 'tree'"):
        without(QA, ["tree"])


def test_an_ablation_empties_its_module_and_nothing_else() -> None:
    rows = pa.table({"title": ["a", None], "body": ["b", "c"], "tree": ["d", "e"]})
    full, no_title = (without(FAULT_LOCALIZATION, removed) for removed in ([], ["title"]))
    assert ablate(rows, full) == rows
    assert ablate(rows, no_title).to_pydict() == {**rows.to_pydict(), "title": ["", ""]}
    with pytest.raises(EvaluationError, match="no column title"):
        ablate(rows.drop_columns(["title"]), no_title)


def test_the_changes_of_table_5() -> None:
    """Seed 003, Table 5: the score in full, without a module, and the printed change."""
    rows = [
        (0.0943, 0.0843, -0.1060),
        (0.1188, 0.0918, -0.2273),
        (0.1078, 0.0912, -0.1540),
        (0.1307, 0.1350, 0.0329),
        (0.6500, 0.4533, -0.3026),
        (0.5933, 0.3433, -0.4214),
        (0.5933, 0.6400, 0.0787),
        (0.3512, 0.3255, -0.0732),
        (0.3073, 0.2890, -0.0596),
    ]
    for full, part, printed in rows:
        assert relative_change(full, part) == pytest.approx(printed, abs=0.001)
    # Section 5.2 says 0.85 % of code editing without the body; that is without its title.
    assert relative_change(0.3073, 0.3047) == pytest.approx(-0.0085, abs=1e-4)
    assert relative_change(0.3073, 0.2923) == pytest.approx(-0.0488, abs=1e-4)
    assert relative_change(0, 0) is None


def test_thirds_are_even_and_ties_go_by_id() -> None:
    assert length_thirds({"c": 5, "a": 5, "b": 1, "d": 9}) == (("b", "a"), ("c",), ("d",))
    assert length_thirds({}) == ((), (), ())
    sizes = [len(third) for third in length_thirds({str(n): n % 7 for n in range(300)})]
    assert sizes == [100, 100, 100]


def test_scores_by_length() -> None:
    truths = ["a.py"] * 6
    answers = ["a.py", "a.py", "b.py", "a.py", "b.py", "b.py"]
    table = make_predictions("text-generation", truths, answers)
    task = make_task("text-generation", builder="fault-localization")
    lengths = {f"made_up:{number:06}": 100 * number for number in range(6)}
    thirds = score_by_length(task, table, lengths, resamples=0)
    shown = [(third.name, third.shortest, third.longest) for third in thirds]
    assert shown == [("short", 0, 100), ("medium", 200, 300), ("long", 400, 500)]
    assert [third.scores.value("exact_match") for third in thirds] == [1, 0.5, 0]
    with pytest.raises(EvaluationError, match="has no length"):
        score_by_length(task, table, {})
    with pytest.raises(EvaluationError, match="2 examples"):
        score_by_length(task, table.slice(0, 2), lengths)

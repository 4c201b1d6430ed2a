"""Predictions from elsewhere have the scores of runs, and scores that cannot be are told."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from goldpan.core.errors import EvaluationError
from goldpan.datasets.tasks.task import TaskType
from goldpan.evaluation.compare.compare import compare_file
from goldpan.evaluation.compare.question import ComparisonQuestion, ComparisonResult
from goldpan.evaluation.compare.result import Comparison
from goldpan.evaluation.compare.score_files import read_scores
from goldpan.evaluation.score import ranking_metric
from goldpan.report.comparison.words import sentences
from tests.scoring import make_task, scored

pytest.importorskip("scipy")


def compared(
    path: Path, rows: list[dict[str, Any]], metric: str = "", *, alpha: float = 0.05
) -> ComparisonResult:
    path.write_text(json.dumps(rows), encoding="utf-8")
    return compare_file(read_scores(path), ComparisonQuestion(alpha=alpha), metric=metric)


def ranking(result: ComparisonResult) -> Comparison:
    assert isinstance(result.comparison, Comparison)
    return result.comparison


def answered(truths: list[Any], **answers: list[Any]) -> list[dict[str, Any]]:
    return [
        {"model": model, "task": "t", "id": f"{at:03}", "truth": truth, "answer": answer}
        for model, given in answers.items()
        for at, (truth, answer) in enumerate(zip(truths, given, strict=True))
    ]


def means(result: ComparisonResult) -> dict[str, float]:
    return {standing.model: standing.mean for standing in ranking(result).standings}


def test_accuracy_is_the_share_of_right_rows(tmp_path: Path) -> None:
    """A mean over one against the rest says 0.80 where no row of ten classes is right."""
    truths = [f"c{at % 10}" for at in range(100)]
    none = [f"c{(at + 3) % 10}" for at in range(100)]
    half = [truth if at % 20 < 10 else none[at] for at, truth in enumerate(truths)]
    rows = answered(truths, none=none, half=half)
    assert means(compared(tmp_path / "a.json", rows, "accuracy")) == {"half": 0.5, "none": 0.0}
    rows = answered(truths, none=none, empty=[*half[:50], *[None] * 50])
    assert means(compared(tmp_path / "b.json", rows, "accuracy"))["empty"] == 0.3


LABELS = ("bug", "docs", "ui")
TAGS = ["O", "B-x", "I-x", "B-y"]


def labels(draw: random.Random) -> tuple[Any, Any]:
    return draw.choice(LABELS), draw.choice([*LABELS, "Bug", None])


def sets(draw: random.Random) -> tuple[Any, Any]:
    truth = [label for label in LABELS if draw.random() < 0.4]
    return truth, draw.choice([truth, truth[:1], ["ui"], [], None])


def numbers(draw: random.Random) -> tuple[Any, Any]:
    return draw.choice([0, 1, 2.5, 8]), draw.choice([1, 2.7, 8.0, "3"])


def tags(draw: random.Random) -> tuple[Any, Any]:
    truth = [draw.choice(TAGS) for _ in range(5)]
    return truth, draw.choice([truth, truth[::-1], ["O"] * 5, ["O"], None])


def texts(draw: random.Random) -> tuple[Any, Any]:
    truth = " ".join(draw.choices(["fix", "the", " crash", "now"], k=4))
    return truth, draw.choice([truth, f" {truth}", "fix", None])


@pytest.mark.parametrize(
    ("type_", "make", "metrics"),
    [
        ("multi-class", labels, ("accuracy", "macro_f1", "micro_f1", "weighted_f1", "mcc")),
        ("multi-class", labels, ("macro_recall", "macro_specificity", "hamming_loss")),
        ("multi-label", sets, ("accuracy", "macro_f1", "example_jaccard", "hamming_loss")),
        ("regression", numbers, ("smape", "mae", "valid_mae", "smape_score")),
        ("ner", tags, ("seqeval_f1", "strict_seqeval_f1", "token_accuracy", "token_micro_f1")),
        ("text-generation", texts, ("exact_match", "edit_similarity", "bleu", "rouge_l")),
    ],
)
def test_predictions_have_the_scores_of_runs(
    tmp_path: Path,
    type_: TaskType,
    make: Callable[[random.Random], tuple[Any, Any]],
    metrics: tuple[str, ...],
) -> None:
    draw = random.Random(8)
    pairs = [make(draw) for _ in range(60)]
    truths, answers = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    task = make_task(type_, LABELS if type_ in ("multi-class", "multi-label") else ())
    of_run = answers if type_ != "regression" else [float(answer) for answer in answers]
    run = scored(task, truths, of_run)
    for metric in metrics:
        result = compared(tmp_path / "x.json", answered(truths, some=answers, right=truths), metric)
        expected = ranking_metric(run.metric(metric))
        assert means(result)["some"] == pytest.approx(expected.value), metric
        assert ranking(result).leaders == ("right",)
        if metric != "mcc":
            assert ranking(result).decision("right", "some") == "better"
        if metric in ("mae", "smape"):
            assert result.metric == expected.name


def test_one_label_may_stand_alone_or_in_a_list(tmp_path: Path) -> None:
    rows = answered([["x"], ["y", "x"]] * 6, bare=["x", ["x", "y"]] * 6, none=["y", ""] * 6)
    assert means(compared(tmp_path / "many.json", rows)) == {"bare": 1.0, "none": 0.0}
    rows = answered(["x", "y"] * 6, listed=[["x"], ["y"]] * 6, several=[["x", "y"], "y"] * 6)
    assert means(compared(tmp_path / "one.json", rows, "accuracy")) == {
        "listed": 1.0, "several": 0.5
    }  # fmt: skip


def test_a_project_is_scored_on_its_own_labels(tmp_path: Path) -> None:
    rows = []
    for project, names in (("p", ("bug", "docs")), ("q", ("docs", "ui"))):
        for row in answered([*names] * 4, right=[*names] * 4, one=[names[0]] * 8):
            rows.append(row | {"project": project})
    assert means(compared(tmp_path / "x.json", rows))["right"] == 1.0


def test_the_answers_say_which_metric_fits(tmp_path: Path) -> None:
    for tag in ("B-x", "S-x", "U-x"):
        tagged = answered([["O", tag]] * 6, a=[["O", tag]] * 6, b=[["O", "O"]] * 6)
        assert compared(tmp_path / "ner.json", tagged).metric == "seqeval_f1"
    many = [f"text {at}" for at in range(30)]
    with pytest.raises(EvaluationError, match=r"hardly labels.* Name the metric"):
        compared(tmp_path / "text.json", answered(many, a=many, b=many))
    assert compared(tmp_path / "f1.json", answered(many, a=many, b=many), "f1").metric == "f1"
    with pytest.raises(EvaluationError, match="'few', which is not a number"):
        compared(tmp_path / "n.json", answered(["1", "few"], a=["1", "2"], b=["1", "1"]), "mae")
    with pytest.raises(EvaluationError, match=r"b on t, seed 0, has no -mae: 1 of 2 answers"):
        compared(tmp_path / "m.json", answered(["1", "2"], a=["1", "2"], b=["1", ""]), "mae")
    with pytest.raises(EvaluationError, match="has lists among its truths"):
        compared(tmp_path / "l.json", answered(["x", ["x"]], a=["x", "x"], b=["x", "x"]))


def counts(**labels: tuple[int, int, int, int]) -> list[dict[str, Any]]:
    return [
        {
            "model": model,
            "task": "t",
            "label": label,
            **dict(zip(("tp", "fp", "tn", "fn"), row, strict=True)),
        }
        for model in "ab"
        for label, row in labels.items()
    ]


def test_labels_that_do_not_occur_count_for_nothing(tmp_path: Path) -> None:
    absent = counts(x=(2, 0, 2, 0), y=(2, 0, 2, 0), z=(0, 0, 4, 0))
    assert means(compared(tmp_path / "z.json", absent))["a"] == 1.0
    with pytest.raises(EvaluationError, match="Counts give no accuracy"):
        compared(tmp_path / "x.json", absent, "accuracy")


def plain(**values: float) -> list[dict[str, Any]]:
    return [{"model": model, "task": "t", "score": value} for model, value in values.items()]


@pytest.mark.parametrize(
    ("metric", "values", "problem"),
    [
        ("accuracy", {"a": 0.85, "b": 87.0}, "has 87 as the accuracy of b on t.* from 0 to 1"),
        ("accuracy", {"a": 0.85, "b": -0.1}, "has -0.1 as the accuracy of b"),
        ("macro-F1", {"a": 1.02, "b": 0.1}, "has 1.02 as the macro-F1 of a"),
        ("MCC", {"a": -1.5, "b": 0.1}, "from -1 to 1"),
    ],
)
def test_scores_that_no_metric_has_are_refused(
    tmp_path: Path, metric: str, values: dict[str, float], problem: str
) -> None:
    with pytest.raises(EvaluationError, match=problem):
        compared(tmp_path / "x.json", plain(**values), metric)


def test_only_scores_of_a_known_scale_are_about_equal(tmp_path: Path) -> None:
    """Story points that differ by 0.01 say nothing where errors are of 0.001, or of 100."""
    truths = [0.001 * (at % 7) for at in range(400)]
    near = [truth + 0.0001 for truth in truths]
    far = [truth + 0.0001 * (at % 3) for at, truth in enumerate(truths)]
    result = compared(tmp_path / "x.json", answered(truths, near=near, far=far), "mae")
    assert ranking(result).decision("near", "far") == "undecided"
    assert ranking(result).test.rope is None
    assert "About equal" not in " ".join(sentences(result))
    asked = compare_file(
        read_scores(tmp_path / "x.json"), ComparisonQuestion(rope=0.01), metric="mae"
    )
    assert ranking(asked).decision("near", "far") == "equal"
    labels = compared(tmp_path / "y.json", answered(["x", "y"] * 2, a=["x"] * 4, b=["y"] * 4))
    assert ranking(labels).test.rope == 0.01
    percent = plain(a=85, b=87) + [
        row | {"task": f"u{at}"} for at in range(6) for row in plain(a=85, b=86)
    ]
    on_tasks = compared(tmp_path / "z.json", percent).new_tasks
    assert on_tasks is not None
    assert on_tasks.test.rope is None
    with pytest.raises(EvaluationError, match="Give shares alone, not percent, or name the metric"):
        compared(tmp_path / "p.json", plain(a=0.85, b=87))
    assert compared(tmp_path / "p.json", plain(a=0.85, b=87), "bleu").metric == "bleu"


@pytest.mark.parametrize(
    ("models", "tasks", "alpha", "said"),
    [
        (2, 6, 0.05, ""),
        (5, 6, 0.05, "Scores of 6 tasks decide none of 10 pairs: at least 9 are needed"),
        (2, 7, 0.01, "There are 7 tasks; an answer on new tasks needs at least 8"),
        (2, 1, 0.05, "There is 1 task; an answer on new tasks needs at least 6"),
    ],
)
def test_scores_of_few_tasks_say_how_many_would_do(
    tmp_path: Path, models: int, tasks: int, alpha: float, said: str
) -> None:
    """Sign flips of six tasks have p of 0.031 at best: corrected for ten pairs, 0.31."""
    rows = [
        {"model": f"m{model}", "task": f"t{task}", "score": 0.4 + model / 10 + task / 100}
        for model in range(models)
        for task in range(tasks)
    ]
    on_tasks = compared(tmp_path / "x.json", rows, "accuracy", alpha=alpha).new_tasks
    assert on_tasks is not None
    assert said in on_tasks.test.why
    assert (on_tasks.decision("m1", "m0") == "better") == (said == "")


def test_a_score_that_is_not_defined_is_left_out_or_told(tmp_path: Path) -> None:
    none, some, other = ((0, 0, 9, 0), (5, 1, 5, 1), (3, 2, 4, 3))
    rows = [
        {"model": model, "task": "t", "project": project}
        | dict(zip(("tp", "fp", "tn", "fn"), row, strict=True))
        for project, of_a in (("p", some), ("q", none))
        for model, row in (("a", of_a), ("b", other))
    ]
    result = compared(tmp_path / "x.json", rows)
    assert ranking(result).tasks == ("t / p",)
    assert result.block.left_out == ("t / q (no score of a)",)
    with pytest.raises(
        EvaluationError, match="a on t / q, seed 0, has no f1: it would divide by zero"
    ):
        compared(tmp_path / "y.json", rows[2:])

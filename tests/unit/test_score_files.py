"""Scores, counts and predictions from elsewhere: what is read, what is refused, what it says."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from goldpan.core.errors import EvaluationError, GoldpanError
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.evaluation.compare.compare import compare_file
from goldpan.evaluation.compare.question import ComparisonQuestion, ComparisonResult, Method
from goldpan.evaluation.compare.result import Comparison
from goldpan.evaluation.compare.score_files import read_scores
from goldpan.report.compared import make_report, paper_tables
from goldpan.report.comparison.sections import metrics_tables
from goldpan.report.comparison.words import sentences, warnings
from goldpan.report.document import Report

pytest.importorskip("scipy")

# ECSER, ReportTable 13: training, validation and test counts of three classifiers of flaky tests.
FLAKY = {
    "FF": ((449, 1, 15947, 0), (348, 143, 15805, 101), (14, 134, 5057, 344)),
    "Voc": ((401, 2655, 13293, 48), (344, 2515, 13433, 105), (120, 1669, 3522, 238)),
    "VocFF": ((449, 1, 15947, 0), (354, 121, 15827, 95), (29, 114, 5077, 329)),
}


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def flaky(path: Path) -> Path:
    lines = ["model,task,part,tp,fp,tn,fn"]
    lines += [
        f"{model},flaky,{part},{','.join(map(str, counts))}"
        for model, parts in FLAKY.items()
        for part, counts in zip(("train", "validation", "test"), parts, strict=True)
    ]
    return write(path, "\n".join(lines) + "\n")


def compared(
    path: Path, question: ComparisonQuestion | None = None, metric: str = ""
) -> ComparisonResult:
    return compare_file(read_scores(path), question or ComparisonQuestion(), metric=metric)


def ranking(result: ComparisonResult) -> Comparison:
    assert isinstance(result.comparison, Comparison)
    return result.comparison


def reported(result: ComparisonResult) -> Report:
    return make_report(WorkspaceLayout(Path("none")), result, {}, "a file")


def test_the_counts_of_ecser_become_its_scores(tmp_path: Path) -> None:
    result = compared(flaky(tmp_path / "flaky.csv"))
    assert result.metric == "f1"
    means = {system.name: round(system.mean("flaky") or 0, 2) for system in result.systems}
    # Pooled from the test counts of Table 13.
    assert means == {"FF": 0.06, "Voc": 0.11, "VocFF": 0.12}
    (table,) = metrics_tables(result)
    assert table.columns == ("model", "f1", "precision", "recall")
    assert "give predictions" in ranking(result).test.why
    assert result.new_tasks is not None
    assert "needs at least 6" in result.new_tasks.test.why


def projects(path: Path, gain: float) -> Path:
    """Write counts of ten folds and of eight projects, of two models."""
    draw = random.Random(4)
    rows = []
    for model, share in (("good", 0.7 + gain), ("fair", 0.7)):
        for part, column, many in (("validation", "fold", 10), ("test", "project", 8)):
            for at in range(many):
                hits = sum(draw.random() < share for _ in range(60))
                passes = sum(draw.random() < share for _ in range(60))
                row = {"model": model, "task": "flaky", "part": part, column: f"{column} {at}"}
                rows.append(row | {"tp": hits, "fn": 60 - hits, "tn": passes, "fp": 60 - passes})
    return write(path, json.dumps(rows))


def test_projects_are_data_sets_of_s10(tmp_path: Path) -> None:
    result = compared(projects(tmp_path / "p.json", 0.15))
    assert ranking(result).tasks[0] == "flaky / project 0"
    assert len(ranking(result).tasks) == 8
    assert result.new_tasks is not None
    assert result.new_tasks.decision("good", "fair") == "better"
    named = compared(projects(tmp_path / "p.json", 0.15), ComparisonQuestion("nemenyi"))
    assert ranking(named).test.name == "one-sided wilcoxon"
    assert named.new_tasks is None
    assert not any(".." in text for text in sentences(named))
    alike = compared(projects(tmp_path / "q.json", 0.0))
    assert alike.new_tasks is not None
    assert alike.new_tasks.decision("good", "fair") == "undecided"


def answers(path: Path, right: float = 0.9) -> Path:
    draw = random.Random(1)
    lines = ["model\ttask\tseed\tid\tdocument\ttruth\tanswer"]
    for model, share in (("good", right), ("bad", 0.5)):
        for seed in (0, 1):
            for at in range(120):
                truth = "bug" if at % 3 else "question"
                other = "question" if at % 3 else "bug"
                answer = truth if draw.random() < share else other
                lines.append(f"{model}\tissues\t{seed}\t{at}\td{at // 4}\t{truth}\t{answer}")
    return write(path, "\n".join(lines))


def test_predictions_are_paired_by_row_and_grouped_by_document(tmp_path: Path) -> None:
    result = compared(answers(tmp_path / "a.csv"))
    test = ranking(result).test
    assert (test.units, test.unit) == (30, "documents")
    assert ranking(result).decision("good", "bad") == "better"
    assert ranking(result).seeds == 2
    assert compared(answers(tmp_path / "a.csv"), metric="accuracy").metric == "accuracy"


def answers_of_seeds(path: Path, *, training: bool) -> Path:
    """Write answers to six tasks by two equal models, each lucky as a whole with each seed."""
    draw = random.Random(4)
    lines = ["model,task,seed,training,id,truth,answer"]
    luck = {(model, seed): draw.uniform(-0.15, 0.15) for model in "ab" for seed in range(3)}
    for (model, seed), shift in luck.items():
        for task in range(6):
            for row in range(60):
                answer = draw.random() < 0.7 + shift
                name = f"{model}{seed}" if training else ""
                lines.append(f"{model},t{task},{seed},{name},{row},1,{int(answer)}")
    return write(path, "\n".join(lines) + "\n")


def test_tasks_of_one_training_count_as_one(tmp_path: Path) -> None:
    alone = compared(answers_of_seeds(tmp_path / "alone.csv", training=False), metric="accuracy")
    together = compared(answers_of_seeds(tmp_path / "one.csv", training=True), metric="accuracy")
    assert "count as one" in str(together)
    assert "count as one" not in str(alone)


def test_plain_scores_answer_on_new_tasks_alone(tmp_path: Path) -> None:
    lines = ["model;task;score"]
    for at in range(8):
        lines += [f"a;t{at};{0.8 + at / 100}", f"b;t{at};{0.7 + at / 90:.3f}"]
    result = compared(write(tmp_path / "s.csv", "\n".join(lines)), metric="weighted F1")
    assert result.metric == "weighted F1"
    assert ranking(result).test.name == "none"
    assert result.new_tasks is not None
    assert result.new_tasks.decision("a", "b") == "better"
    text = " ".join(sentences(result))
    assert "on new rows of these tasks it is unknown which model is better" in text
    assert "On new tasks, a is better than b" in text


def test_the_report_has_what_the_file_gives(tmp_path: Path) -> None:
    report = reported(compared(flaky(tmp_path / "flaky.csv")))
    assert [section.key for section in report.sections] == ["ranking"]
    assert len(report.summary) == 3
    assert any("did not run the models" in warning for warning in report.warnings)
    several = projects(tmp_path / "p.json", 0.15)
    assert [section.key for section in reported(compared(several)).sections] == ["ranking", "pairs"]
    titles = [table.title for table in paper_tables(compared(several))]
    assert titles == ["Ranking by f1", "f1 on each task", "Every pair, new tasks"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is empty"),
        ("model,task,score\n", "holds no row"),
        ("model,task,points\na,b,1\n", "no known layout"),
        ("model,task,score\na,t,0.5\na,u,high\n", "Row 3 of .* has 'high' as its score"),
        ("model,task,score\na,t,nan\n", "Row 2 .* 'nan'"),
        ("model,task,score\na,t,N/A\n", r"Row 2 .* 'N/A' as its score\. Give a valid number\.?$"),
        ("model;task;score\na;t;0,81\n", "Row 2 .* has '0,81' as its score. Write .* with a point"),
        ("model,task,score\na,,0.5\n", "Row 2 .* has no task"),
        ("model,task,score\na,t,0.5\na,t,0.6\n", "Row 3 .* repeats the .*, fold, seed of another"),
        ("model,task,metric,score\na,t,f1,0.5\na,t,auc,0.6\n", "Keep the rows of one metric"),
        (
            "model,task,id,truth,answer\na,t,1,x,x\na,t,1,x,y\n",
            "Row 3 .* repeats the .*, seed, id of another",
        ),
        ("model,task,score,part\na,t,0.5,dev\n", "has 'dev' as its part"),
        ("model,task,score\na,t\n", "line 2: the row does not have the 3 fields"),
        ("model,task,tp,fp,tn,fn\na,t,1,2,3,-4\n", "has '-4' as its fn"),
        ("model,task,tp,fp,tn,fn\na,t,0,0,0,0\n", "Row 2 .* counts nothing"),
        ("model,task,tp,fp,tn,fn\na,t,1,2,3.5,4\n", "has '3.5' as its tn"),
        ("model,task,score,score\na,t,1,1\n", "two columns called 'score'"),
        ('model,task,score\n"a,t,1\n', "line 2: a quote is not closed"),
        ("{", "cannot be read"),
        ('{"a": 1}', "is not an array"),
        ("[1]", "is not an object"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_row(tmp_path: Path, text: str, problem: str) -> None:
    name = "x.json" if text.startswith(("{", "[")) else "x.csv"
    with pytest.raises(GoldpanError, match=problem):
        read_scores(write(tmp_path / name, text))


def test_numbers_of_data_frames_are_labels(tmp_path: Path) -> None:
    """Where an answer is missing, pandas holds the others as floats, and polars holds NaN."""
    rows = [
        {"model": model, "task": "t", "id": at, "truth": at % 2, "answer": float(at % 2)}
        for model in "ab"
        for at in range(4)
    ]
    rows[-1]["answer"] = float("nan")
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "x.parquet")
    file = read_scores(tmp_path / "x.parquet")
    assert [row.answer for key in file.keys for row in file.predictions[key]][-2:] == ["0", ""]
    pq.write_table(
        pa.Table.from_pylist([row | {"truth": math.nan} for row in rows]),
        path := tmp_path / "y.parquet",
    )
    with pytest.raises(EvaluationError, match=r"Row 1 .* has no truth"):
        read_scores(path)


def test_metrics_and_parts_that_are_not_there_are_named(tmp_path: Path) -> None:
    text = "model,task,id,truth,answer\na,t,1,x,x\nb,t,1,x,x\n"
    with pytest.raises(EvaluationError, match="give no kappa"):
        compared(write(tmp_path / "x.csv", text), metric="kappa")
    alone = write(tmp_path / "one.csv", "model,task,score\na,t,1\na,u,1\n")
    with pytest.raises(EvaluationError, match=r"one.csv: Only a was scored.* two models"):
        compared(alone)
    none = "model,task,part,score\na,t,train,1\nb,t,train,1\n"
    with pytest.raises(EvaluationError, match="no test row"):
        compared(write(tmp_path / "y.csv", none))


@pytest.mark.parametrize("metric", ["mae", "RMSE", "error rate", "-mae"])
def test_of_errors_the_lower_is_better(tmp_path: Path, metric: str) -> None:
    sign = "-" if metric.startswith("-") else ""
    lines = ["model,task,score"]
    for at in range(8):
        lines += [f"a,t{at},{sign}{2 + at / 10}", f"b,t{at},{sign}{3 + at / 9:.3f}"]
    result = compared(write(tmp_path / "x.csv", "\n".join(lines)), metric=metric)
    assert result.new_tasks is not None
    assert result.new_tasks.decision("a", "b") == "better"
    assert result.metric == f"-{metric.removeprefix('-')}"


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        (
            "a,t,1,x,x\na,t,2,y,y\nb,t,1,x,x\nb,t,2,x,y\n",
            "b and the first model on t do not share the row",
        ),
        ("a,t,1,0.0,0\na,t,2,1.0,1\nb,t,1,0.0,1\nb,t,2,1.0,0\n", r"\(0, 1\) is one of its truths"),
    ],
)
def test_rows_and_labels_that_do_not_meet_are_named(
    tmp_path: Path, rows: str, problem: str
) -> None:
    path = write(tmp_path / "x.csv", "model,task,id,truth,answer\n" + rows)
    with pytest.raises(EvaluationError, match=problem):
        compared(path)


TIED = ((0.1, 0.2, 0.3), (0.3, 0.2, 0.1))
"""Scores of three seeds: their sums differ in the last digit, their means as decimals do not."""


def tied(path: Path) -> Path:
    lines = ["model,task,seed,score"]
    for at in range(7):
        for model, scores in zip(("alpha", "beta"), TIED, strict=True):
            lines += [f"{model},t{at},{seed},{score}" for seed, score in enumerate(scores)]
    return write(path, "\n".join(lines))


@pytest.mark.parametrize("approach", ["calibrated", "bayesian", "frequentist", "nemenyi", "tukey"])
def test_equal_scores_tie_by_every_method(tmp_path: Path, approach: Method) -> None:
    comparison = compared(tied(tmp_path / "tied.csv"), ComparisonQuestion(approach))
    both = comparison.new_tasks or ranking(comparison)
    assert [standing.place for standing in both.standings] == [1, 1]
    assert both.decision("alpha", "beta") in ("equal", "undecided")
    assert {pair.difference for pair in both.pairs} == {0.0}
    first = sentences(comparison)[0]
    value = "1.50" if both.central == "mean rank" else "0.200"
    tie = f"alpha and beta tie for the highest {both.central}"
    assert first.startswith(tie.replace("highest mean rank", "best mean rank")), first
    assert f"over 7 data sets, {value}" in first
    assert "has the" not in first


def test_scores_and_decisions_are_of_the_same_labels(tmp_path: Path) -> None:
    """An answer that is no truth is wrong, and no label of its own that one model alone has."""
    rows = ["model,task,id,truth,answer"]
    for at in range(400):
        truth, other = ("yes", "no") if at % 2 else ("no", "yes")
        rows.append(f"good,t,{at},{truth},{'perhaps' if at < 8 else truth}")
        rows.append(f"bad,t,{at},{truth},{other if at < 60 else truth}")
    result = compared(write(tmp_path / "p.csv", "\n".join(rows)))
    values = {standing.model: standing.mean for standing in ranking(result).standings}
    assert values == {"good": pytest.approx(2 * 0.98 / 1.98), "bad": pytest.approx(0.85)}
    (pair,) = ranking(result).pairs
    assert (pair.first, pair.decision) == ("good", "better")
    assert pair.low is not None and pair.high is not None
    assert pair.low < pair.difference < pair.high


def of_folds(path: Path, folds: int, *, lacking: str = "") -> Path:
    """Write answers of two models to six tasks in folds, each with rows of its own."""
    lines = ["model,task,fold,id,truth,answer"]
    for model in "ab":
        for task in range(6):
            for fold in range(folds):
                for at in range(4):
                    line = f"{model},t{task},{fold},{fold}-{at},{at % 2},{at % (3 - task % 2) % 2}"
                    lines += [line] if f"{model}{task}{fold}{at}" != lacking else []
    return write(path, "\n".join(lines) + "\n")


@pytest.mark.parametrize("approach", ["bayesian", "frequentist", "nemenyi"])
def test_every_method_refuses_models_with_other_rows(tmp_path: Path, approach: Method) -> None:
    question = ComparisonQuestion(approach)
    assert ranking(compared(of_folds(tmp_path / "whole.csv", 3), question)).test.name != "none"
    short = of_folds(tmp_path / "short.csv", 3, lacking="b123")
    with pytest.raises(EvaluationError, match=r"on t1 do not share the row '2-3 of fold 2'"):
        compared(short, question)
    counts = "model,task,label,tp,fp,tn,fn\na,t,x,1,1,1,1\na,t,y,1,1,1,1\nb,t,x,1,1,1,1\n"
    with pytest.raises(EvaluationError, match="first model on t do not share the label 'y'"):
        compared(write(tmp_path / "counts.csv", counts), question)


def test_lists_that_pandas_wrote_as_text_are_no_labels(tmp_path: Path) -> None:
    lines = ["model,task,id,truth,answer"]
    for model in "ab":
        lines += [f"{model},t,{at},\"['bug', 'ui']\",\"['bug']\"" for at in range(4)]
        lines += [f"{model},t,{at},\"['ui']\",\"['ui']\"" for at in range(4, 8)]
    with pytest.raises(EvaluationError, match=r"lists that are written as text.* JSON or Parquet"):
        compared(write(tmp_path / "lists.csv", "\n".join(lines)))


def test_folds_are_no_seeds_of_one_test_set(tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match=r"folds of t0 .* Leave out the column fold"):
        compared(of_folds(tmp_path / "folds.csv", 3))


def test_no_test_that_is_called_none_is_named(tmp_path: Path) -> None:
    text = "model,task,id,truth,answer\na,t,1,x,x\nb,t,1,x,x\n"
    result = compared(write(tmp_path / "x.csv", text), ComparisonQuestion("nemenyi"))
    first = sentences(result)[0]
    assert "1.000: it is unknown which model is better: there is 1 task" in first


def spelled(path: Path, answers: Sequence[str]) -> Path:
    """Write the answers of a good model, and those of one that may write labels in its own way."""
    truths = ["bug", "bug", "docs"] * 4
    rows = [f"good,t,{at},{truth},{truth}" for at, truth in enumerate(truths)]
    rows += [f"odd,t,{at},{truth},{answers[at % 3]}" for at, truth in enumerate(truths)]
    return write(path, "model,task,id,truth,answer\n" + "\n".join(rows))


def test_answers_that_are_no_label_are_told(tmp_path: Path) -> None:
    odd = compared(spelled(tmp_path / "x.csv", ["bug", "bug", "Docs"]))
    assert "33.3% of the answers of odd are empty or not among the labels" in [*warnings(odd)][-1]
    with pytest.raises(EvaluationError, match=r"no answer of odd to t \(Bug, Docs\) is one of its"):
        compared(spelled(tmp_path / "y.csv", ["Bug", "Bug", "Docs"]))

"""Stored runs are compared: what belongs together, what is left out, and what differs."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pytest

from goldpan.core.errors import EvaluationError
from goldpan.core.storage.sealed import read_json, sealed_json
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.datasets.tasks.registry import find_task, load_tasks
from goldpan.evaluation.compare.compare import compare_runs
from goldpan.evaluation.compare.question import ComparisonQuestion, ComparisonResult, on_one_split
from goldpan.evaluation.compare.result import Comparison
from goldpan.evaluation.compare.scores import StatisticsError
from goldpan.evaluation.metrics.estimate import Interval, Metric, Scores
from goldpan.evaluation.model import Answers, Model, TrainingContext
from goldpan.evaluation.protocol import find_protocol
from goldpan.evaluation.record import read_runs
from goldpan.evaluation.run import run as execute
from goldpan.evaluation.score import ranking_score
from goldpan.report.comparison.words import sentences, warnings
from tests.comparing import (
    SIX,
    add_run,
    add_runs,
    compared,
    independent,
    six_tasks,
    split_rows,
    two_labels,
)

pytest.importorskip("scipy")


def comparison(result: ComparisonResult) -> Comparison:
    assert isinstance(result.comparison, Comparison)
    return result.comparison


@pytest.fixture
def workspace(tmp_path: Path) -> WorkspaceLayout:
    return WorkspaceLayout(tmp_path)


def rescore(path: Path, metric: str) -> None:
    """Let a run say that its main metric is another one."""
    text = json.dumps(read_json(path))
    changed = re.sub(r'"main": "\w+"', f'"main": "{metric}"', text)
    path.write_bytes(sealed_json(json.loads(changed)))


def test_models_are_ranked_over_tasks(workspace: WorkspaceLayout) -> None:
    six_tasks(workspace)
    result = compared(workspace)
    ranking = comparison(result)
    assert ranking.tasks == SIX
    assert (ranking.test.name, ranking.test.question) == ("hierarchical resampling", "new rows")
    assert (ranking.test.units, ranking.test.unit) == (24, "documents")
    assert result.new_tasks is not None
    assert result.new_tasks.test.question == "new tasks"
    assert ranking.models[-1] == "bad"
    assert ranking.decision("good", "bad") == ranking.decision("near", "bad") == "better"
    assert ranking.decision("good", "near") != "better"
    places = {standing.model: (standing.best, standing.worst) for standing in ranking.standings}
    assert places["bad"] == (3, 3)
    assert [system.name for system in result.ranked] == list(ranking.models)
    assert compared(workspace) == result


def test_one_task_is_compared_by_the_answers_to_it(workspace: WorkspaceLayout) -> None:
    data = independent(two_labels(test=200))
    for seed in (0, 1):
        add_runs(workspace, data, {"good": 0.9, "bad": 0.5, "twin": 0.9}, seed=seed)
    result = compared(workspace)
    ranking = comparison(result)
    assert ranking.test.name == "hierarchical resampling"
    assert (ranking.test.units, ranking.test.unit) == (200, "rows")
    assert ranking.decision("good", "bad") == "better"
    # They answer alike, row by row; 200 rows are too few to show that they are.
    assert ranking.decision("good", "twin") == "undecided"
    assert any("projects: requirement_type (2)" in text for text in warnings(result))
    assert result.new_tasks is not None
    assert "needs at least 3" in result.new_tasks.test.why
    named = comparison(compared(workspace, ComparisonQuestion("bayesian")))
    assert (named.test.name, named.decision("good", "bad")) == ("none", "untested")
    for path in (workspace.root / "runs").iterdir():
        shutil.rmtree(path)
    add_runs(workspace, two_labels(test=200), {"good": 0.9, "bad": 0.5})
    few = comparison(compared(workspace))
    assert (few.test.units, few.test.unit) == (4, "documents")
    assert few.decision("good", "bad") == "undecided"
    assert "at least 6 are needed" in few.test.why


def test_rows_that_the_two_best_answer_differently_are_counted(workspace: WorkspaceLayout) -> None:
    add_runs(workspace, independent(two_labels(test=200)), {"good": 0.9, "bad": 0.5, "near": 0.8})
    answers = [run.predictions()["answer"].to_pylist() for run in read_runs(workspace)]
    names = [run.model for run in read_runs(workspace)]
    good, near = (answers[names.index(name)] for name in ("good", "near"))
    differ = sum(one != other for one, other in zip(good, near, strict=True))
    assert 0 < differ < 200
    said = f"good and near answer {differ} of 200 rows differently."
    assert said in sentences(compared(workspace))


def test_every_metric_that_sums_over_examples_can_be_shuffled(workspace: WorkspaceLayout) -> None:
    numbers = [(f"Story {n}", float(n % 7 + 1)) for n in range(200)]
    labels = find_task("comment_type_python").label_names
    several = [(f"Comment {n}", [labels[n % 3], labels[3 + n % 2]]) for n in range(200)]
    tags = [(["the", f"Sieve{n}", "class"], ["O", "B-Class", "O"]) for n in range(200)]
    answers = [(f"Question {n}", f"Answer number {n}") for n in range(200)]
    for task, pairs in (
        ("story_points", numbers),
        ("comment_type_python", several),
        ("se_entities", tags),
        ("qa", answers),
    ):
        data = independent(split_rows(find_task(task), pairs, 40))
        wrong = {"story_points": 30.0, "se_entities": ["O", "O", "O"], "qa": "No idea"}
        mistake = wrong.get(task, list(labels[2:3]))
        add_runs(workspace, data, {"good": 0.9, "bad": 0.3}, wrong=mistake)
    result = compared(workspace)
    assert comparison(result).decision("good", "bad") == "better"
    assert result.metrics["story_points"] == "1 - smape"
    assert result.metric == "score"


def test_settings_and_protocols_tell_systems_apart_where_they_differ(
    workspace: WorkspaceLayout,
) -> None:
    data, other = two_labels("bug_issue"), two_labels("incivility")
    add_run(workspace, data, "svm", 0.9, context="none", depth=3)
    add_run(workspace, data, "svm", 0.9, context="wide", depth=3)
    add_run(workspace, data, "tree", 0.8, depth=3)
    add_run(workspace, other, "tree", 0.8, depth=4)
    names = [system.name for system in compared(workspace).systems]
    assert names == ["svm (context=none)", "svm (context=wide)", "tree"]
    add_run(workspace, data, "tree", 0.8, protocol="selu-paper", depth=3)
    assert "tree (selu-paper)" in [system.name for system in compared(workspace).systems]


def test_of_two_splits_with_as_many_runs_the_larger_is_kept(workspace: WorkspaceLayout) -> None:
    for test in (40, 60, 50):
        add_run(workspace, two_labels(train=70, test=test), "one", 0.9)
    kept, elsewhere = on_one_split(read_runs(workspace))
    assert [run.scores.examples for run in kept] == [60]
    assert {run.scores.examples for run in elsewhere} == {40, 50}


def test_runs_of_other_labels_than_the_task_has_are_not_compared(
    workspace: WorkspaceLayout,
) -> None:
    add_runs(workspace, two_labels(), {"one": 0.9, "two": 0.9})
    task = load_tasks()["requirement_type"]
    changed = {task.name: replace(task, labels=(*task.labels, replace(task.labels[0], name="x")))}
    runs = read_runs(workspace)
    with pytest.raises(EvaluationError, match="have other labels than their task has now"):
        compare_runs(runs, runs, changed, ComparisonQuestion())


def test_runs_on_another_split_are_kept_apart(workspace: WorkspaceLayout) -> None:
    add_runs(workspace, two_labels(), {"one": 0.9, "two": 0.9})
    add_run(workspace, two_labels(train=70, test=50), "one", 0.9)
    result = compared(workspace)
    assert {run.scores.examples for system in result.systems for run in system.every()} == {60}
    assert [(run.model, run.scores.examples) for run in result.elsewhere] == [("one", 50)]
    left_out = "Not compared, because data, split or labels differ: runs of "
    assert [*warnings(result)][-1] == f"{left_out}one on requirement_type."
    runs = [run for run in read_runs(workspace) if run not in result.systems[0].every()]
    rest = compare_runs(runs, runs, load_tasks(), ComparisonQuestion())
    assert sentences(rest)[0].startswith("Only ")
    assert [*warnings(rest)][-1].startswith(left_out)


def test_gaps_leave_the_ranking_and_are_named(workspace: WorkspaceLayout) -> None:
    six_tasks(workspace)
    add_run(workspace, two_labels("bug_issue"), "late", 0.9)
    result = compared(workspace)
    assert result.block.models == ("bad", "good", "near")
    assert result.block.left_out == (
        "late (no score on commit_intent, incivility, requirement_type and 2 more)",
    )
    assert result.ranked[-1].name == "late"
    runs = read_runs(workspace, models=["good", "late"])
    named = compare_runs(runs, runs, load_tasks(), ComparisonQuestion(), keep_models=True)
    assert named.block.models == ("good", "late")
    assert named.block.tasks == ("bug_issue",)


def test_runs_that_contradict_each_other_are_named(workspace: WorkspaceLayout) -> None:
    ran = add_run(workspace, two_labels(), "one", 0.9)
    copy = ran.directory.with_name("seed-0-copy")
    copy.mkdir()
    for path in ran.directory.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    with pytest.raises(EvaluationError, match="are both one on requirement_type with seed 0"):
        compared(workspace)
    result = copy / "result.json"
    rescore(result, "mcc")
    with pytest.raises(EvaluationError, match="goldpan evaluate score --task requirement_type"):
        compared(workspace)


def test_errors_are_turned_round() -> None:
    def turned(name: str, value: float | None, *, higher: bool = False) -> Metric:
        interval = None if value is None else Interval(value - 0.1, value + 0.2)
        metric = Metric(name, value, interval, "why", higher_is_better=higher)
        scores = Scores("t", "regression", name, 9, 0, "example", 9, 0, 0, (metric,))
        return ranking_score(scores)

    score = turned("smape", 0.3)
    assert (score.name, score.value) == ("1 - smape", 0.7)
    assert score.interval is not None
    assert (score.interval.low, score.interval.high) == pytest.approx((0.5, 0.8))
    assert turned("mae", 2.0).value == -2.0
    assert turned("f1", 0.4, higher=True).value == 0.4
    assert turned("mae", None).reason == "why"


def test_errors_without_a_bound_have_neither_rope_nor_limit(workspace: WorkspaceLayout) -> None:
    """A tenth of a point is a tenth of the scale of F1, and nothing among story points of 40."""
    data = split_rows(find_task("story_points"), [(f"S {n}", 1.0 + n) for n in range(40)], 20)
    for name, wrong in (("near", 3.0), ("far", 4.0)):
        add_run(workspace, data, name, 0.5, wrong=wrong)
    bounded = compared(workspace)
    assert comparison(bounded).test.rope == 0.01
    for path in workspace.root.glob("runs/*/*/*/result.json"):
        rescore(path, "mae")
    result = compared(workspace)
    assert (comparison(result).metric, comparison(result).test.rope) == ("-mae", None)
    assert "about equal" not in " ".join(sentences(result))
    assert not any("overfit" in warning for warning in warnings(result))
    asked = compared(workspace, ComparisonQuestion(rope=50.0))
    assert comparison(asked).decision("near", "far") == "equal"


def test_a_run_without_a_score_is_named(workspace: WorkspaceLayout) -> None:
    data = split_rows(find_task("story_points"), [(f"S {n}", 1.0 + n) for n in range(40)], 20)
    for name, silent in (("quiet", 0.5), ("loud", 0.0)):
        add_run(workspace, data, name, 0.9, wrong=3.0, silent=silent)
    for path in workspace.root.glob("runs/*/*/*/result.json"):
        rescore(path, "mae")
    result = compared(workspace)
    assert result.metrics == {"story_points": "-mae"}
    assert [text.partition(":")[0] for text in result.without_value] == [
        "quiet on story_points, seed 0, has no -mae"
    ]
    assert result.comparison == "No two models have scores on the same task"


@dataclass(frozen=True)
class _BySeed:
    """Always gives the label that its seed names."""

    label: str = ""

    def fit(self, lesson: TrainingContext) -> _BySeed:
        return _BySeed(lesson.task.label_names[lesson.seed])

    def answer(self, rows: pa.Table) -> Answers:
        return Answers([self.label] * len(rows))


def test_seeds_count_by_the_mean_of_their_scores(workspace: WorkspaceLayout) -> None:
    """Counts that are averaged over two useless seeds would look like a fair model."""
    data = independent(two_labels(test=400))
    for seed in (0, 1):
        model = Model("collapsing", _BySeed().fit)
        execute(workspace, data, model, find_protocol("default"), seed, Reporter(quiet=True))
        add_run(workspace, data, "steady", 0.41, seed=seed)
    add_run(workspace, data, "steady", 0.41, seed=2)
    result = compared(workspace)
    ranking = comparison(result)
    assert ranking.models == ("steady", "collapsing")
    for system in result.systems:
        (standing,) = [standing for standing in ranking.standings if standing.model == system.name]
        assert standing.mean == pytest.approx(system.mean("requirement_type"))


@pytest.mark.parametrize("alpha", [-1.0, 0.0, 1.0, 5.0, float("nan")])
def test_alpha_is_checked_on_one_task_too(workspace: WorkspaceLayout, alpha: float) -> None:
    add_runs(workspace, two_labels(), {"a": 0.8, "b": 0.8})
    with pytest.raises(StatisticsError, match="alpha"):
        compared(workspace, ComparisonQuestion(alpha=alpha))

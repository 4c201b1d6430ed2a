"""What limits a comparison is named: too few tasks, and scores that are not defined."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldpan.evaluation.compare.compare import compare_file
from goldpan.evaluation.compare.question import ComparisonQuestion, ComparisonResult
from goldpan.evaluation.compare.result import Comparison
from goldpan.evaluation.compare.score_files import read_scores
from goldpan.evaluation.compare.scores import fewest_swapped

pytest.importorskip("scipy")


def compared(path: Path, lines: list[str], *, alpha: float = 0.05) -> ComparisonResult:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return compare_file(read_scores(path), ComparisonQuestion(alpha=alpha), metric="accuracy")


def ranking(result: ComparisonResult) -> Comparison:
    assert isinstance(result.comparison, Comparison)
    return result.comparison


@pytest.mark.parametrize(
    ("models", "tasks", "alpha", "said"),
    [
        (2, 6, 0.05, "better"),
        (5, 6, 0.05, "Scores of 6 tasks decide none of 10 pairs: at least 9 are needed"),
        (2, 7, 0.01, "There are 7 tasks; an answer on new tasks needs at least 8"),
        (2, 1, 0.05, "There is 1 task; an answer on new tasks needs at least 6"),
    ],
)
def test_scores_of_few_tasks_say_how_many_would_do(
    tmp_path: Path, models: int, tasks: int, alpha: float, said: str
) -> None:
    """Sign flips of six tasks have p of 0.031 at best: corrected for ten pairs, 0.31."""
    lines = ["model,task,score"]
    lines += [
        f"m{model},t{task},{0.4 + model / 10 + task / 100}"
        for model in range(models)
        for task in range(tasks)
    ]
    on_tasks = compared(tmp_path / "x.csv", lines, alpha=alpha).new_tasks
    assert on_tasks is not None
    if said == "better":
        assert on_tasks.decision("m1", "m0") == said
        return
    assert said in on_tasks.test.why


def test_few_swaps_reach_few_levels_of_p() -> None:
    for alpha in (0.5, 0.05, 0.0625, 0.01, 0.001):
        least = fewest_swapped(alpha)
        assert 2.0 ** (1 - least) < alpha <= 2.0 ** (2 - least)


def test_a_score_that_is_not_defined_is_left_out_or_told(tmp_path: Path) -> None:
    lines = ["model,task,project,tp,fp,tn,fn"]
    for project, none in (("p", False), ("q", True)):
        lines += [f"a,t,{project},{'0,0,9,0' if none else '5,1,5,1'}", f"b,t,{project},3,2,4,3"]
    path = tmp_path / "x.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    result = compare_file(read_scores(path), ComparisonQuestion())
    assert ranking(result).tasks == ("t / p",)
    assert result.block.left_out == ("t / q (no score of a)",)
    path.write_text("\n".join((lines[0], *lines[3:])), encoding="utf-8")
    with pytest.raises(Exception, match="a on t / q, seed 0, has no f1: it would divide by zero"):
        compare_file(read_scores(path), ComparisonQuestion())

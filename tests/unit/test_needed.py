"""What limits a comparison is named: units, tasks or seeds, and how many would do."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from goldpan.evaluation.compare.files import FileComparison, compare_file
from goldpan.evaluation.compare.power import Needed, least_needed
from goldpan.evaluation.compare.question import ComparisonQuestion
from goldpan.evaluation.compare.score_files import read_scores
from goldpan.evaluation.compare.scores import Floats, fewest_swapped
from goldpan.report.comparison.make import file_sentences

pytest.importorskip("scipy")
ROWS = 1_000


def compared(path: Path, lines: list[str], *, alpha: float = 0.05) -> FileComparison:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return compare_file(read_scores(path), ComparisonQuestion(alpha=alpha), metric="accuracy")


def lucky(seeds: int) -> list[str]:
    """Return the answers of two models to the same rows, each lucky as a whole with each seed."""
    draw = random.Random(7)
    hard = [draw.random() for _ in range(ROWS)]
    lines = ["model,task,seed,id,truth,answer"]
    for model, share in (("a", 0.80), ("b", 0.75)):
        luck = [draw.gauss(0, 0.06) for _ in range(40)]
        for seed in range(seeds):
            right = [chance < share + luck[seed] for chance in hard]
            lines += [f"{model},t,{seed},{row},1,{int(own)}" for row, own in enumerate(right)]
    return lines


def test_seeds_are_named_where_they_limit(tmp_path: Path) -> None:
    """Rows without end would not show it: what other trainings would change stays the same."""
    few = compared(tmp_path / "few.csv", lucky(3))
    (pair,) = few.comparison.pairs
    assert (pair.decision, pair.needed) == ("undecided", None)
    assert pair.needed_seeds is not None
    assert 3 < pair.needed_seeds < 20
    said = f"(the difference would show with about {pair.needed_seeds} seeds)"
    assert said in file_sentences(few)[0]
    enough = compared(tmp_path / "enough.csv", lucky(40))
    assert enough.comparison.decision("a", "b") == "better"


def test_rows_are_named_where_they_limit(tmp_path: Path) -> None:
    draw = random.Random(3)
    lines = ["model,task,id,truth,answer"]
    for model, share in (("a", 0.85), ("b", 0.8)):
        lines += [f"{model},t,{row},1,{int(draw.random() < share)}" for row in range(100)]
    pair = compared(tmp_path / "x.csv", lines).comparison.pairs[0]
    assert pair.needed is not None and pair.needed > 100
    assert (pair.needed_unit, pair.needed_seeds) == ("rows", None)


def needed(*, units: float, seeds: float, both: float = np.inf) -> Needed:
    """Return what is needed where these numbers, of 100 units and 4 seeds, are enough."""

    def shown(count: Floats, trained: Floats) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        together = (count >= both) & (trained >= 4 * both / 100)
        return np.asarray((count >= units) | (trained >= seeds) | together)

    return least_needed(shown, 100, np.array([4]), 6, 100_000)[0]


def test_what_grows_least_is_named() -> None:
    assert needed(units=200, seeds=np.inf) == Needed(units=200)
    assert needed(units=np.inf, seeds=9) == Needed(seeds=9)
    assert needed(units=300, seeds=8) == Needed(seeds=8)
    assert needed(units=150, seeds=8) == Needed(units=150)
    assert needed(units=np.inf, seeds=np.inf, both=150) == Needed(units=150, seeds=6)
    assert needed(units=np.inf, seeds=np.inf) == Needed()


def shared(seeds: int) -> list[str]:
    """Return answers to six tasks by one training of each seed, whose luck is that of all."""
    draw = random.Random(5)
    lines = ["model,task,seed,training,id,truth,answer"]
    for model, share in (("a", 0.80), ("b", 0.72)):
        for seed in range(seeds):
            luck = draw.gauss(0, 0.07)
            for task in range(6):
                right = [int(draw.random() < share + luck) for _ in range(150)]
                start = f"{model},t{task},{seed},{model}{seed}"
                lines += [f"{start},{row},1,{own}" for row, own in enumerate(right)]
    return lines


def test_trainings_that_answer_all_tasks_are_what_limits(tmp_path: Path) -> None:
    result = compared(tmp_path / "x.csv", shared(3))
    assert result.new_tasks is not None
    for comparison in (result.comparison, result.new_tasks):
        (pair,) = comparison.pairs
        assert (pair.decision, pair.needed) == ("undecided", None)
        assert pair.needed_seeds is not None and pair.needed_seeds > 3


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
    assert all((pair.needed or 0) > tasks for pair in on_tasks.pairs)


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
    assert result.comparison.tasks == ("t / p",)
    assert result.matrix.left_out == ("t / q: f1 of a is not defined",)
    path.write_text("\n".join((lines[0], *lines[3:])), encoding="utf-8")
    with pytest.raises(Exception, match="f1 of a on t / q is not defined"):
        compare_file(read_scores(path), ComparisonQuestion())

"""How often equal models are declared different, and better ones found: `--quick`, or all.

Writes the tables of docs/statistics.md to standard output. `old` is the rule that Goldpan had:
shuffling the seeds of two models within a task.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product

import numpy as np
from scipy import stats  # type: ignore[import-untyped]

from benchmarks.null_models import Cell, Drawn, draw
from goldpan.evaluation.statistics.calibrated import answer_questions
from goldpan.evaluation.statistics.compare import compare
from goldpan.evaluation.statistics.drift import degradation
from goldpan.evaluation.statistics.paired import holm, mcnemar
from goldpan.evaluation.statistics.randomization import mean_of, randomization_test
from goldpan.evaluation.statistics.scores import Score, ScoreMatrix, score_matrix

ALPHA = 0.05
LIMIT = 0.06
_ROUNDS = 499
_LARGE = 20_000
"""Answers a study from which on it is repeated a quarter as often."""

Decide = Callable[[Drawn, int], Mapping[tuple[int, int], str]]


def calibrated_rows(drawn: Drawn, seed: int) -> Mapping[tuple[int, int], str]:
    """Decide by the hierarchical resampling of rows."""
    answers = answer_questions(drawn.evidence, drawn.models, alpha=ALPHA, seed=seed, rounds=_ROUNDS)
    return {pair: verdict.decision for pair, verdict in answers.new_rows.of.items()}


def calibrated_tasks(drawn: Drawn, seed: int) -> Mapping[tuple[int, int], str]:
    """Decide for new tasks."""
    answers = answer_questions(drawn.evidence, drawn.models, alpha=ALPHA, seed=seed, rounds=9)
    return {pair: verdict.decision for pair, verdict in answers.new_tasks.of.items()}


def by_scores(approach: str, **settings: str) -> Decide:
    """Return a method that knows scores alone, by its name."""

    def decide(drawn: Drawn, seed: int) -> Mapping[tuple[int, int], str]:
        compared = compare(
            matrix(drawn),
            approach=approach,  # type: ignore[arg-type]
            samples=2_000,
            seed=seed,
            **settings,  # type: ignore[arg-type]
        )
        numbers = {name: at for at, name in enumerate(drawn.models)}
        return {
            (numbers[pair.first], numbers[pair.second]): pair.decision for pair in compared.pairs
        }

    return decide


def matrix(drawn: Drawn) -> ScoreMatrix:
    """Return the scores as comparisons take them."""
    models, tasks, seeds = drawn.scores.shape
    return score_matrix(
        [
            Score(drawn.models[i], f"t{j:02}", k, float(drawn.scores[i, j, k]))
            for i, j, k in product(range(models), range(tasks), range(seeds))
        ],
        "macro_f1",
    )


def mcnemar_rows(drawn: Drawn, seed: int) -> Mapping[tuple[int, int], str]:
    """Decide by McNemar's exact test on the rows of the first task and seed, Holm-corrected."""
    del seed
    right = drawn.right[0][:, 0]
    pairs = _pairs(len(right))
    ps = [mcnemar(right[i], right[j]) for i, j in pairs]
    return _significant(pairs, ps, [float((right[i] - right[j]).sum()) for i, j in pairs])


def rows_alone(drawn: Drawn, seed: int) -> Mapping[tuple[int, int], str]:
    """Decide by a randomization test that swaps single rows of the first task, as ECSER has it."""
    right = drawn.right[0].mean(axis=1)
    pairs, share = _pairs(len(right)), mean_of(right.shape[1])
    tests = [
        randomization_test(right[i][:, None], right[j][:, None], share, rounds=_ROUNDS, seed=seed)
        for i, j in pairs
    ]
    return _significant(pairs, [test.p for test in tests], [test.difference for test in tests])


def highest_score(drawn: Drawn, seed: int) -> Mapping[tuple[int, int], str]:
    """Decide as competitions do: the higher mean score wins."""
    del seed
    means = drawn.scores.mean(axis=(1, 2))
    return {(i, j): "better" if means[i] != means[j] else "equal" for i, j in _pairs(len(means))}


def seeds_shuffled(drawn: Drawn, seed: int) -> Mapping[tuple[int, int], str]:
    """Decide by the old rule: scores of seeds are shuffled between models within each task."""
    random = np.random.default_rng(seed)
    models, tasks, seeds = drawn.scores.shape
    pairs = _pairs(models)
    ps, sides = [], []
    for i, j in pairs:
        actual, shuffled = 0.0, np.zeros(_ROUNDS)
        for task in range(tasks):
            pool = np.concatenate([drawn.scores[i, task], drawn.scores[j, task]])
            actual += pool[:seeds].mean() - pool[seeds:].mean()
            many = random.permuted(np.broadcast_to(pool, (_ROUNDS, pool.size)), axis=1)
            shuffled += many[:, :seeds].mean(axis=1) - many[:, seeds:].mean(axis=1)
        ps.append((int((np.abs(shuffled) >= abs(actual) - 1e-12).sum()) + 1) / (_ROUNDS + 1))
        sides.append(actual)
    return _significant(pairs, ps, sides)


def folds_and_projects(ranks: bool, random: np.random.Generator) -> bool:
    """Return whether S8 finds a loss from ten folds to seven projects where there is none.

    Folds hold 100 rows each; projects hold 20 to 400 and differ in how hard they are.
    """
    base = 0.8
    folds = random.binomial(100, base, 10) / 100
    sizes = random.integers(20, 400, 7)
    hard = 1 / (1 + np.exp(-(math.log(base / (1 - base)) + random.normal(0, 0.4, 7))))
    projects = random.binomial(sizes, hard) / sizes
    p = degradation(folds.tolist(), projects.tolist(), ranks=ranks).p
    return p is not None and p < ALPHA


METHODS: Mapping[str, Decide] = {
    "calibrated: new rows": calibrated_rows,
    "calibrated: new tasks": calibrated_tasks,
    "bayesian signed rank": by_scores("bayesian"),
    "frequentist": by_scores("frequentist"),
    "wilcoxon": by_scores("frequentist", choice="pairwise"),
    "nemenyi": by_scores("frequentist", choice="nonparametric"),
    "tukey": by_scores("frequentist", choice="parametric"),
    "mcnemar": mcnemar_rows,
    "randomization": rows_alone,
    "nlbse23": highest_score,
    "seeds shuffled (old rule)": seeds_shuffled,
}


def rates(
    cell: Cell, methods: Iterable[str], repeats: int, seed: int = 0
) -> dict[str, tuple[int, float]]:
    """Return of each method in how many studies it declares any models different, and its power.

    Power is the mean share of the models that the first is truly better than of which it says so.
    """
    random = np.random.default_rng(seed)
    declared = dict.fromkeys(methods, 0)
    power = dict.fromkeys(declared, 0.0)
    for repeat in range(repeats):
        drawn = draw(cell, random)
        for name in declared:
            decided = METHODS[name](drawn, repeat)
            declared[name] += any(word in ("better", "worse") for word in decided.values())
            won = sum(
                (word == "better" and first == 0) or (word == "worse" and second == 0)
                for (first, second), word in decided.items()
            )
            power[name] += won / (cell.models - 1) / repeats
    return {name: (count, power[name]) for name, count in declared.items()}


def above_limit(count: int, repeats: int, limit: float = LIMIT, surely: float = 0.001) -> bool:
    """Return whether so many false decisions are more than the limit allows, beyond chance."""
    return float(stats.binom.sf(count - 1, repeats, limit)) < surely


def null_cells() -> Iterator[Cell]:
    """Yield the cells in which no model is better."""
    for tasks, rows, (seeds, flip) in product(
        (1, 2, 3, 5, 9, 17), (50, 200, 1000), ((1, 0.0), (1, 0.1), (2, 0.2), (5, 0.1), (10, 0.2))
    ):
        yield Cell(tasks, rows, seeds, 2, flip)
    for tasks, models, seeds in product((1, 3, 17), (5, 10), (1, 3)):
        yield Cell(tasks, 200, seeds, models, 0.1)
    for tasks, documents, seeds, models in product((1, 3), (5, 10, 40), (1, 3), (2, 10)):
        yield Cell(tasks, 200, seeds, models, 0.1, documents=documents)
    for tasks, rows, shares, models in product(
        (1, 3), (50, 200), ((0.9, 0.1), (0.9, 0.05, 0.05), (0.4, 0.3, 0.2, 0.1)), (2, 10)
    ):
        yield Cell(tasks, rows, 2, models, 0.1, shares=shares)
    for tasks, seeds, models in product((1, 5), (2, 5), (2, 5)):
        yield Cell(tasks, 200, seeds, models, 0.1, seed_sd=0.2)
    for rows, models in product((50, 200, 1000), (2, 4)):
        yield Cell(1, rows, 1, models, 0.1, lopsided=True)


def task_cells() -> Iterator[Cell]:
    """Yield the cells in which models are equal over all tasks, yet not on each."""
    for tasks, models, spread, rows in product((3, 5, 9, 17), (2, 10), (0.0, 0.2, 0.5), (50, 200)):
        yield Cell(tasks, rows, 2, models, 0.1, task_sd=spread)


def power_cells() -> Iterator[Cell]:
    """Yield the cells in which the first model is better."""
    for gain, tasks, rows in product((0.05, 0.1, 0.15), (1, 3, 9, 17), (50, 200, 1000)):
        yield Cell(tasks, rows, 3, 2, 0.1, gain=gain, task_sd=0.2)
    for gain, tasks in product((0.1, 0.15), (3, 17)):
        yield Cell(tasks, 200, 3, 10, 0.1, gain=gain, task_sd=0.2)
        yield Cell(tasks, 200, 3, 2, 0.1, gain=gain, task_sd=0.2, documents=20)


NAMED = (
    Cell(3, 200, 5, 2, 0.1),
    Cell(9, 200, 1, 2, 0.1),
    Cell(9, 200, 1, 10, 0.1),
    Cell(17, 200, 1, 2, 0.1),
    Cell(17, 200, 1, 10, 0.1),
    Cell(1, 200, 1, 2, 0.1, documents=10),
)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the repetitions")
    parser.add_argument("--repeats", type=int, default=1_000)
    parser.add_argument("--part", choices=("rows", "tasks", "power", "named"), help="one table")
    settings = parser.parse_args()
    repeats = max(100, settings.repeats // (10 if settings.quick else 1))
    started = time.process_time()
    failed = 0
    if settings.part in (None, "rows"):
        failed += _print_nulls("New rows", null_cells(), "calibrated: new rows", repeats)
    if settings.part in (None, "tasks"):
        failed += _print_nulls("New tasks", task_cells(), "calibrated: new tasks", repeats)
    if settings.part in (None, "power"):
        _print_power(repeats // 4)
    if settings.part in (None, "named"):
        _print_named(repeats // 4)
    print(
        f"\n{repeats} repetitions a cell, {time.process_time() - started:.0f} s of processor time"
    )
    if failed:
        raise SystemExit(f"{failed} cells are above {100 * LIMIT:g} %")


def _print_nulls(title: str, cells: Iterable[Cell], method: str, repeats: int) -> int:
    print(f"\n### {title}: equal models\n")
    shares: list[tuple[float, str]] = []
    failed = 0
    for cell in cells:
        # Large cells take long, and their many rows leave less to chance.
        answers = cell.tasks * cell.rows * cell.seeds * cell.models
        many = repeats if answers <= _LARGE else repeats // 4
        count, _ = rates(cell, [method], many)[method]
        shares.append((count / many, cell.named()))
        print(f"{cell.named()}: {count} of {many}", file=sys.stderr, flush=True)
        failed += above_limit(count, many)
    shares.sort(reverse=True)
    values = np.array([share for share, _ in shares])
    print(
        f"{len(shares)} cells: mean {100 * values.mean():.1f} %, median"
        f" {100 * float(np.median(values)):.1f} %, highest {100 * values.max():.1f} %\n"
    )
    print("| highest cells | declared different |\n|---|---|")
    for share, name in shares[:8]:
        print(f"| {name} | {100 * share:.1f} % |")
    return failed


def _print_power(repeats: int) -> None:
    print("\n### Power\n\n| cell | new rows | new tasks |\n|---|---|---|")
    methods = ("calibrated: new rows", "calibrated: new tasks")
    for cell in power_cells():
        measured = rates(cell, methods, max(100, repeats))
        shown = " | ".join(f"{100 * measured[name][1]:.0f} %" for name in methods)
        print(f"| {cell.named()} | {shown} |", flush=True)


def _print_named(repeats: int) -> None:
    print("\n### Methods by name: equal models declared different\n")
    print("| method | " + " | ".join(cell.named() for cell in NAMED) + " |")
    print("|---" * (len(NAMED) + 1) + "|")
    columns = [rates(cell, METHODS, max(100, repeats)) for cell in NAMED]
    for name in METHODS:
        shares = " | ".join(
            f"{100 * column[name][0] / max(100, repeats):.0f} %" for column in columns
        )
        print(f"| {name} | {shares} |")
    random = np.random.default_rng(0)
    for ranks, name in ((False, "welch t or mann-whitney u"), (True, "mann-whitney u")):
        found = sum(folds_and_projects(ranks, random) for _ in range(2_000))
        print(f"\nS8, {name}: {found / 20:.1f} %")


def _pairs(models: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(models) for j in range(i + 1, models)]


def _significant(
    pairs: list[tuple[int, int]], ps: list[float], sides: list[float]
) -> dict[tuple[int, int], str]:
    return {
        pair: "undecided" if p >= ALPHA or side == 0 else ("better" if side > 0 else "worse")
        for pair, p, side in zip(pairs, holm(ps), sides, strict=True)
    }


if __name__ == "__main__":
    main()

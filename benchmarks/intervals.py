"""How often 95% intervals hold what they are about, by the number of projects.

    python -m benchmarks.intervals

Writes the table of docs/statistics.md to standard output; it takes about five minutes. Projects
differ in how hard they are (a standard deviation of 0.7 in log-odds), and have the same number of
rows or numbers like 1, 1/2, 1/3 of the largest. Two models that are equally good over all projects
are right on a share of the rows. Where units are projects, the interval of the first model's share
and that of their difference are about rows of new projects, else about new rows of these.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from goldpan.evaluation.compare.calibrated import Criteria, answer_questions
from goldpan.evaluation.compare.evidence import ExampleNumbers, TaskAnswers, task_evidence
from goldpan.evaluation.compare.result import ComparedPair
from goldpan.evaluation.metrics.estimate import Floats, Whole, estimate, mean_of, means, resample
from goldpan.evaluation.units import Units, units_of

PROJECTS = (1, 2, 3, 5, 8, 10, 12, 15, 20, 30)
ROWS = 300
_HARD, _SKILL = 0.7, 1.0
Draw = Callable[[Whole, Floats, np.random.Generator], Floats]


def sizes_of(projects: int, *, equal: bool) -> Whole:
    """Return the number of rows of each project."""
    weights = np.ones(projects) if equal else 1 / np.arange(1, projects + 1)
    rows = np.round(ROWS * weights / weights.sum()).astype(np.int64)
    return np.asarray(np.maximum(2, rows))


def coverage(
    projects: int, *, equal: bool, studies: int, documents: bool = False, seed: int = 0
) -> Mapping[str, float]:
    """Return how often each kind of interval holds its score, as shares of the studies."""
    random = np.random.default_rng([seed, projects, equal])
    sizes = sizes_of(projects, equal=equal)
    repos = [f"p{at}" for at, size in enumerate(sizes) for _ in range(size)]
    ids, nothing = [str(at) for at in range(len(repos))], [None] * len(repos)
    units = units_of(ids, nothing, repos) if documents else units_of(ids, repos, nothing)
    on_new = units.kind != "rows"
    of_new = float(_right(random.normal(0, _HARD, 200_000)).mean())
    held = dict.fromkeys(("score", "difference", "projects", "projects, then rows"), 0)
    for study in range(studies):
        chances = _right(random.normal(0, _HARD, (2, projects)))
        answers = (random.random((2, len(repos))) < np.repeat(chances, sizes, axis=1)).astype(float)
        score, difference = (
            (0.0 if on_new else float(own @ sizes / sizes.sum()))
            for own in (chances[0], chances[0] - chances[1])
        )
        score += of_new if on_new else 0.0
        drawing = resample(units, seed=study, resamples=1_000)
        (metric,) = estimate([means({"right": answers[0]})], drawing)
        if metric.interval is not None:
            held["score"] += metric.interval.low <= score <= metric.interval.high
        pair = _difference(answers, units, study)
        if pair.low is not None and pair.high is not None:
            held["difference"] += pair.low <= difference <= pair.high
        right = answers[0]
        counts = np.add.reduceat(right, np.cumsum(sizes) - sizes)
        for name, draw in (("projects", _whole), ("projects, then rows", _two_stages)):
            low, high = np.percentile(draw(sizes, counts, random), [2.5, 97.5])
            held[name] += low <= of_new <= high
    return {name: count / studies for name, count in held.items()}


def _difference(answers: Floats, units: Units, seed: int) -> ComparedPair:
    """Return what a comparison on new rows says of two models."""
    columns = {
        f"m{at}": [
            ExampleNumbers((), units, np.column_stack([own, np.ones(len(own))]), mean_of(0, 1))
        ]
        for at, own in enumerate(answers)
    }
    task = TaskAnswers("t", "t", columns, dict.fromkeys(columns, ""))
    criteria = Criteria(seed=seed, rounds=499)
    evidence = task_evidence([task])
    assert not isinstance(evidence, str)
    return answer_questions(evidence, list(columns), criteria).new_rows.of[0, 1]


def _right(hard: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-_SKILL - hard)))


def _whole(sizes: Whole, counts: Floats, random: np.random.Generator) -> Floats:
    chosen = random.integers(0, len(sizes), (1_000, len(sizes)))
    return np.asarray(counts[chosen].sum(axis=1) / sizes[chosen].sum(axis=1))


def _two_stages(sizes: Whole, counts: Floats, random: np.random.Generator) -> Floats:
    chosen = random.integers(0, len(sizes), (1_000, len(sizes)))
    again = random.binomial(sizes[chosen], counts[chosen] / sizes[chosen])
    return np.asarray(again.sum(axis=1) / sizes[chosen].sum(axis=1))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=1_000, help="studies a figure")
    parser.add_argument("--documents", action="store_true", help="of documents, not of projects")
    chosen = parser.parse_args(arguments)
    print("| projects, rows | score | difference | percentiles of projects | of both |")
    print("|---|---|---|---|---|")
    for equal in (True, False):
        for projects in PROJECTS:
            shares = coverage(
                projects, equal=equal, studies=chosen.studies, documents=chosen.documents
            )
            cells = " | ".join(f"{100 * share:.0f}%" for share in shares.values())
            print(f"| {projects}, {'equal' if equal else 'unequal'} | {cells} |", flush=True)


if __name__ == "__main__":
    main()

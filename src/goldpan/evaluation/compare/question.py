"""Models that are compared: the question, the scores and stored runs it takes, and the result."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import inf
from statistics import fmean
from types import MappingProxyType
from typing import Literal

import numpy as np
import orjson

from goldpan.core.errors import EvaluationError
from goldpan.core.result import names_text
from goldpan.evaluation.compare.calibrated import (
    ROPE,
    Criteria,
    answer_questions,
    new_tasks_by_scores,
)
from goldpan.evaluation.compare.methods import NamedMethod, compare_by_name
from goldpan.evaluation.compare.result import ChosenTest, Comparison, arrange, untested
from goldpan.evaluation.compare.scores import ScoreMatrix, TaskEvidence
from goldpan.evaluation.metrics.estimate import Scores
from goldpan.evaluation.record import RunRecord
from goldpan.evaluation.score import is_bounded, ranking_score

MIXED = "score"
"""Name of the score where tasks rank by different metrics."""
_BAYESIAN_ROPE = 0.1
Method = Literal["calibrated", NamedMethod]
"""Methods of comparison; all but the first are the papers' own."""


@dataclass(frozen=True, slots=True)
class ComparisonQuestion:
    """How models are compared."""

    approach: Method = "calibrated"
    alpha: float = 0.05
    rope: float | None = None
    """Half the width of the region of practical equivalence: in points of the score where
    `calibrated` (0.01 of scores up to 1, none of errors without a bound), as a share of the spread
    over tasks (0.1) where `bayesian`."""
    seed: int = 0

    def answer(
        self,
        scores: ScoreMatrix,
        evidence: Sequence[TaskEvidence] | str,
        metrics: Iterable[str] = (),
        intervals: Mapping[str, tuple[float, float]] = MappingProxyType({}),
    ) -> tuple[Comparison, Comparison | None]:
        """Return the comparison on new rows and that on new tasks; by a paper's method, one alone.

        `evidence` may say why there is none. `intervals` are those of the models' means.
        """
        rope = self.rope
        if self.approach != "calibrated":
            rope = _BAYESIAN_ROPE if rope is None else rope
            named = compare_by_name(
                scores, self.approach, alpha=self.alpha, rope=rope, seed=self.seed
            )
            return named, None
        if rope is None and all(map(is_bounded, (scores.metric, *metrics))):
            highest = max(abs(score) for row in scores.cells for cell in row for score in cell)
            rope = ROPE if highest <= 1 else None
        criteria = Criteria(self.alpha, rope, self.seed)
        if isinstance(evidence, str):
            test = ChosenTest("calibrated", "none", evidence, self.alpha, question="new rows")
            rows = untested(test, combinations(range(len(scores.models)), 2))
            return arrange(scores, rows), arrange(scores, new_tasks_by_scores(scores, criteria))
        answers = answer_questions(evidence, scores.models, criteria)
        return arrange(scores, answers.new_rows, intervals), arrange(scores, answers.new_tasks)


@dataclass(frozen=True, slots=True)
class System:
    """A model with its settings under a protocol: what is compared."""

    name: str
    """The model, with the settings and the protocol that tell it from others."""
    model: str
    protocol: str
    results: Mapping[str, tuple[Scores, ...]]
    """By task, by rising seed."""
    runs: Mapping[str, tuple[RunRecord, ...]] = field(default_factory=dict)
    """The stored runs of these results; none where they come from elsewhere."""

    def every(self) -> tuple[RunRecord, ...]:
        """Return all its runs, by task and seed."""
        return tuple(run for _, runs in sorted(self.runs.items()) for run in runs)

    def scores(self, task: str) -> list[float]:
        """Return its scores on a task by rising seed, without those that are undefined."""
        values = (ranking_score(scores).value for scores in self.results.get(task, ()))
        return [value for value in values if value is not None]

    def mean(self, *tasks: str) -> float | None:
        """Return the mean over tasks of the mean over seeds; None where it has no score."""
        return mean_of(fmean(scores) for task in tasks if (scores := self.scores(task)))


@dataclass(frozen=True, slots=True)
class CompleteBlock:
    """Models and tasks of which every model was run on every task."""

    models: tuple[str, ...]
    tasks: tuple[str, ...]
    left_out: tuple[str, ...]
    """Models and tasks outside the ranking, with the reason, a sentence each."""


@dataclass(frozen=True, slots=True)
class ComparisonResult:
    """Comparison of models by their stored runs, or by scores from elsewhere."""

    systems: tuple[System, ...]
    """By name, also those that are left out of the ranking."""
    tasks: tuple[str, ...]
    metrics: Mapping[str, str]
    """Metric that ranks on each task, higher is better."""
    block: CompleteBlock
    """Models and tasks that are ranked."""
    comparison: Comparison | str
    """Or why there is none."""
    new_tasks: Comparison | None
    """Comparison on new tasks, where `comparison` is on new rows of these tasks."""
    without_value: tuple[str, ...]
    """Runs whose score is undefined, a sentence each."""
    elsewhere: tuple[RunRecord, ...] = ()
    """On another split of the same tasks: not comparable."""
    every: tuple[RunRecord, ...] = ()
    """All stored runs of the tasks, also those that are not compared."""
    origin: str = ""
    """What the scores are and where they were read; empty where they are those of stored runs."""

    @property
    def metric(self) -> str:
        """Return the name of the score that ranks."""
        names = {self.metrics[task] for task in self.block.tasks or self.tasks}
        return names.pop() if len(names) == 1 else MIXED

    @property
    def ranked(self) -> tuple[System, ...]:
        """Return all systems, those of the ranking first and by place, the others by mean."""
        models = self.comparison.models if isinstance(self.comparison, Comparison) else ()
        places = {name: at for at, name in enumerate(models)}

        def order(system: System) -> tuple[int, float, str]:
            mean = system.mean(*system.results)
            place = places.get(system.name, len(places))
            return place, inf if mean is None else -mean, system.name

        return tuple(sorted(self.systems, key=order))

    @property
    def runs(self) -> tuple[RunRecord, ...]:
        """Return the runs of all systems."""
        return tuple(run for system in self.systems for run in system.every())

    def ranked_on(self, task: str) -> list[System]:
        """Return the systems that ran a task, those of the ranking first."""
        return [system for system in self.ranked if task in system.results]

    def first_run(self, task: str) -> RunRecord:
        """Return a run of a task: all of them are on one split."""
        return next(system.runs[task][0] for system in self.systems if task in system.runs)

    def times_opened(self, task: str) -> int:
        """Return how often the test was opened by all runs on this split, compared or not."""
        split = task, self.first_run(task).hashes
        return sum(run.test_opened for run in self.every if (run.task, run.hashes) == split)


def mean_of(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values that are not None; None without any."""
    present = [value for value in values if value is not None]
    return fmean(present) if present else None


def on_one_split(runs: Iterable[RunRecord]) -> tuple[list[RunRecord], list[RunRecord]]:
    """Return the runs to compare, and those on other data or splits of the same tasks.

    Scores on two splits cannot be compared, so each task keeps the split that most models were
    run on; of equals, the one with more runs, then with more test rows.
    """
    tasks: dict[str, dict[tuple[str, str], list[RunRecord]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for run in runs:
        tasks[run.task][run.hashes].append(run)
    comparable: list[RunRecord] = []
    elsewhere: list[RunRecord] = []
    for _, splits in sorted(tasks.items()):
        for at, (_, members) in enumerate(sorted(splits.items(), key=_fewest_models_last)):
            (elsewhere if at else comparable).extend(members)
    return comparable, elsewhere


def _fewest_models_last(
    split: tuple[tuple[str, str], Sequence[RunRecord]],
) -> tuple[int, int, int, tuple[str, str]]:
    hashes, runs = split
    variants = {(run.model, _plain(run.settings), _plain(run.protocol)) for run in runs}
    return -len(variants), -len(runs), -runs[0].scores.examples, hashes


def systems_of(runs: Sequence[RunRecord]) -> tuple[System, ...]:
    """Group runs that differ by task and seed alone; sorted by name.

    Settings tell two systems apart where one model ran on a task with several. Raises
    `EvaluationError` where two runs then have the same task and seed, or runs of a task rank by
    different metrics.
    """
    first: dict[str, RunRecord] = {}
    for run in runs:
        other = first.setdefault(run.task, run)
        if other.scores.main != run.scores.main:
            raise EvaluationError(
                f"{other.directory} ranks by {other.scores.main}, {run.directory} by "
                f"{run.scores.main}",
                f"Run goldpan evaluate score --task {run.task}",
            )
    settings = _settings_that_differ(runs)
    protocols = {run.protocol.name for run in runs}
    grouped: dict[str, dict[str, dict[int, RunRecord]]] = defaultdict(lambda: defaultdict(dict))
    for run in runs:
        known = [name for name in settings[run.model] if name in run.settings]
        parts = [f"{name}={setting(run.settings[name])}" for name in known]
        parts += [run.protocol.name] if len(protocols) > 1 else []
        name = f"{run.model} ({', '.join(parts)})" if parts else run.model
        seeds = grouped[name][run.task]
        if run.seed in seeds:
            raise EvaluationError(
                f"{run.directory} and {seeds[run.seed].directory} are both {name} on {run.task} "
                f"with seed {run.seed}",
                "Remove the directory of the one that is out of date",
            )
        seeds[run.seed] = run
    systems = []
    for name, tasks in sorted(grouped.items()):
        ordered = {
            task: tuple(run for _, run in sorted(seeds.items()))
            for task, seeds in sorted(tasks.items())
        }
        run = next(iter(next(iter(tasks.values())).values()))
        results = {task: tuple(run.scores for run in own) for task, own in ordered.items()}
        systems.append(System(name, run.model, run.protocol.name, results, ordered))
    return tuple(systems)


def _settings_that_differ(runs: Iterable[RunRecord]) -> dict[str, list[str]]:
    """Return the settings of each model that differ on one and the same task."""
    values: dict[tuple[str, str, str], list[RunRecord]] = defaultdict(list)
    for run in runs:
        values[run.model, run.task, run.protocol.name].append(run)
    differing: dict[str, set[str]] = defaultdict(set)
    for (model, _, _), own in values.items():
        differing[model] |= {
            name
            for name in {name for run in own for name in run.settings}
            if len({_plain(run.settings.get(name)) for run in own}) > 1
        }
    return {model: sorted(names) for model, names in differing.items()}


def setting(value: object) -> str:
    """Return a setting's value as people write it."""
    return value if isinstance(value, str) else _plain(value).decode()


def _plain(value: object) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def complete(
    tasks_of: Mapping[str, Collection[str]], *, keep_models: bool = False
) -> CompleteBlock:
    """Leave out models or tasks until every model has every task.

    `tasks_of` holds the tasks of each model. The one that lacks the largest share goes first, tasks
    before models; with `keep_models` only tasks go.
    """
    models, tasks = sorted(tasks_of), sorted(set().union(*tasks_of.values()))
    left_out: list[str] = []
    while models and tasks:
        has = np.array([[task in tasks_of[model] for task in tasks] for model in models])
        if has.all():
            break
        lacking, gaps = (~has).sum(axis=0), (~has).sum(axis=1)
        task, model = int(lacking.argmax()), int(gaps.argmax())
        if keep_models or lacking[task] * len(tasks) >= gaps[model] * len(models):
            names = [name for name, scored in zip(models, has[:, task], strict=True) if not scored]
            left_out.append(f"{tasks.pop(task)} (no score of {names_text(names)})")
        else:
            names = [name for name, scored in zip(tasks, has[model], strict=True) if not scored]
            left_out.append(f"{models.pop(model)} (no score on {names_text(names)})")
    return CompleteBlock(tuple(models), tuple(tasks), tuple(left_out))

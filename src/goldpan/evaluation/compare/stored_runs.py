"""Compares the models of stored runs, on one task by its examples or over several tasks."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.tasks.task import Task
from goldpan.evaluation.compare.evidence import evidence_of
from goldpan.evaluation.compare.question import (
    ComparisonQuestion,
    ComparisonResult,
    System,
    complete,
    on_one_split,
    systems_of,
)
from goldpan.evaluation.compare.scores import TaskEvidence, check_settings, score_matrix
from goldpan.evaluation.metrics.estimate import Scores
from goldpan.evaluation.record import RunRecord, read_runs, require_runs
from goldpan.evaluation.score import ranking_score


def compare_stored(
    workspace: WorkspaceLayout,
    tasks: Mapping[str, Task],
    names: Collection[str],
    question: ComparisonQuestion,
    *,
    required: Collection[str] = (),
    models: Collection[str] = (),
    protocol: str = "",
) -> ComparisonResult:
    """Compare the stored runs of the tasks of these names, of all where none is named.

    Raises `UsageError` where a task that is `required`, a model or the protocol has no run, and
    what `compare_runs` raises.
    """
    every = read_runs(workspace, tasks=names)
    require_runs("task", required, {run.task for run in every})
    require_runs("model", models, {run.model for run in every})
    runs = [run for run in every if not models or run.model in models]
    if protocol:
        require_runs("protocol", [protocol], {run.protocol.name for run in runs})
        runs = [run for run in runs if run.protocol.name == protocol]
    return compare_runs(runs, every, tasks, question, keep_models=bool(models))


def compare_runs(
    runs: Sequence[RunRecord],
    every: Sequence[RunRecord],
    tasks: Mapping[str, Task],
    question: ComparisonQuestion,
    *,
    keep_models: bool = False,
) -> ComparisonResult:
    """Compare the models of stored runs; the same runs and question give the same result.

    `every` holds all runs of the same tasks, and `tasks` those that the registry knows. Models
    and tasks that leave gaps stay out of the ranking, which says so; with `keep_models` only
    tasks do. Raises `EvaluationError` where runs contradict each other, `StatisticsError` for
    settings that are out of range and where scipy or autorank is missing.
    """
    comparable, elsewhere = on_one_split(runs)

    def evidence(systems: Sequence[System], names: Sequence[str]) -> Sequence[TaskEvidence] | str:
        if question.approach != "calibrated":
            return "Scores alone are compared"
        found = evidence_of(systems, names, tasks)
        return f"Nothing can be said about new rows: {found}" if isinstance(found, str) else found

    result = compare_systems(systems_of(comparable), question, evidence, keep_models=keep_models)
    return replace(result, elsewhere=tuple(elsewhere), every=tuple(every))


def compare_systems(
    systems: tuple[System, ...],
    question: ComparisonQuestion,
    evidence: Callable[[Sequence[System], Sequence[str]], Sequence[TaskEvidence] | str],
    *,
    keep_models: bool = False,
) -> ComparisonResult:
    """Compare models by their scores, and by the evidence on those and the tasks that are ranked.

    Raises `StatisticsError` as `compare_runs` does.
    """
    check_settings(question.alpha, question.rope or 0.0)
    tasks_of = {
        system.name: {task for task in system.results if system.scores(task)} for system in systems
    }
    block = complete(tasks_of, keep_models=keep_models)
    every = [
        (system, task, scores)
        for system in systems
        for task, results in system.results.items()
        for scores in results
    ]
    metrics = {task: ranking_score(scores).name for _, task, scores in every}
    result = ComparisonResult(
        systems=systems,
        tasks=tuple(sorted(metrics)),
        metrics=metrics,
        block=block,
        comparison="",
        new_tasks=None,
        without_value=tuple(
            _undefined(*one) for one in every if ranking_score(one[2]).value is None
        ),
    )
    if len(systems) < 2:
        only = systems[0].name
        return replace(result, comparison=f"Only {only} was run, and a comparison needs two models")
    if len(block.models) < 2 or not block.tasks:
        return replace(result, comparison="No two models have scores on the same task")
    ranked = [system for system in systems if system.name in block.models]
    cells = {(system.name, task): system.scores(task) for system in ranked for task in block.tasks}
    known = evidence(ranked, block.tasks)
    comparison, new_tasks = question.answer(
        score_matrix(cells, result.metric),
        known,
        [metrics[task] for task in block.tasks],
        {} if isinstance(known, str) else mean_intervals(ranked, known),
    )
    return replace(result, comparison=comparison, new_tasks=new_tasks)


def mean_intervals(
    systems: Sequence[System], tasks: Sequence[TaskEvidence]
) -> dict[str, tuple[float, float]]:
    """Return the 95 % interval of each model's mean over tasks, from those of its runs.

    Either side is combined by itself (Zou and Donner 2008): tasks of one data set share units, so
    their widths add up, and those of others are independent. Seeds share a test set, so their
    widths are averaged.
    """
    intervals = {}
    for system in systems:
        below: dict[str, list[float]] = defaultdict(list)
        above: dict[str, list[float]] = defaultdict(list)
        for task in tasks:
            ranked = map(ranking_score, system.results[task.task])
            known = [
                (score.value - score.interval.low, score.interval.high - score.value)
                for score in ranked
                if score.value is not None and score.interval is not None
            ]
            if not known:
                break
            below[task.source].append(fmean(low for low, _ in known))
            above[task.source].append(fmean(high for _, high in known))
        else:
            mean = system.mean(*(task.task for task in tasks))
            assert mean is not None
            low, high = (
                math.hypot(*map(math.fsum, side.values())) / len(tasks) for side in (below, above)
            )
            intervals[system.name] = (mean - low, mean + high)
    return intervals


def _undefined(system: System, task: str, scores: Scores) -> str:
    score = ranking_score(scores)
    return f"{system.name} on {task}, seed {scores.seed}, has no {score.name}: {score.reason}"

"""Compares the models of stored runs, and of files of scores, counts or predictions."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean

import numpy as np

from goldpan.core.errors import EvaluationError, UsageError
from goldpan.core.result import count
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.tasks.task import Task
from goldpan.evaluation.compare.evidence import evidence_of
from goldpan.evaluation.compare.file_answers import SHORT, Runs, file_answers
from goldpan.evaluation.compare.question import (
    ComparisonQuestion,
    ComparisonResult,
    System,
    complete,
    on_one_split,
    systems_of,
)
from goldpan.evaluation.compare.score_files import Key, ScoreFile, Truth, check_range, is_error
from goldpan.evaluation.compare.scores import TaskEvidence, check_settings, score_matrix
from goldpan.evaluation.metrics.classification import label_metric
from goldpan.evaluation.metrics.estimate import Metric, Scores
from goldpan.evaluation.record import RunRecord, read_runs, require_runs
from goldpan.evaluation.score import ranking_score

_MOST_NAMED = 40
"""Tasks or models of a file that a message names."""


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
    old = [run for run in runs if run.task in tasks and run.labels != tasks[run.task].label_names]
    if old and len(old) == len(runs):
        names = ", ".join(sorted({run.task for run in old}))
        raise EvaluationError(
            f"All runs on {names} have other labels than their task has now",
            "Repeat them with goldpan evaluate run",
        )
    outdated = {run.directory for run in old}
    comparable, elsewhere = on_one_split(run for run in runs if run.directory not in outdated)
    elsewhere += old

    def evidence(systems: Sequence[System], names: Sequence[str]) -> Sequence[TaskEvidence] | str:
        if question.approach != "calibrated":
            return "Scores alone are compared"
        found = evidence_of(systems, names, tasks)
        return f"Nothing can be said about new rows: {found}" if isinstance(found, str) else found

    result = compare_systems(systems_of(comparable), question, evidence, keep_models=keep_models)
    return replace(result, elsewhere=tuple(elsewhere), every=tuple(every))


def compare_file(
    file: ScoreFile,
    question: ComparisonQuestion,
    *,
    metric: str = "",
    tasks: Collection[str] = (),
    models: Collection[str] = (),
) -> ComparisonResult:
    """Compare the models of a file by their test parts, of all tasks where none is named.

    Raises `UsageError` for a name that is not in it, `EvaluationError` for a metric that it does
    not allow, for rows that contradict each other, and where fewer than two models are left.
    """
    for noun, chosen, available in (
        ("task", tasks, {key.task for key in file.keys}),
        ("model", models, {key.model for key in file.keys}),
    ):
        for name in chosen:
            if name not in available:
                raise UsageError(
                    f"{file.path} has no row for the {noun} {name!r}",
                    f"It has {', '.join(sorted(available)[:_MOST_NAMED])}",
                )
    keys = [
        key
        for key in file.keys
        if (not tasks or key.task in tasks) and (not models or key.model in models)
    ]
    tests = [key for key in keys if key.part == "test"]
    if not tests:
        raise EvaluationError(
            f"{file.path} has no test row of what was asked for",
            "Name its tasks and models, or leave out the column part",
        )
    answers = None
    if file.layout == "predictions":
        answers = file_answers(file, keys, metric)
        results = answers.scores
    elif file.layout == "counts":
        results = _of_counts(file, tests, metric)
    else:
        check_range(file, metric)
        results = {key: _plain(key, {metric or "score": file.scores[key]}) for key in tests}
    runs = _runs(tests)
    own: dict[str, dict[str, tuple[Scores, ...]]] = defaultdict(dict)
    for (dataset, model), seeds in runs.items():
        own[model][dataset] = tuple(results[key] for key in seeds)

    def evidence(systems: Sequence[System], names: Sequence[str]) -> Sequence[TaskEvidence] | str:
        compared = [system.name for system in systems]
        _check_alike(file, compared, names, runs)
        if answers and question.approach == "calibrated":
            return answers.evidence(compared, names, runs)
        return f"{file.layout.capitalize()} alone do not say which rows are right: give predictions"

    systems = tuple(System(model, model, "", own[model]) for model in sorted(own))
    result = compare_systems(systems, question, evidence, keep_models=True)
    if isinstance(result.comparison, str):
        problem = next(iter(result.without_value), result.comparison)
        raise EvaluationError(
            f"{file.path}: {problem}",
            "Give scores of two models on the same task, or choose another --metric",
        )
    origin = f"{count(len(tests), 'set')} of {file.layout} from {file.path.name}"
    return replace(result, origin=origin)


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
        return replace(
            result, comparison=f"Only {only} was scored, and a comparison needs two models"
        )
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
    """Return the 95% interval of each model's mean over tasks, from those of its runs.

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


def _check_alike(
    file: ScoreFile, models: Sequence[str], datasets: Sequence[str], runs: Runs
) -> None:
    """Raise `EvaluationError` where models do not share rows, truths or labels with the others."""
    if file.layout == "scores":
        return
    noun = "row" if file.layout == "predictions" else "label"
    for dataset in datasets:
        first: set[tuple[str, Truth]] = set()
        for model in models:
            for held in _held(file, runs[dataset, model]):
                first = first or held
                if apart := sorted(name for name, _ in first ^ held):
                    raise EvaluationError(
                        f"{file.path}: {model} and the first model on {dataset} do not share the"
                        f" {noun} {apart[0]!r} with one truth",
                        f"Give every model and seed each {noun}, with the same truths",
                    )


def _held(file: ScoreFile, keys: Sequence[Key]) -> Iterator[set[tuple[str, Truth]]]:
    """Yield the rows of each seed with their truths, or the labels of each run's counts."""
    if file.layout == "counts":
        for key in keys:
            yield {(label, "") for label in file.counts[key]}
        return
    rows: dict[int, set[tuple[str, Truth]]] = defaultdict(set)
    for key in keys:
        fold = f" of fold {key.fold}" if key.fold else ""
        rows[key.seed].update((row.id + fold, row.truth) for row in file.predictions[key])
    yield from rows.values()


def _of_counts(file: ScoreFile, keys: Sequence[Key], metric: str) -> dict[Key, Scores]:
    """Return the metrics of counts, the one that ranks first.

    Raises `EvaluationError` for a metric that counts do not give.
    """
    ranked = metric.removeprefix("macro_") or "f1"
    if ranked not in SHORT:
        raise EvaluationError(f"Counts give no {metric}", f"Choose {', '.join(SHORT)}")
    names = dict.fromkeys((ranked, "precision", "recall", "f1"))
    return {key: _plain(key, {name: _of_labels(file, key, name) for name in names}) for key in keys}


def _plain(key: Key, values: Mapping[str, float | None]) -> Scores:
    """Return scores whose rows are not known, the one that ranks first."""
    return Scores(
        task=key.task,
        task_type="multi-class",
        main=next(iter(values)),
        examples=0,
        invalid=0,
        unit="",
        units=0,
        resamples=0,
        seed=key.seed,
        metrics=tuple(
            Metric(
                name,
                value,
                None,
                "it would divide by zero" if value is None else "",
                higher_is_better=not is_error(name),
            )
            for name, value in values.items()
        ),
    )


def _of_labels(file: ScoreFile, key: Key, metric: str) -> float | None:
    """Return a metric of one label, or the mean over those that occur, 0 where one has none."""
    labels = list(file.counts[key].values())
    if len(labels) == 1:
        return label_metric(labels[0], metric)
    occurring = [label for label in labels if label.tp + label.fp + label.fn]
    values = [label_metric(label, metric) or 0.0 for label in occurring]
    return float(np.mean(values)) if values else None


def _runs(keys: Sequence[Key]) -> dict[tuple[str, str], list[Key]]:
    """Return the runs of each data set and model, by seed and fold."""
    runs: dict[tuple[str, str], list[Key]] = defaultdict(list)
    for key in sorted(keys, key=lambda key: (key.seed, key.fold)):
        runs[key.dataset, key.model].append(key)
    return runs

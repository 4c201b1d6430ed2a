"""Rows that measure nothing: solved by all models, by none, or by the worse ones.

A row that half of all models would solve is solved by all of four in one case of 16, so with fewer
nothing is found. Whether better models solve it rather than worse ones is the difference between
the two halves of the models, ranked by the other rows, with Newcombe's interval.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import hypot
from statistics import fmean
from typing import Any

from goldpan.audit.finding import Finding, FindingName
from goldpan.audit.rows import Row, key_of
from goldpan.core.parquet import read_table
from goldpan.core.proportions import wilson
from goldpan.core.sealed import file_digest
from goldpan.core.workspace import Workspace, tasks_directory
from goldpan.datasets.registry import load_tasks
from goldpan.datasets.task import Task
from goldpan.evaluation.comparison.question import on_one_split, systems_of
from goldpan.evaluation.metrics.generation import extract_path
from goldpan.evaluation.resolved import RESOLVED, read_resolved
from goldpan.evaluation.runs import ABLATE, PREDICTIONS, RESULT, Run, read_runs
from goldpan.evaluation.score import PATHS

NAME: FindingName = "measures-nothing"
_FEWEST = 4
"""Models that have to agree: with these the 95 % interval of the share lies on one side of half."""
_RUN = "Run goldpan evaluate run --task {task} --model MODEL"
_RESOLVED = "goldpan evaluate resolved DATASET --predictions FILE"
_BY_TESTS = ("code-edit", "issue-resolution")
"""Families whose answers are right where tests pass."""


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Which rows the models of stored runs solve."""

    solved: Mapping[str, Mapping[str, bool]]
    """By the model with its settings, then by the row's key."""
    inputs: Mapping[str, str]
    """The digests of the predictions that were read."""
    remedy: str
    """What would bring more."""
    unscored: int = 0
    """Runs on these rows whose answers are neither right nor wrong by themselves."""


def read_outcomes(workspace: Workspace, keys: frozenset[str], family: str) -> Outcomes:
    """Return what stored runs solve of the rows of these keys.

    Runs that lack a part of the input do not count, nor those on another split than most.
    """
    tasks = load_tasks(tasks_directory(workspace.root))
    named = (
        ["code_edit"]
        if family in _BY_TESTS
        else sorted(
            task.name for task in tasks.values() if family in (task.source.builder, task.name)
        )
    )
    remedy = _RUN.format(task=named[0] if named else "TASK")
    if family in _BY_TESTS:
        remedy += f", then {_RESOLVED}"
    if not any((workspace.root / "runs").glob(f"*/*/*/{RESULT}")):
        return Outcomes({}, {}, remedy)
    runs = [
        run
        for run in read_runs(workspace)
        if run.task in tasks and ABLATE not in run.record.settings and _is_about(run, keys)
    ]
    solved: dict[str, dict[str, bool]] = {}
    inputs: dict[str, str] = {}
    unscored = 0
    for system in systems_of(on_one_split(runs)[0]):
        shares: dict[str, list[bool]] = {}
        for run in system.every():
            right = _solved(run, tasks[run.task])
            unscored += right is None
            path = run.directory / PREDICTIONS
            inputs[str(path.relative_to(workspace.root))] = file_digest(path)
            for key, is_right in (right or {}).items():
                shares.setdefault(key, []).append(is_right)
        if shares:
            solved[system.name] = {key: fmean(seeds) > 0.5 for key, seeds in shares.items()}
    return Outcomes(solved, inputs, remedy, unscored)


def find_measure(row: Row, outcomes: Outcomes) -> Finding:
    """Return whether the row tells models apart."""
    answered = {name: rows[row.key] for name, rows in outcomes.solved.items() if row.key in rows}
    if not answered:
        why = "no stored run answered it"
        remedy = outcomes.remedy
        if outcomes.unscored:
            why = "the stored answers are texts, which are neither right nor wrong by themselves"
            remedy = f"Run {_RESOLVED}"
        return Finding(NAME, "cannot-tell", why, remedy=remedy)
    right, models = sum(answered.values()), len(answered)
    share = wilson(right, models)
    if right in (0, models):
        case = "all" if right else "none"
        why = f"{case} of {models:,} models {'solve' if right else 'solves'} it"
        if models >= _FEWEST:
            return Finding(NAME, "found", why, (), case, "", share.value, share.low, share.high)
        why += f", and {_FEWEST} would have to agree"
        return Finding(NAME, "cannot-tell", why, case=case, remedy=outcomes.remedy)
    value, low, high = _discrimination(row.key, answered, outcomes.solved)
    said = (
        f"{right:,} of {models:,} models solve it; the better half rather than the other by "
        f"{value:+.2f} [{low:+.2f}, {high:+.2f}]"
    )
    if high < 0:
        return Finding(NAME, "found", said, (), "reversed", "", value, low, high)
    return Finding(NAME, "not-found", said, (), "", "", value, low, high)


def _discrimination(
    key: str, answered: Mapping[str, bool], solved: Mapping[str, Mapping[str, bool]]
) -> tuple[float, float, float]:
    """Return how much more of the better half solves a row, from -1 to 1, with its interval."""
    others = {
        name: [right for other, right in solved[name].items() if other != key] for name in answered
    }
    ranked = sorted(answered, key=lambda name: (fmean(others[name] or [0.0]), name))
    half = len(ranked) // 2
    worse, better = (
        sum(answered[name] for name in part) for part in (ranked[:half], ranked[-half:])
    )
    low, high = wilson(worse, half), wilson(better, half)
    assert low.value is not None and low.low is not None and low.high is not None
    assert high.value is not None and high.low is not None and high.high is not None
    difference = high.value - low.value
    return (
        difference,
        difference - hypot(high.value - high.low, low.high - low.value),
        difference + hypot(high.high - high.value, low.value - low.low),
    )


def _is_about(run: Run, keys: frozenset[str]) -> bool:
    ids = read_table(run.directory / PREDICTIONS, ["id"])["id"].to_pylist()
    return any(key_of(row_id) in keys for row_id in ids)


def _solved(run: Run, task: Task) -> dict[str, bool] | None:
    """Return which rows a run solves; None where only running tests could tell, and none ran."""
    if stored := read_resolved(run.directory):
        return {key_of(patch.id): patch.outcome == RESOLVED for patch in stored.patches}
    is_right: Callable[[Any, Any], bool]
    if task.type in ("binary", "multi-class"):
        is_right = _equal
    elif task.source.builder == PATHS:
        is_right = _names_path
    else:
        return None
    table = read_table(run.directory / PREDICTIONS, ["id", "truth", "answer"])
    return {
        key_of(row["id"]): row["answer"] is not None and is_right(row["answer"], row["truth"])
        for row in table.to_pylist()
    }


def _equal(answer: object, truth: object) -> bool:
    return answer == truth


def _names_path(answer: str, truth: str) -> bool:
    return extract_path(answer) == truth

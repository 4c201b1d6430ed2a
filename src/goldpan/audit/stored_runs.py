"""Rows that measure nothing: solved by all models, by none, by the worse ones, or blindly.

A row that half of all models would solve is solved by all of four in one case of 16, so with fewer
nothing is found. Whether better models solve it rather than worse ones is the difference between
the two halves of the models, ranked by the other rows, with Newcombe's interval.

Answers that are paths or texts are not guessed. So a row is also found where a baseline gives the
right one, or a model that was given no text or no code of the row. Runs that choose among replies,
the answer with them, say nothing of a row.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import hypot
from operator import eq
from pathlib import Path
from statistics import fmean
from typing import Any

from goldpan.audit.finding import Finding, FindingName
from goldpan.audit.rows import Row, key_of
from goldpan.core.proportions import wilson
from goldpan.core.result import count
from goldpan.core.storage.parquet import read_table
from goldpan.core.storage.sealed import file_digest
from goldpan.core.storage.workspace import WorkspaceLayout, tasks_directory
from goldpan.datasets.tasks.registry import load_tasks
from goldpan.datasets.tasks.task import Task
from goldpan.evaluation.compare.question import on_one_split, systems_of
from goldpan.evaluation.metrics.generation import extract_path
from goldpan.evaluation.models.baselines import MODELS as BASELINES
from goldpan.evaluation.record import ABLATE, PREDICTIONS, RESULT, RunRecord, read_runs
from goldpan.evaluation.resolved import RESOLVED, RESOLVED_FILE, read_resolved
from goldpan.evaluation.task_input import MODULES, PATHS, built_family, code_parts

NAME: FindingName = "measures-nothing"
_FEWEST = 4
"""The fewest models that have to agree for an interval of the share on one side of half."""
_BASELINES = frozenset(entry.name for entry in BASELINES)
_CHOOSING = frozenset(entry.name for entry in BASELINES if entry.make({}).columns)
"""Baselines that read more than the input, such as the replies of which one is the answer."""
_RUN = "Run goldpan evaluate run --task {task} --model MODEL"
_RESOLVED = "goldpan evaluate resolved DATASET --predictions FILE"
_BLIND = " --ablate title --ablate body"
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
    """The command that would bring more outcomes."""
    blind: Mapping[str, Mapping[str, bool]] = field(default_factory=dict)
    """The same for runs that must not be able to solve a row."""
    unscored: int = 0
    """Runs on these rows whose answers are neither right nor wrong by themselves."""
    right: Mapping[str, int] = field(init=False)
    """How many rows each model solves."""

    def __post_init__(self) -> None:
        right = {name: sum(rows.values()) for name, rows in self.solved.items()}
        object.__setattr__(self, "right", right)


def read_outcomes(workspace: WorkspaceLayout, keys: frozenset[str], family: str) -> Outcomes:
    """Return which rows of these keys stored runs solve.

    Only tasks of the family count: another one may ask something else about the same issue. Runs
    that lack a part of the input do not count, nor those on another split than most.
    """
    tasks = load_tasks(tasks_directory(workspace.root))
    families = _BY_TESTS if family in _BY_TESTS else (family,)
    named = sorted(
        task.name
        for task in tasks.values()
        if task.source.builder in families or task.name == family
    )
    remedy = _RUN.format(task=named[0] if named else "TASK")
    if family in _BY_TESTS:
        remedy += f", then {_RESOLVED}"
    elif family == "qa":  # its answers are texts: only one that cannot be known tells something
        remedy += _BLIND
    if not any((workspace.root / "runs").glob(f"*/*/*/{RESULT}")):
        return Outcomes({}, {}, remedy)
    asked = named if family else tasks
    runs = [
        run
        for run in read_runs(workspace)
        if run.task in asked and run.model not in _CHOOSING and _is_about(run, keys)
    ]
    is_blind = {run.directory: _is_blind(run, tasks[run.task]) for run in runs}
    blind = [run for run in runs if is_blind[run.directory]]
    models = [run for run in runs if not is_blind[run.directory] and ABLATE not in run.settings]
    inputs = {
        str(path.relative_to(workspace.root)): file_digest(path)
        for run in (*models, *blind)
        for path in (run.directory / PREDICTIONS,)
    }
    solved, unscored = _by_system(models, tasks, _solved)
    return Outcomes(
        solved,
        inputs,
        remedy,
        _by_system(blind, tasks, partial(_solved, as_texts=True))[0],
        unscored,
    )


def run_files(workspace: WorkspaceLayout, ids: Collection[str]) -> list[Path]:
    """Return the results of the finished runs on rows of these ids, with those of their tests."""
    keys = frozenset(map(key_of, ids))
    if not any((workspace.root / "runs").glob(f"*/*/*/{RESULT}")):
        return []
    folders = [run.directory for run in read_runs(workspace) if _is_about(run, keys)]
    files = [folder / name for folder in folders for name in (RESULT, RESOLVED_FILE)]
    return [path for path in files if path.exists()]


def _by_system(
    runs: Sequence[RunRecord],
    tasks: Mapping[str, Task],
    read: Callable[[RunRecord, Task], dict[str, bool] | None],
) -> tuple[dict[str, dict[str, bool]], int]:
    """Return the rows that systems solve in most of their runs, and how many runs have no score."""
    solved: dict[str, dict[str, bool]] = {}
    unscored = 0
    for system in systems_of(on_one_split(runs)[0]):
        shares: dict[str, list[bool]] = {}
        for run in system.every():
            right = read(run, tasks[run.task])
            unscored += right is None
            for key, is_right in (right or {}).items():
                shares.setdefault(key, []).append(is_right)
        if shares:
            lacking = system.every()[0].settings.get(ABLATE)
            name = f"{system.model} without {lacking}" if lacking else system.name
            solved[name] = {key: fmean(seeds) > 0.5 for key, seeds in shares.items()}
    return solved, unscored


def find_measure(row: Row, outcomes: Outcomes) -> Finding:
    """Return whether the row tells models apart."""
    if able := sorted(name for name, rows in outcomes.blind.items() if rows.get(row.key)):
        why = f"solved by {' and '.join(able)}, which reads neither the text nor the code"
        return Finding(NAME, "found", why, (), "solved-without")
    answered = {name: rows[row.key] for name, rows in outcomes.solved.items() if row.key in rows}
    if not answered:
        why = "no stored run of a model that reads the row has answered it"
        if outcomes.unscored:
            why = "the stored answers are texts, which are neither right nor wrong by themselves"
        return Finding(NAME, "cannot-tell", why, remedy=outcomes.remedy)
    right, models = sum(answered.values()), len(answered)
    share = wilson(right, models)
    if right in (0, models):
        case = "all" if right else "none"
        why = f"{case} of {count(models, 'model')} {'solve' if right else 'solves'} it"
        if models >= _FEWEST:
            return Finding(NAME, "found", why, (), case, "", share.value, share.low, share.high)
        why += f", and {_FEWEST} would have to agree"
        return Finding(NAME, "cannot-tell", why, case=case, remedy=outcomes.remedy)
    value, low, high = _discrimination(answered, outcomes)
    why = (
        f"{right:,} of {models:,} models solve it; the better half of them minus the worse: "
        f"{value:+.2f} [{low:+.2f}, {high:+.2f}]"
    )
    if high < 0:
        return Finding(NAME, "found", why, (), "reversed", "", value, low, high)
    return Finding(NAME, "not-found", why, (), "", "", value, low, high)


def _discrimination(answered: Mapping[str, bool], outcomes: Outcomes) -> tuple[float, float, float]:
    """Return how much more of the better half solves a row, from -1 to 1, with its interval."""
    others = {
        name: (outcomes.right[name] - is_right) / max(1, len(outcomes.solved[name]) - 1)
        for name, is_right in answered.items()
    }
    ranked = sorted(answered, key=lambda name: (others[name], name))
    half = len(ranked) // 2
    worse, better = (
        sum(answered[name] for name in part) / half for part in (ranked[:half], ranked[-half:])
    )
    # Newcombe's interval of the difference of two shares.
    low, high = wilson(worse * half, half), wilson(better * half, half)
    assert low.low is not None and low.high is not None
    assert high.low is not None and high.high is not None
    difference = better - worse
    return (
        difference,
        difference - hypot(better - high.low, low.high - worse),
        difference + hypot(high.high - better, worse - low.low),
    )


def _is_blind(run: RunRecord, task: Task) -> bool:
    """Tell whether a run must not be able to solve rows: a baseline, or without text or code."""
    if task.type != "text-generation":
        return False
    if run.model in _BASELINES:
        return True
    family, removed = built_family(task), set(run.settings.get(ABLATE, "").split("+"))
    if family is None:
        return False
    texts, code = [name for name in MODULES if name in family.inputs], code_parts(family)
    return any(parts and removed.issuperset(parts) for parts in (texts, code))


def _is_about(run: RunRecord, keys: frozenset[str]) -> bool:
    ids = read_table(run.directory / PREDICTIONS, ["id"])["id"].to_pylist()
    return any(key_of(row_id) in keys for row_id in ids)


def _solved(run: RunRecord, task: Task, *, as_texts: bool = False) -> dict[str, bool] | None:
    """Return which rows a run solves; None where only running tests could tell, and none ran.

    With `as_texts`, other answers are right where they give the truth word for word.
    """
    if stored := read_resolved(run.directory):
        return {key_of(patch.id): patch.outcome == RESOLVED for patch in stored.patches}
    is_right: Callable[[Any, Any], bool]
    if task.type in ("binary", "multi-class"):
        is_right = eq
    elif task.source.builder == PATHS:
        is_right = _names_path
    elif as_texts:
        is_right = _has_words
    else:
        return None
    table = read_table(run.directory / PREDICTIONS, ["id", "truth", "answer"])
    return {
        key_of(row["id"]): row["answer"] is not None and is_right(row["answer"], row["truth"])
        for row in table.to_pylist()
    }


def _names_path(answer: str, truth: str) -> bool:
    return extract_path(answer) == truth


def _has_words(answer: str, truth: str) -> bool:
    return answer.split() == truth.split()

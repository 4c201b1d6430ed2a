"""Cells of FAUN-Eval from finished runs of a workspace (Tables 4 and 5, Figure 3).

Rows are `TASK: METRIC`, with the parts of the input that were shown after a comma; columns are the
recipe's models by their titles, and Average. Settings: `changes`, for scores in percent of the
whole input's, without a sign; `lengths`, for what section 5.3 says of each model (a row) on
short, medium and long inputs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum
from pathlib import Path

from goldpan.papers.faun_eval.built_datasets import dataset_gaps
from goldpan.plugins import evaluation
from goldpan.plugins.data import (
    GoldpanError,
    Task,
    WorkspaceLayout,
    find_task,
    task_directory,
    tasks_directory,
)

_TASKS = {"QA": "qa", "FL": "fault_localization", "CE": "code_edit"}
_METRICS = {
    "BLEU": "sentence_bleu",
    "ROUGE-L": "rouge_l",
    "ROUGE-1": "rouge_1",
    "ES": "edit_similarity",
    "average": "faun_average",
    "EM": "exact_match",
    "CodeBLEU": "codebleu",
}
_ABLATE = "ablate"
_AVERAGE = "Average"
_PROFILE = "faun-eval"
_ROWS = 300
"""Test rows of each of the paper's datasets."""


@dataclass(frozen=True, slots=True)
class _Stored:
    workspace: WorkspaceLayout
    run: evaluation.Run
    title: str
    """The model's name in the tables."""
    shown: str
    """The parts of the input, such as IT+IB."""
    whole: bool
    """True where those are all parts."""
    as_printed: bool
    """True where it ran under the paper's protocol."""
    note: str = ""
    """In what the run differs from the paper's, beside its rows."""


def compute(
    context: evaluation.PaperContext,
    table: evaluation.TableRecipe,
    changes: bool = False,
    lengths: bool = False,
    averages: Mapping[str, tuple[str, ...]] = {},
) -> Iterator[evaluation.CellOutcome]:
    """Yield the cells of models that have finished runs; of several seeds, the mean.

    `averages` has the models over which rows of a task are averaged, where those are not all.
    """
    stored = _stored_runs(context)
    if not stored:
        names = ", ".join(model.name for model in context.recipe.models[:3])
        context.note(
            "No finished run of the paper's models is in a workspace: cells come from goldpan"
            " evaluate run --task qa --model prompted --set model=NAME --protocol"
            f" {context.recipe.protocol} --workspace DIR (NAME: {names} and so on), from"
            " --task fault_localization and code_edit, and with --ablate title and the like."
        )
    if lengths:
        yield from _by_length(context, table, stored)
        return
    for row in table.rows:
        models = averages.get(row.partition(": ")[0]) or tuple(
            name for name in table.columns if name != _AVERAGE
        )
        scores = _row(row, stored, models)
        if changes:
            wholes = _row(row.partition(",")[0], stored, models)
            scores = {
                title: replace(score, value=100 * abs(change))
                for title, score in scores.items()
                if title in wholes
                and (change := evaluation.relative_change(wholes[title].value, score.value))
                is not None
            }
        yield from (
            evaluation.CellOutcome(row, title, score.value, *_state(score), {"rows": score.rows})
            for title, score in scores.items()
            if title in table.columns
        )


@dataclass(frozen=True, slots=True)
class _Score:
    value: float
    rows: int
    note: str


def _mean(scores: Sequence[_Score]) -> _Score:
    """Return the mean of scores, and of what it is made."""
    notes = "; ".join(dict.fromkeys(score.note for score in scores if score.note))
    mean = fsum(score.value for score in scores) / len(scores)
    return _Score(mean, min(score.rows for score in scores), notes)


def _state(score: _Score) -> tuple[evaluation.State, str]:
    other = "" if score.rows == _ROWS else f"{score.rows:,} of {_ROWS} rows"
    if score.rows > _ROWS:
        other = f"{score.rows:,} rows, not {_ROWS}"
    note = "; ".join(filter(None, (other, score.note)))
    return ("in part" if note else "run"), note


def _row(row: str, stored: Sequence[_Stored], averaged: Sequence[str]) -> dict[str, _Score]:
    """Return scores by the models' titles, and their average where all of `averaged` ran.

    Of several seeds it is the mean.
    """
    name, _, shown = row.partition(", ")
    task, _, metric = name.partition(": ")
    values: dict[str, list[_Score]] = defaultdict(list)
    for entry in stored:
        if entry.run.task != _TASKS[task] or (entry.shown != shown if shown else not entry.whole):
            continue
        value = entry.run.scores.value(_METRICS[metric])
        if value is not None:
            values[entry.title].append(_Score(value, entry.run.scores.examples, entry.note))
    means = {title: _mean(scores) for title, scores in values.items()}
    if set(averaged) <= set(means):
        means[_AVERAGE] = _mean([means[title] for title in averaged])
    return means


def _by_length(
    context: evaluation.PaperContext, table: evaluation.TableRecipe, stored: Sequence[_Stored]
) -> Iterator[evaluation.CellOutcome]:
    """Yield what holds of the thirds' scores, which are means of several seeds."""
    runs: dict[tuple[str, str], list[_Stored]] = defaultdict(list)
    for entry in stored:
        if entry.whole and entry.title in table.rows:
            runs[entry.title, entry.run.task].append(entry)
    for (title, task), entries in runs.items():
        values: dict[str, list[float]] = {name: [] for name in evaluation.THIRDS}
        try:
            all_thirds = [third for entry in entries for third in _thirds(entry)]
        except GoldpanError as error:  # the rows of this run are others now; further runs may count
            context.problem(str(error))
            continue
        for third in all_thirds:
            values[third.name].append(third.scores.value(third.scores.main) or 0.0)
        scores = {
            name: evaluation.as_decimal(fsum(seeds) / len(seeds)) for name, seeds in values.items()
        }
        short, medium, long = scores.values()
        column, value = {
            "qa": ("QA: worst", _lowest(scores)),
            "fault_localization": ("FL: medium against short", _word(medium, short)),
            "code_edit": ("CE: long against medium", _word(long, medium)),
        }[task]
        facts = {"thirds": scores, "seeds": sorted(entry.run.seed for entry in entries)}
        state = _state(
            _mean([_Score(0.0, entry.run.scores.examples, entry.note) for entry in entries])
        )
        yield evaluation.CellOutcome(title, column, value, *state, facts)


def _word(score: float, other: float) -> str:
    return "lower" if score < other else "higher" if score > other else "equal"


def _lowest(scores: Mapping[str, float]) -> str:
    """Return the names of the lowest scores: several where they tie, `equal` where all do."""
    names = [name for name, score in scores.items() if score == min(scores.values())]
    return "equal" if len(names) == len(scores) else " and ".join(names)


def _thirds(entry: _Stored) -> tuple[evaluation.Third, ...]:
    task = find_task(entry.run.task, tasks_directory(entry.workspace.root))
    directory = _dataset(entry.workspace, task)
    rows = evaluation.scored_input(entry.workspace, task, entry.run.data_hash, directory)
    predictions = entry.run.predictions()
    return evaluation.score_by_length(
        task, predictions, evaluation.input_lengths(rows), seed=entry.run.seed, files=rows.files
    )


def _dataset(workspace: WorkspaceLayout, task: Task) -> Path:
    """Return where a task's dataset lies: that of the plan's name before others."""
    named = workspace.dataset(f"{_PROFILE}-{task.source.builder}")
    return named if named.exists() else task_directory(workspace, task)


def _stored_runs(context: evaluation.PaperContext) -> list[_Stored]:
    stored = []
    for workspace in evaluation.workspaces(context):
        names = [name for name in _TASKS.values() if (workspace.root / "runs" / name).is_dir()]
        for run in evaluation.read_runs(workspace, tasks=names) if names else ():
            model = evaluation.model_of(context.recipe.models, run)
            task = find_task(run.task, tasks_directory(workspace.root))
            family = evaluation.built_family(task)
            if model is None or family is None:
                continue
            removed = tuple(filter(None, str(run.settings.get(_ABLATE, "")).split("+")))
            shown = evaluation.without(family, removed).name
            name = run.protocol.name
            asked = "" if name == context.recipe.protocol else f"under the protocol {name}"
            gaps = dataset_gaps(_dataset(workspace, task), _PROFILE)
            note = "; ".join(filter(None, (asked, *gaps)))
            stored.append(_Stored(workspace, run, model.title, shown, not removed, not asked, note))
    return _closest(stored)


def _closest(stored: Sequence[_Stored]) -> list[_Stored]:
    """Return the runs of each model and input under the paper's protocol, others where none is."""
    as_printed = {_subject(entry) for entry in stored if entry.as_printed}
    return [entry for entry in stored if entry.as_printed or _subject(entry) not in as_printed]


def _subject(entry: _Stored) -> tuple[str, str, str]:
    return entry.run.task, entry.title, entry.shown

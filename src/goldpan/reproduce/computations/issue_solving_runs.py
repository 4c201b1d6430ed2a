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
from typing import Any

from pydantic import BaseModel, ConfigDict

from goldpan.core.workspace import Workspace
from goldpan.datasets.registry import find_task, tasks_directory
from goldpan.evaluation.ablation import relative_change, without
from goldpan.evaluation.lengths import Third, score_by_length
from goldpan.evaluation.runs import Run, read_runs
from goldpan.evaluation.task_input import built_family, input_lengths, scored_input
from goldpan.reproduce.cells import Outcome, State
from goldpan.reproduce.context import Context
from goldpan.reproduce.recipe import TableRecipe
from goldpan.reproduce.recipe_runs import model_of
from goldpan.reproduce.scores import parsed
from goldpan.reproduce.workspaces import workspaces

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
_ROWS = 300
"""Test rows of each of the paper's datasets."""


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    changes: bool = False
    lengths: bool = False
    averages: Mapping[str, tuple[str, ...]] = {}
    """Models over which rows of a task are averaged, where those are not all."""


@dataclass(frozen=True, slots=True)
class _Stored:
    workspace: Workspace
    run: Run
    title: str
    """Of the model, as the tables print it."""
    shown: str
    """The parts of the input, such as IT+IB."""
    whole: bool
    """Whether those are all parts."""
    note: str = ""
    """In what the run differs from the paper's, beside its rows."""


def compute(context: Context, table: TableRecipe, settings: Mapping[str, Any]) -> Iterator[Outcome]:
    """Yield the cells of models that have finished runs; of several seeds, the mean."""
    chosen = parsed(_Settings, settings)
    stored = _stored_runs(context)
    if chosen.lengths:
        yield from _by_length(table, stored)
        return
    for row in table.rows:
        scores = _row(row, stored)
        if chosen.changes:
            wholes = _row(row.partition(",")[0], stored)
            scores = {
                title: replace(score, value=100 * abs(change))
                for title, score in scores.items()
                if title in wholes
                and (change := relative_change(wholes[title].value, score.value)) is not None
            }
        outcomes = [
            Outcome(row, title, score.value, *_state(score), {"rows": score.rows})
            for title, score in scores.items()
            if title in table.columns
        ]
        yield from outcomes
        models = chosen.averages.get(row.partition(": ")[0]) or tuple(
            name for name in table.columns if name != _AVERAGE
        )
        if not chosen.changes and _AVERAGE in table.columns and set(models) <= set(scores):
            yield Outcome(row, _AVERAGE, *_mean([scores[name] for name in models]))


@dataclass(frozen=True, slots=True)
class _Score:
    value: float
    rows: int
    note: str


def _mean(scores: Sequence[_Score]) -> tuple[float, State, str]:
    """Return the mean of models' scores, and of what it is made."""
    notes = "; ".join(dict.fromkeys(score.note for score in scores if score.note))
    mean = fsum(score.value for score in scores) / len(scores)
    return mean, *_state(_Score(mean, min(score.rows for score in scores), notes))


def _state(score: _Score) -> tuple[State, str]:
    few = f"{score.rows:,} of {_ROWS} rows" if score.rows < _ROWS else ""
    note = "; ".join(filter(None, (few, score.note)))
    return ("in part" if note else "run"), note


def _row(row: str, stored: Sequence[_Stored]) -> dict[str, _Score]:
    """Return scores, means of several seeds, by the models' titles."""
    name, _, shown = row.partition(", ")
    task, _, metric = name.partition(": ")
    values: dict[str, list[_Score]] = defaultdict(list)
    for entry in stored:
        if entry.run.task != _TASKS[task] or (entry.shown != shown if shown else not entry.whole):
            continue
        value = entry.run.scores.value(_METRICS[metric])
        if value is not None:
            values[entry.title].append(_Score(value, entry.run.scores.examples, entry.note))
    return {
        title: _Score(
            fsum(score.value for score in scores) / len(scores),
            min(score.rows for score in scores),
            scores[0].note,
        )
        for title, scores in values.items()
    }


def _by_length(table: TableRecipe, stored: Sequence[_Stored]) -> Iterator[Outcome]:
    for entry in stored:
        if not entry.whole or entry.title not in table.rows:
            continue
        thirds = _thirds(entry)
        scores = [third.scores.value(third.scores.main) or 0.0 for third in thirds]
        names = [third.name for third in thirds]
        facts = {"thirds": dict(zip(names, scores, strict=True)), "seed": entry.run.seed}
        column, value = {
            "qa": ("QA: worst", names[scores.index(min(scores))]),
            "fault_localization": ("FL: medium against short", _word(scores[1], scores[0])),
            "code_edit": ("CE: long against medium", _word(scores[2], scores[1])),
        }[entry.run.task]
        state = _state(_Score(0.0, entry.run.scores.examples, entry.note))
        yield Outcome(entry.title, column, value, *state, facts)


def _word(score: float, other: float) -> str:
    return "lower" if score < other else "higher" if score > other else "equal"


def _thirds(entry: _Stored) -> tuple[Third, ...]:
    task = find_task(entry.run.task, tasks_directory(entry.workspace.root))
    directory = entry.workspace.dataset(f"faun-eval-{task.source.builder}")
    rows = scored_input(
        entry.workspace,
        task,
        entry.run.record.data_hash,
        directory if directory.exists() else None,
    )
    predictions = entry.run.predictions()
    return score_by_length(
        task, predictions, input_lengths(rows), seed=entry.run.seed, files=rows.files
    )


def _stored_runs(context: Context) -> list[_Stored]:
    stored = []
    for workspace in workspaces(context):
        names = [name for name in _TASKS.values() if (workspace.root / "runs" / name).is_dir()]
        for run in read_runs(workspace, tasks=names) if names else ():
            model = model_of(context.recipe.models, run)
            task = find_task(run.task, tasks_directory(workspace.root))
            family = built_family(task)
            if model is None or family is None:
                continue
            removed = tuple(filter(None, str(run.record.settings.get(_ABLATE, "")).split("+")))
            shown = without(family, removed).name
            name = run.record.protocol.name
            note = "" if name == context.recipe.protocol else f"under the protocol {name}"
            stored.append(_Stored(workspace, run, model.title, shown, not removed, note))
    return _closest(stored)


def _closest(stored: Sequence[_Stored]) -> list[_Stored]:
    """Return the runs of each model and input under the paper's protocol, others where none is."""
    as_printed = {_subject(entry) for entry in stored if not entry.note}
    return [entry for entry in stored if not entry.note or _subject(entry) not in as_printed]


def _subject(entry: _Stored) -> tuple[str, str, str]:
    return entry.run.task, entry.title, entry.shown

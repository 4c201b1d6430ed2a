"""The competition of NLBSE'24 on issue reports: its ranking, and the cells of its table.

Each of five repositories has a model of its own, whose score is the mean F1 of the three classes on
the repository's test issues; entries are ranked by the mean of the five.

Settings of `cells`: `task`; `columns`, the repository of each column; `mean`, the column of the
mean; `published`, result files by the table's row. Runs follow the recipe's protocol and stand
under their titles.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import orjson

from goldpan.plugins import evaluation
from goldpan.plugins.data import DatasetError, Task, UsageError, read_toml

TASK = "nlbse24_issue_type"
_BASELINES = read_toml(Path(__file__).with_name("nlbse24_published.toml")).values
REPOSITORIES = tuple(_BASELINES["repositories"])
_EXAMPLES = 300
"""Official test issues of each repository."""


@dataclass(frozen=True, slots=True)
class IssueEntry:
    """An entry of the ranking."""

    name: str
    place: int
    f1: Mapping[str, float]
    """By repository; means over seeds."""
    mean: float
    published: bool
    """True for figures of the organizers, not of a run."""


@dataclass(frozen=True, slots=True)
class IssueRanking:
    """The organizers' baselines and all that ran the protocol on the official test."""

    entries: tuple[IssueEntry, ...]
    incomplete: tuple[str, ...]
    """Why a system is not ranked, a sentence each."""


def issue_ranking(systems: Iterable[evaluation.System]) -> IssueRanking | None:
    """Rank the systems that ran the task under the protocol; None where none did."""
    scores: dict[str, dict[str, float]] = {}
    incomplete = []
    for system in systems:
        runs = [run for run in system.runs.get(TASK, ()) if run.protocol.model_per == "repo"]
        if runs and all(map(_is_official, runs)):
            scores[system.name] = {
                name: fmean(_f1(run, name) for run in runs) for name in REPOSITORIES
            }
        elif runs:
            incomplete.append(f"{system.name} ran on other rows than the official test")
    if not scores and not incomplete:
        return None
    published: dict[str, dict[str, float]] = {
        name: dict(zip(REPOSITORIES, values, strict=True))
        for name, values in _BASELINES["published"].items()
    }
    every = {**published, **scores}
    entries = tuple(
        IssueEntry(entry.name, entry.place, every[entry.name], entry.score, entry.name in published)
        for entry in evaluation.rank({name: fmean(f1.values()) for name, f1 in every.items()})
    )
    return IssueRanking(entries, tuple(incomplete))


def _is_official(run: evaluation.Run) -> bool:
    by = run.scores_by.get("repo")
    return by is not None and {part.value: part.examples for part in by.parts} == dict.fromkeys(
        REPOSITORIES, _EXAMPLES
    )


def _f1(run: evaluation.Run, repository: str) -> float:
    parts = run.scores_by["repo"].parts
    return next(part.score or 0.0 for part in parts if part.value == repository)


def _section(
    compared: evaluation.ComparisonResult,
    tasks: Mapping[str, Task],
    materials: evaluation.RowsByTask,
) -> evaluation.Section | None:
    ranking = issue_ranking(compared.systems)
    if ranking is None:
        return None
    reading_dates = {system.name for system in compared.systems if system.uses_dates}
    rows: tuple[tuple[evaluation.Cell, ...], ...] = tuple(
        (
            entry.place,
            entry.name + " (reads the date)" * (entry.name in reading_dates),
            entry.mean,
            *(entry.f1[name] for name in REPOSITORIES),
            "published" if entry.published else "run here",
        )
        for entry in ranking.entries
    )
    table = evaluation.ReportTable(
        "NLBSE'24 issue reports",
        ("place", "model", "mean F1", *REPOSITORIES, "figures"),
        rows,
        "One model for each repository; ranked by the mean of the five repositories' F1.",
    )
    sentences = [evaluation.Remark(f"{sentence}.") for sentence in ranking.incomplete]
    return evaluation.Section("nlbse24", "The NLBSE'24 competition", (table, *sentences))


SECTION = evaluation.ReportSection("nlbse24", _section)


class _RepositorySettings(evaluation.StrictModel):
    task: str
    columns: Mapping[str, str]
    mean: str
    published: Mapping[str, str] = {}


@evaluation.runs_models
def cells(
    context: evaluation.PaperContext, table: evaluation.TableRecipe, settings: _RepositorySettings
) -> Iterator[evaluation.CellOutcome]:
    """Yield means of printed rows, published files, and runs of the recipe's baselines."""
    for row in table.rows:
        values = [table.number(row, column) for column in settings.columns]
        if present := [value for value in values if value is not None]:
            yield evaluation.CellOutcome(
                row, settings.mean, math.fsum(present) / len(present), "recomputed"
            )
    for row, key in settings.published.items():
        try:
            yield from _outcomes(settings, row, _published(context, settings, key), "recomputed")
        except evaluation.MissingFileError:
            continue
    task = context.recipe.task(settings.task)
    if task is None:
        raise UsageError(f"The recipe has no task {settings.task}", "Add it to [[tasks]]")
    ready = evaluation.prepared(context, task)
    for model in evaluation.find_models(context.recipe, context.effort.models):
        result = evaluation.run_of(
            context, ready.data, model, evaluation.find_protocol(context.recipe.protocol)
        )
        if result is None or model.title not in (*table.rows, *table.own):
            continue
        parts = {part.value: part.score for part in result.record.scores_by["repo"].parts}
        if missing := [name for name in settings.columns.values() if name not in parts]:
            context.note(f"{model.title} has no test row of {', '.join(missing)}, so no scores.")
            continue
        scores = {name: parts[name] or 0.0 for name in settings.columns.values()}
        limit = context.effort.limit
        notes = [*ready.notes, *([] if limit is None else [f"at most {limit:,} rows"])]
        state: evaluation.State = "in part" if notes else "run"
        yield from _outcomes(settings, model.title, scores, state, "; ".join(notes))


def _outcomes(
    settings: _RepositorySettings,
    row: str,
    scores: Mapping[str, float],
    state: evaluation.State,
    note: str = "",
) -> Iterator[evaluation.CellOutcome]:
    for column, repository in settings.columns.items():
        yield evaluation.CellOutcome(row, column, scores[repository], state, note)
    yield evaluation.CellOutcome(
        row, settings.mean, math.fsum(scores.values()) / len(scores), state, note
    )


def _published(
    context: evaluation.PaperContext, settings: _RepositorySettings, key: str
) -> dict[str, float]:
    file = context.file(key)
    try:
        results = orjson.loads(evaluation.read_text(file))
        return {
            name: float(results[name]["average"]["f1-score"]) for name in settings.columns.values()
        }
    except (ValueError, KeyError, TypeError) as error:
        raise DatasetError(
            f"{file.path} holds no F1 of every repository ({error})",
            "Give the file as its authors publish it",
        ) from None

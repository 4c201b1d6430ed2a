"""The ranking of the NLBSE'24 competition on issue reports: one model for each repository.

Each repository's score is the mean F1 of the three classes on its own test issues; entries are
ranked by the mean over the five repositories.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean

from goldpan.plugins.datasets import Task
from goldpan.plugins.evaluation import ComparisonResult, Run, System, rank
from goldpan.plugins.report import Cell, Remark, ReportSection, ReportTable, RowsByTask, Section

TASK = "nlbse24_issue_type"
REPOSITORIES = (
    "bitcoin/bitcoin",
    "facebook/react",
    "microsoft/vscode",
    "opencv/opencv",
    "tensorflow/tensorflow",
)
_EXAMPLES = 300
"""Official test issues of each repository."""

PUBLISHED: Mapping[str, tuple[float, float, float, float, float]] = {
    "SetFit (organizers)": (0.7555, 0.8718, 0.8262, 0.8173, 0.8644),
    "RoBERTa (organizers)": (0.7526, 0.8441, 0.7643, 0.7422, 0.8585),
    "fastText (organizers)": (0.6618, 0.7876, 0.7275, 0.7088, 0.7063),
}
"""F1 by repository, in the order of `REPOSITORIES`: SetFit as the competition's README prints it,
the others as `output/*/results.json` there holds them, at commit 2927bc6."""


@dataclass(frozen=True, slots=True)
class IssueEntry:
    """An entry of the ranking."""

    name: str
    place: int
    f1: Mapping[str, float]
    """By repository; means over seeds."""
    mean: float
    published: bool
    """Whether its figures are the organizers', not a run's."""


@dataclass(frozen=True, slots=True)
class IssueRanking:
    """The organizers' baselines and all that ran the protocol on the official test."""

    entries: tuple[IssueEntry, ...]
    incomplete: tuple[str, ...]
    """Why a system is not ranked, a sentence each."""


def issue_ranking(systems: Iterable[System]) -> IssueRanking | None:
    """Rank the systems that ran the task under the protocol; None where none did."""
    scores: dict[str, dict[str, float]] = {}
    incomplete = []
    for system in systems:
        runs = [run for run in system.runs.get(TASK, ()) if run.record.protocol.model_per == "repo"]
        if runs and all(map(_is_official, runs)):
            scores[system.name] = {
                name: fmean(_f1(run, name) for run in runs) for name in REPOSITORIES
            }
        elif runs:
            incomplete.append(f"{system.name} ran on other rows than the official test")
    if not scores and not incomplete:
        return None
    published = {
        name: dict(zip(REPOSITORIES, values, strict=True)) for name, values in PUBLISHED.items()
    }
    every = {**published, **scores}
    entries = tuple(
        IssueEntry(entry.name, entry.place, every[entry.name], entry.score, entry.name in published)
        for entry in rank({name: fmean(f1.values()) for name, f1 in every.items()})
    )
    return IssueRanking(entries, tuple(incomplete))


def _is_official(run: Run) -> bool:
    by = run.record.scores_by.get("repo")
    return by is not None and {part.value: part.examples for part in by.parts} == dict.fromkeys(
        REPOSITORIES, _EXAMPLES
    )


def _f1(run: Run, repository: str) -> float:
    parts = run.record.scores_by["repo"].parts
    return next(part.score or 0.0 for part in parts if part.value == repository)


def _section(
    compared: ComparisonResult, tasks: Mapping[str, Task], materials: RowsByTask
) -> Section | None:
    ranking = issue_ranking(compared.systems)
    if ranking is None:
        return None
    reading_dates = {system.name for system in compared.systems if system.uses_dates}
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            entry.place,
            entry.name + " (reads the date)" * (entry.name in reading_dates),
            entry.mean,
            *(entry.f1[name] for name in REPOSITORIES),
            "published" if entry.published else "run here",
        )
        for entry in ranking.entries
    )
    table = ReportTable(
        "NLBSE'24 issue reports",
        ("place", "model", "mean F1", *REPOSITORIES, "figures"),
        rows,
        "One model for each repository; ranked by the mean of the five repositories' F1.",
    )
    sentences = [Remark(f"{sentence}.") for sentence in ranking.incomplete]
    return Section("nlbse24", "The NLBSE'24 competition", (table, *sentences))


SECTION = ReportSection("nlbse24", _section)

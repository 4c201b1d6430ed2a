"""The competition of NLBSE'24 on issue reports: its ranking.

Each of five repositories has a model of its own, whose score is the mean F1 of the three classes on
the repository's test issues; entries are ranked by the mean of the five.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from goldpan.plugins import evaluation
from goldpan.plugins.data import Task, read_toml

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
    means = {name: fmean(f1.values()) for name, f1 in every.items()}
    entries = tuple(
        IssueEntry(name, place, every[name], means[name], name in published)
        for name, place in evaluation.rank(means).items()
    )
    return IssueRanking(entries, tuple(incomplete))


def _is_official(run: evaluation.RunRecord) -> bool:
    by = run.scores_by.get("repo")
    return by is not None and {part.value: part.examples for part in by.parts} == dict.fromkeys(
        REPOSITORIES, _EXAMPLES
    )


def _f1(run: evaluation.RunRecord, repository: str) -> float:
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
    rows: tuple[tuple[evaluation.Cell, ...], ...] = tuple(
        (
            entry.place,
            entry.name,
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

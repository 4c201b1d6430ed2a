"""Puts the report on a comparison together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from goldpan.core.workspace import Workspace
from goldpan.datasets.task import Task
from goldpan.evaluation.comparing import ComparisonResult
from goldpan.evaluation.ecser import study_of
from goldpan.evaluation.report import summary
from goldpan.evaluation.report.conditions import conditions_section
from goldpan.evaluation.report.costs import costs_section
from goldpan.evaluation.report.curves import curves
from goldpan.evaluation.report.leakage import distances
from goldpan.evaluation.report.materials import Material, read_material
from goldpan.evaluation.report.measures import confusion, drift, metrics
from goldpan.evaluation.report.ranking import ranking_section
from goldpan.evaluation.report.shapes import Content, Report, Section
from goldpan.evaluation.report.shortcuts import shortcuts_section, wanted_rows
from goldpan.evaluation.report.significance import significance
from goldpan.evaluation.report.training import retraining, splits, testing, training, tuning
from goldpan.evaluation.report.worst_errors import Wrong, find_mistakes, mistakes_section
from goldpan.evaluation.statistics.step_shapes import Skipped
from goldpan.evaluation.statistics.steps import steps
from goldpan.evaluation.statistics.study import Study
from goldpan.evaluation.suites import comment_ranking

_NOTES = {
    6: "How often each right label was answered with each label.",
    7: "All that is measured on the test sets.",
    8: "How much lower scores are where a model has not seen the answers.",
    9: "What models trade between finding more and being wrong more often.",
    10: "Which differences are more than chance.",
}


def make_report(
    workspace: Workspace,
    compared: ComparisonResult,
    tasks: Mapping[str, Task],
    title: str = "",
) -> Report:
    """Return the whole report; the same runs give the same one.

    `tasks` are those that the registry knows; rows of others cannot be read. `title` names what
    is compared, such as a suite.
    """
    study = study_of(compared)
    comments = comment_ranking(compared.systems)
    mistakes = find_mistakes(compared)
    materials = _materials(workspace, compared, tasks, mistakes)
    harder = distances(compared, tasks, materials)
    found = [
        ranking_section(compared, comments),
        *_steps(compared, study, tasks),
        mistakes_section(compared, mistakes, materials),
        costs_section(compared),
        harder.section,
        shortcuts_section(compared, tasks, materials),
        conditions_section(compared),
    ]
    return Report(
        title=f"{title}: {summary.heading(compared)}" if title else summary.heading(compared),
        lead="Which models differ, which cannot be told apart, and what that rests on.",
        facts=summary.facts(compared),
        summary=summary.sentences(compared, comments),
        warnings=summary.warnings(compared, harder.warnings),
        sections=tuple(one for one in found if one is not None),
    )


def _steps(compared: ComparisonResult, study: Study, tasks: Mapping[str, Task]) -> list[Section]:
    """Return the ten steps of ECSER, each filled or with the reason why not."""
    fill: Mapping[int, Callable[[], tuple[Content, ...]]] = {
        1: lambda: splits(compared, study),
        2: lambda: training(compared, study),
        3: lambda: tuning(compared, study),
        4: lambda: retraining(compared, study),
        5: lambda: testing(compared),
        6: lambda: confusion(compared, study),
        7: lambda: metrics(compared),
        8: lambda: drift(compared, study),
        9: lambda: curves(compared),
        10: lambda: significance(compared, tasks),
    }
    found = []
    # Of an empty study the steps have but their names.
    for named in steps(Study(metric=study.metric), ""):
        section = Section(
            f"s{named.number}",
            named.name,
            (),
            _NOTES.get(named.number, ""),
            step=named.number,
            optional=named.optional,
        )
        try:
            found.append(replace(section, content=fill[named.number]()))
        except Skipped as skipped:
            found.append(replace(section, skipped=f"{skipped.reason.rstrip('.')}."))
    return found


def _materials(
    workspace: Workspace,
    compared: ComparisonResult,
    tasks: Mapping[str, Task],
    mistakes: Mapping[str, list[Wrong]],
) -> dict[str, Material | str]:
    found: dict[str, Material | str] = {}
    for name in compared.tasks:
        if name not in tasks:
            found[name] = f"The registry does not know {name}"
            continue
        task = tasks[name]
        runs = [run for one in compared.systems for run in one.runs.get(name, ())]
        wanted = {one.id for one in mistakes.get(name, ())} | set(wanted_rows(compared, task))
        found[name] = read_material(workspace, task, runs, wanted)
    return found

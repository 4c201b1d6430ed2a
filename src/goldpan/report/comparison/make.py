"""Puts the report on a comparison together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from goldpan.core.workspace import Workspace
from goldpan.datasets.task import Task
from goldpan.evaluation.comparison.facts import Skipped, Study, study_of
from goldpan.evaluation.comparison.question import ComparisonResult
from goldpan.evaluation.statistics.comparison import Comparison
from goldpan.report.comparison import summary
from goldpan.report.comparison.added import SECTIONS, TaskRows, read_task_rows
from goldpan.report.comparison.costs import costs_section, resolved_section
from goldpan.report.comparison.curves import curves
from goldpan.report.comparison.leakage import distances
from goldpan.report.comparison.measures import (
    confusion,
    drift,
    groups_section,
    metrics,
    score_table,
)
from goldpan.report.comparison.ranking import (
    pairs_table,
    ranking_section,
    ranking_table,
    significance,
)
from goldpan.report.comparison.training import (
    conditions_section,
    in_part_sentences,
    retraining,
    splits,
    testing,
    training,
    tuning,
)
from goldpan.report.comparison.worst_errors import Wrong, find_mistakes, mistakes_section
from goldpan.report.document import Content, Report, ReportTable, Section

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
    mistakes = find_mistakes(compared)
    rows_by_task = _rows_by_task(workspace, compared, tasks, mistakes)
    harder = distances(compared, tasks)
    sections = [
        ranking_section(compared),
        resolved_section(compared),
        groups_section(compared),
        *(section.make(compared, tasks, rows_by_task) for section in SECTIONS),
        *_steps(compared, study, tasks),
        mistakes_section(compared, mistakes, rows_by_task),
        costs_section(compared),
        harder.section,
        conditions_section(compared),
    ]
    return Report(
        title=f"{title}: {summary.heading(compared)}" if title else summary.heading(compared),
        lead="Which models differ, which cannot be told apart, and what that rests on.",
        facts=_facts(compared),
        summary=(*harder.headline, *summary.sentences(compared)),
        warnings=(
            *summary.warnings(compared, harder.warnings),
            *in_part_sentences(compared),
        ),
        sections=tuple(section for section in sections if section is not None),
    )


def _facts(compared: ComparisonResult) -> tuple[tuple[str, str], ...]:
    """Return numbers with what they count."""
    runs = [run for system in compared.systems for run in system.every()]
    invalid = sum(run.scores.invalid for run in runs)
    seeds = {run.seed for run in runs}
    return (
        (f"{len(compared.systems):,}", "models" if len(compared.systems) > 1 else "model"),
        (f"{len(compared.tasks):,}", "tasks" if len(compared.tasks) > 1 else "task"),
        (f"{summary.examples(compared, compared.tasks):,}", "test examples"),
        (f"{len(runs):,}", "runs" if len(runs) > 1 else "run"),
        (f"{len(seeds):,}", "seeds" if len(seeds) > 1 else "seed"),
        (f"{invalid:,}", "answers not valid"),
    )


def paper_tables(compared: ComparisonResult) -> Iterator[ReportTable]:
    """Yield what a paper prints: ranking, scores, decisions and costs."""
    comparison = compared.comparison
    if isinstance(comparison, Comparison):
        yield ranking_table(compared, comparison)
    for added in SECTIONS:
        if (section := added.make(compared, {}, {})) is not None:
            yield from (part for part in section.content if isinstance(part, ReportTable))
    yield score_table(compared)
    if isinstance(comparison, Comparison) and comparison.test.name != "none":
        yield pairs_table(comparison)
    if compared.new_tasks is not None and compared.new_tasks.test.name != "none":
        yield pairs_table(compared.new_tasks)
    yield from (part for part in costs_section(compared).content if isinstance(part, ReportTable))


def _steps(compared: ComparisonResult, study: Study, tasks: Mapping[str, Task]) -> list[Section]:
    """Return the ten steps of ECSER (Figure 1), each filled or with the reason why not."""
    fill: Sequence[tuple[str, bool, Callable[[], tuple[Content, ...]]]] = (
        (
            "Select an evaluation method and split the data",
            False,
            lambda: splits(compared, study),
        ),
        ("Train the model", False, lambda: training(compared, study)),
        ("Tune hyper-parameters and validate", True, lambda: tuning(compared, study)),
        ("Re-train with optimized parameters", True, lambda: retraining(compared, study)),
        ("Test the model", False, lambda: testing(compared)),
        ("Report the confusion matrix", False, lambda: confusion(compared, study)),
        ("Report metrics", False, lambda: metrics(compared)),
        ("Analyze overfitting and degradation", False, lambda: drift(compared, study)),
        ("Visualize ROC", False, lambda: curves(compared)),
        ("Apply statistical significance tests", True, lambda: significance(compared, tasks)),
    )
    sections = []
    for step, (name, optional, content) in enumerate(fill, 1):
        section = Section(f"s{step}", name, (), _NOTES.get(step, ""), step=step, optional=optional)
        try:
            sections.append(replace(section, content=content()))
        except Skipped as skipped:
            sections.append(replace(section, skipped=f"{skipped.reason.rstrip('.')}."))
    return sections


def _rows_by_task(
    workspace: Workspace,
    compared: ComparisonResult,
    tasks: Mapping[str, Task],
    mistakes: Mapping[str, list[Wrong]],
) -> dict[str, TaskRows | str]:
    rows_by_task: dict[str, TaskRows | str] = {}
    for name in compared.tasks:
        if name not in tasks:
            rows_by_task[name] = f"The registry does not know {name}"
            continue
        task = tasks[name]
        runs = [run for system in compared.systems for run in system.runs.get(name, ())]
        ids = {wrong.id for wrong in mistakes.get(name, ())}
        ids.update(*(section.rows(compared, task) for section in SECTIONS))
        rows_by_task[name] = read_task_rows(workspace, task, runs, ids)
    return rows_by_task

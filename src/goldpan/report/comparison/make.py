"""The report on a comparison: its picture, three sentences, and what they rest on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict

from goldpan.core.result import count
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.tasks.task import Task
from goldpan.evaluation.compare.question import ComparisonResult
from goldpan.evaluation.compare.result import ComparedPair, Comparison, error_rate
from goldpan.report.comparison import picture, words
from goldpan.report.comparison.errors import errors_section
from goldpan.report.comparison.sections import (
    SECTIONS,
    conditions_section,
    costs_table,
    distance_section,
    groups_section,
    metrics_tables,
    resolved_section,
    score_table,
)
from goldpan.report.comparison.warnings import warnings
from goldpan.report.document import (
    Content,
    Fold,
    Report,
    ReportTable,
    Row,
    Section,
    cut,
    filled,
    folded,
    formatted,
    with_interval,
)


def make_report(
    workspace: WorkspaceLayout,
    compared: ComparisonResult,
    tasks: Mapping[str, Task],
    title: str = "",
) -> Report:
    """Return the whole report; the same runs give the same one.

    `tasks` are those that the registry knows; rows of others cannot be read. `title` names what
    is compared, such as a suite.
    """
    comparison = compared.comparison
    sections: list[Section | None] = [
        Section("ranking", "Scores", tuple(_scores(compared))),
        _pairs(comparison, compared.new_tasks),
    ]
    if not compared.origin:
        sections += [
            resolved_section(compared),
            *(section.make(compared) for section in SECTIONS),
            groups_section(compared),
            errors_section(workspace, compared, tasks),
            distance_section(compared),
            Section("cost", "Costs", (folded(costs_table(compared), 3),)),
            conditions_section(compared),
        ]
    heading = heading_of(compared)
    return Report(
        title=f"{title}: {heading}" if title else heading,
        summary=summary_of(compared),
        warnings=tuple(warnings(compared)),
        sections=tuple(section for section in sections if section is not None and section.content),
        picture=picture.draw(comparison) if isinstance(comparison, Comparison) else None,
    )


def heading_of(compared: ComparisonResult) -> str:
    """Return the models and tasks of a comparison in a line."""
    names, systems = compared.tasks, compared.systems
    tasks = names[0] if len(names) == 1 else count(len(names), "task")
    models = systems[0].name if len(systems) == 1 else f"{len(systems)} models"
    return f"{models} on {tasks}"


def summary_of(compared: ComparisonResult) -> tuple[str, ...]:
    """Return the main results in three sentences, then what papers and plugins add."""
    added = () if compared.origin else (section.sentence(compared) for section in SECTIONS)
    return (*words.sentences(compared), *filter(None, added))


def paper_tables(compared: ComparisonResult) -> Iterator[ReportTable]:
    """Yield the tables that a paper prints: ranking, scores, decisions, and costs of runs."""
    if isinstance(compared.comparison, Comparison):
        yield ranking_table(compared.comparison)
    for added in () if compared.origin else SECTIONS:
        if (section := added.make(compared)) is not None:
            yield from (part for part in section.content if isinstance(part, ReportTable))
    yield score_table(compared)
    yield from _pairs_tables(compared.comparison, compared.new_tasks)
    if not compared.origin:
        yield costs_table(compared)


def ranking_table(comparison: Comparison) -> ReportTable:
    """Return the standings, where places that decisions leave open are ties."""
    score = f"{'median' if comparison.central == 'median' else 'mean'} {comparison.metric}"
    if any(standing.low is not None for standing in comparison.standings):
        score += " [95 % interval]"
    rows: list[Row] = [
        {
            "place": words.rank_range(one),
            "model": one.model,
            score: with_interval(comparison.shown(one), one.low, one.high),
            "sd over tasks": one.sd,
            "sd over seeds": one.seed_sd,
            "mean rank": one.mean_rank if len(comparison.tasks) > 1 else None,
            "lead of the first": None
            if one.effect is None
            else f"{formatted(one.effect)} {one.magnitude}",
        }
        for one in comparison.standings
    ]
    note = "A place such as 2–4 is a tie: the decisions leave these places open."
    return ReportTable.of(f"Ranking by {comparison.metric}", filled(rows), note)


def _scores(compared: ComparisonResult) -> Iterator[Content]:
    ranked = isinstance(compared.comparison, Comparison)
    if isinstance(compared.comparison, Comparison):
        yield ranking_table(compared.comparison)
    if len(compared.tasks) > 1 or not ranked:
        yield folded(score_table(compared))
    for table in metrics_tables(compared):
        yield Fold(table.title, (table,))


def _pairs(*comparisons: Comparison | str | None) -> Section:
    tables = tuple(folded(table, 3) for table in _pairs_tables(*comparisons))
    return Section("pairs", "Every pair", tables)


def _pairs_tables(*comparisons: Comparison | str | None) -> Iterator[ReportTable]:
    """Yield the decisions on pairs of each comparison that tested some.

    With the test behind them, and how often it errs.
    """
    for comparison in comparisons:
        if not isinstance(comparison, Comparison) or comparison.test.name == "none":
            continue
        test = comparison.test
        note = f"{test.why}. "
        if test.omnibus and test.omnibus_p is not None:
            note += f"Any difference at all, by {test.omnibus}: p {formatted(test.omnibus_p)}. "
        if test.approach == "calibrated":
            note += "p and the interval hold for all pairs at once. "
        title = f"Every pair, {test.question or test.name}"
        rows = filled([_row(pair, comparison) for pair in comparison.pairs])
        yield cut(ReportTable.of(title, rows, f"{note}{error_rate(test.name)}".strip()))


def _row(pair: ComparedPair, comparison: Comparison) -> Row:
    word = words.decision_words(comparison.test)[pair.decision]
    odds = {} if pair.posterior is None else asdict(pair.posterior)
    known = pair.low is not None and pair.high is not None
    return {
        "first": pair.first,
        "second": pair.second,
        "the first is": word.removesuffix(" than"),
        "p": pair.p,
        "difference": pair.difference,
        "may lie in": f"{formatted(pair.low)} to {formatted(pair.high)}" if known else None,
        **{f"P({name})": odds.get(name) for name in ("better", "equal", "worse")},
    }

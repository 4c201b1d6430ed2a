"""The report on a comparison: its picture, three sentences, and what they rest on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict

from goldpan.core.result import count
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.tasks.task import Task
from goldpan.evaluation.compare.files import FileComparison
from goldpan.evaluation.compare.question import ComparisonResult
from goldpan.evaluation.compare.result import ComparedPair, Comparison, error_rate
from goldpan.report.comparison import picture, words
from goldpan.report.comparison.rows import (
    SECTIONS,
    TaskRow,
    Wrong,
    find_mistakes,
    mistakes_section,
    read_task_rows,
)
from goldpan.report.comparison.runs import (
    conditions_section,
    costs_table,
    distance_section,
    groups_section,
    metrics_tables,
    resolved_section,
    score_table,
)
from goldpan.report.document import (
    Content,
    Fold,
    Report,
    ReportTable,
    Row,
    Section,
    cut,
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
    mistakes = find_mistakes(compared)
    rows_by_task = _rows_by_task(workspace, compared, tasks, mistakes)
    comparison = compared.comparison
    heading = words.heading(compared)
    sections = [
        Section("ranking", "Scores", tuple(_scores(compared))),
        Section("pairs", "Every pair", tuple(_pairs(comparison, compared.new_tasks))),
        resolved_section(compared),
        *(section.make(compared, tasks, rows_by_task) for section in SECTIONS),
        groups_section(compared),
        mistakes_section(compared, mistakes, rows_by_task),
        distance_section(compared),
        Section("cost", "Costs", (folded(costs_table(compared), 3),)),
        conditions_section(compared),
    ]
    return Report(
        title=f"{title}: {heading}" if title else heading,
        summary=(*words.sentences(compared), *added_sentences(compared)),
        warnings=words.warnings(compared),
        sections=tuple(section for section in sections if section is not None and section.content),
        picture=picture.draw(comparison) if isinstance(comparison, Comparison) else None,
    )


def added_sentences(compared: ComparisonResult) -> tuple[str, ...]:
    """Return what sections of papers and plugins add to the summary."""
    return tuple(text for section in SECTIONS if (text := section.sentence(compared)))


def file_report(compared: FileComparison) -> Report:
    """Return the whole report on a file, the same for the same file and question."""
    comparison = compared.comparison
    sections = (
        Section("ranking", "Scores", (ranking_table(comparison), folded(_file_scores(compared)))),
        Section("pairs", "Every pair", tuple(_pairs(comparison, compared.new_tasks))),
        Section("drift", "Overfitting and degradation", tuple(_drift(compared))),
    )
    return Report(
        title=f"{len(comparison.models)} models from {compared.file.path.name}",
        summary=file_sentences(compared),
        warnings=tuple(file_warnings(compared)),
        sections=tuple(section for section in sections if section.content),
        picture=picture.draw(comparison),
    )


def file_sentences(compared: FileComparison) -> tuple[str, ...]:
    """Return the main results of a file in three sentences."""
    comparison, on_tasks = compared.comparison, compared.new_tasks
    second = "" if on_tasks is None else f"{words.answer(on_tasks, comparison.models[0])}."
    sets = f"{count(len(compared.file.keys), 'set')} of {compared.file.layout}"
    return words.short(comparison, f"{second[:1].upper()}{second[1:]}", sets, "data set")


def file_warnings(compared: FileComparison) -> Iterator[str]:
    """Yield what a reader must know before quoting scores of a file."""
    yield (
        f"These {compared.file.layout} come from {compared.file.path.name}: Goldpan ran none of the"
        " models, and knows nothing of leaks between training and test."
    )
    yield from words.some("Outside the comparison", compared.left_out)
    for model, share in compared.invalid.items():
        if share > 0.01:
            answers = f"{100 * share:.1f} % of the answers of {model}"
            yield f"{answers} are none of the truths, or empty, and count as wrong."


def paper_tables(compared: ComparisonResult) -> Iterator[ReportTable]:
    """Yield the tables that a paper prints: ranking, scores, decisions and costs."""
    if isinstance(compared.comparison, Comparison):
        yield ranking_table(compared.comparison)
    for added in SECTIONS:
        if (section := added.make(compared, {}, {})) is not None:
            yield from (part for part in section.content if isinstance(part, ReportTable))
    yield score_table(compared)
    yield from pairs_tables(compared.comparison, compared.new_tasks)
    yield costs_table(compared)


def file_tables(compared: FileComparison) -> Iterator[ReportTable]:
    """Yield the tables of a file that a paper prints."""
    yield ranking_table(compared.comparison)
    yield _file_scores(compared)
    yield from pairs_tables(compared.comparison, compared.new_tasks)


def ranking_table(comparison: Comparison) -> ReportTable:
    """Return the standings, where places that decisions leave open are ties."""
    score = f"{'median' if comparison.central == 'median' else 'mean'} {comparison.metric}"
    if any(standing.low is not None for standing in comparison.standings):
        score += " [95 % interval]"
    many = len(comparison.tasks) > 1
    rows: list[Row] = [
        {
            "place": words.rank_range(standing),
            "model": standing.model,
            score: with_interval(
                picture.central(comparison, standing), standing.low, standing.high
            ),
            "sd over tasks": standing.sd,
            "sd over seeds": standing.seed_sd,
            "mean rank": standing.mean_rank if many else None,
            "lead of the first": None
            if standing.effect is None
            else f"{formatted(standing.effect)} {standing.magnitude}",
        }
        for standing in comparison.standings
    ]
    shown = [name for name in rows[0] if any(row[name] is not None for row in rows)]
    title = f"Ranking by {comparison.metric}"
    note = "A place such as 2–4 is a tie: the decisions leave these places open."
    return ReportTable.of(title, ({name: row[name] for name in shown} for row in rows), note)


def _scores(compared: ComparisonResult) -> Iterator[Content]:
    ranked = isinstance(compared.comparison, Comparison)
    if isinstance(compared.comparison, Comparison):
        yield ranking_table(compared.comparison)
    if len(compared.tasks) > 1 or not ranked:
        yield folded(score_table(compared))
    for table in metrics_tables(compared):
        yield Fold(table.title, (table,))


def _pairs(*comparisons: Comparison | str | None) -> Iterator[Content]:
    for table in pairs_tables(*comparisons):
        yield folded(table, 3)


def pairs_tables(*comparisons: Comparison | str | None) -> Iterator[ReportTable]:
    """Yield the decisions on pairs of each comparison that tested some."""
    for comparison in comparisons:
        if isinstance(comparison, Comparison) and comparison.test.name != "none":
            yield _pairs_table(comparison)


def _pairs_table(comparison: Comparison) -> ReportTable:
    """Return the decision on each pair, with the test behind it and how often that errs."""
    test = comparison.test
    rows = [_row(pair, comparison) for pair in comparison.pairs]
    shown = [name for name in rows[0] if any(row[name] not in (None, "") for row in rows)]
    note = f"{test.why}. "
    if test.omnibus and test.omnibus_p is not None:
        note += f"Any difference at all, by {test.omnibus}: p {formatted(test.omnibus_p)}. "
    if test.approach == "calibrated":
        note += "p and the interval hold for all pairs at once. "
    title = f"Every pair, {test.question}" if test.question else f"Every pair, {test.name}"
    columns = ({name: row[name] for name in shown} for row in rows)
    return cut(ReportTable.of(title, columns, f"{note}{error_rate(test.name)}".strip()))


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


def _file_scores(compared: FileComparison) -> ReportTable:
    columns = ("data set", "model", "metric", "mean over seeds and folds")
    return cut(ReportTable("Scores on test", columns, compared.scores))


def _drift(compared: FileComparison) -> Iterator[Content]:
    if compared.drift:
        rows = (
            {
                **asdict(drift),
                "test - train": _less(drift.test, drift.train),
                "test - validation": _less(drift.test, drift.validation),
            }
            for drift in compared.drift
        )
        yield folded(ReportTable.of("Train and validation against test", rows))


def _less(test: float, before: float | None) -> float | None:
    return None if before is None else test - before


def _rows_by_task(
    workspace: WorkspaceLayout,
    compared: ComparisonResult,
    tasks: Mapping[str, Task],
    mistakes: Mapping[str, list[Wrong]],
) -> dict[str, Mapping[str, TaskRow] | str]:
    rows_by_task: dict[str, Mapping[str, TaskRow] | str] = {}
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

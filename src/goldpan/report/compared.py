"""Comparisons of models: on the terminal, as plain data, and as HTML and LaTeX files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from goldpan.core.errors import UsageError
from goldpan.core.imports import load
from goldpan.core.result import Result, count
from goldpan.core.sanitize import line
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.tasks.task import Task
from goldpan.evaluation.compare.question import ComparisonResult, System
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
    number_columns,
    with_interval,
)
from goldpan.report.html import evaluation_page, write_page


@dataclass(frozen=True, slots=True)
class ComparisonReport(Result):
    """A comparison of models, and the files that report it."""

    schema = 6

    heading: str
    """The models and tasks."""
    origin: str
    """What the scores are and where they were read; empty where they are those of stored runs."""
    metric: str
    comparison: Comparison | None
    not_compared: str | None
    """Why there is no comparison, where there is none."""
    new_tasks: Comparison | None
    """The answer to the second question, on tasks that are not among these."""
    facts: Mapping[str, Any]
    """What else is known, by its name: tasks, models, and further parts of the report."""
    left_out: Sequence[str]
    summary: Sequence[str]
    warnings: Sequence[str]
    files: tuple[Path, ...]
    """That were written."""


def report_comparison(
    workspace: WorkspaceLayout,
    result: ComparisonResult,
    tasks: Mapping[str, Task],
    page: Path | None = None,
    latex: Path | None = None,
    title: str = "",
) -> ComparisonReport:
    """Write a comparison as HTML and its tables as LaTeX, where that is wanted.

    The same runs or file give the same bytes. Raises `WorkspaceError` where a file cannot be
    written.
    """
    if page:
        write_page(evaluation_page(make_report(workspace, result, tasks, title)), page)
    if latex:
        write_page(latex_tables(paper_tables(result)), latex)
    facts: dict[str, Any] = {
        "tasks": [
            {"task": task, "metric": result.metrics[task], "ranked": task in result.block.tasks}
            for task in result.tasks
        ],
        "models": list(map(_described, result.ranked)),
    }
    for section in () if result.origin else SECTIONS:
        if value := section.value(result):
            facts[section.name] = value
    return ComparisonReport(
        heading_of(result),
        result.origin,
        result.metric,
        result.comparison if isinstance(result.comparison, Comparison) else None,
        None if isinstance(result.comparison, Comparison) else result.comparison,
        result.new_tasks,
        facts,
        [*result.block.left_out, *result.without_value],
        summary_of(result),
        list(words.warnings(result)),
        tuple(filter(None, (page, latex))),
    )


def _described(system: System) -> dict[str, Any]:
    return {
        "name": system.name,
        "model": system.model,
        "protocol": system.protocol,
        "tasks": len(system.results),
        "runs": [str(run.directory) for run in system.every()],
    }


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
        warnings=tuple(words.warnings(compared)),
        sections=tuple(section for section in sections if section is not None and section.content),
        picture=picture.draw(comparison) if isinstance(comparison, Comparison) else None,
    )


def heading_of(compared: ComparisonResult) -> str:
    """Return the models and tasks that are compared in a line."""
    names, models = compared.tasks, [system.name for system in compared.systems]
    if isinstance(compared.comparison, Comparison):
        names, models = compared.comparison.tasks, [*compared.comparison.models]
    tasks = names[0] if len(names) == 1 else count(len(names), "task")
    return f"{models[0] if len(models) == 1 else f'{len(models)} models'} on {tasks}"


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
        score += " [95% interval]"
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


_COMMANDS = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        '"': r"\textquotedbl{}",
        "\N{EN DASH}": "--",
        "±": r"$\pm$",
        "…": r"\ldots{}",
        "⟨": r"$\langle$",
        "⟩": r"$\rangle$",
        "[": "{[}",  # which the line break before it would take as an argument
        **{mark: f"\\{mark}" for mark in "&%$#_{}"},
    }
)
_LONGEST_PRINTED = 120


def latex_tables(tables: Iterable[ReportTable]) -> str:
    """Return tables for a paper; they go on over pages, as pandas writes them."""
    frame = load("pandas", "LaTeX", UsageError).DataFrame
    parts = ["% \\usepackage{booktabs,longtable,textcomp} and \\usepackage[T1]{fontenc}\n"]
    for number, table in enumerate(tables, 1):
        rows = [
            [
                f"\\textbf{{{latex_text(formatted(cell))}}}"
                if (at, column) in table.strong
                else latex_text(formatted(cell))
                for column, cell in enumerate(row)
            ]
            for at, row in enumerate(table.rows)
        ]
        sides = number_columns(table.rows, len(table.columns))
        text = frame(rows, columns=[latex_text(name) for name in table.columns]).to_latex(
            index=False,
            longtable=True,
            caption=f"{latex_text(table.title)}. {latex_text(table.note, 2_000)}",
            label=f"tab:goldpan-{number}",
            column_format="".join("r" if number else "l" for number in sides),
        )
        parts.append(text)
    return "\n".join(parts)


def latex_text(text: str, most: int = _LONGEST_PRINTED) -> str:
    """Return a text in one line, escaped for LaTeX."""
    return line(text, most).translate(_COMMANDS)

"""Comparisons of models: on the terminal, as plain data, and as HTML and LaTeX files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goldpan.core.errors import UsageError
from goldpan.core.imports import load
from goldpan.core.result import Result
from goldpan.core.sanitize import line
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.tasks.task import Task
from goldpan.evaluation.compare.question import ComparisonResult, System
from goldpan.evaluation.compare.result import Comparison
from goldpan.report.comparison.make import heading_of, make_report, paper_tables, summary_of
from goldpan.report.comparison.sections import SECTIONS
from goldpan.report.comparison.warnings import warnings
from goldpan.report.document import Report, ReportTable, formatted, number_columns
from goldpan.report.html import document_page, write_page


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
        list(warnings(result)),
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


def evaluation_page(report: Report) -> str:
    """Return the report as one HTML page that needs nothing else."""
    return document_page(
        report, kicker="Evaluation report", made="from stored results; the same give the same page."
    )


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

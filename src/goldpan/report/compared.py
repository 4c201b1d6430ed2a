"""Comparisons of models: on the terminal, as plain data, and as HTML, Markdown and LaTeX files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from goldpan.core.result import NOT_IN_JSON, Result
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.tasks.task import Task
from goldpan.evaluation.compare.files import FileComparison
from goldpan.evaluation.compare.question import ComparisonResult, System
from goldpan.evaluation.compare.result import Comparison
from goldpan.report.comparison import words
from goldpan.report.comparison.distances import headlines
from goldpan.report.comparison.make import (
    added_sentences,
    file_report,
    file_sentences,
    file_tables,
    file_warnings,
    make_report,
    paper_tables,
)
from goldpan.report.comparison.rows import SECTIONS
from goldpan.report.document import Report, ReportTable
from goldpan.report.html import document_page, write_page
from goldpan.report.text_forms import latex_tables, markdown_report


@dataclass(frozen=True, slots=True)
class EvaluationFiles:
    """The files of a report; None leaves one out."""

    page: Path | None = None
    markdown: Path | None = None
    latex: Path | None = None


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A file that was written."""

    output: Path
    size: int
    """Bytes."""


@dataclass(frozen=True, slots=True)
class ComparisonReport(Result):
    """A comparison of stored runs, and the files that report it."""

    schema = 2

    result: ComparisonResult = field(metadata=NOT_IN_JSON)
    metric: str
    tasks: Sequence[Mapping[str, Any]]
    models: Sequence[Mapping[str, Any]]
    """By their places."""
    comparison: Mapping[str, Any] | None
    not_compared: str | None
    """Why there is no comparison, where there is none."""
    new_tasks: Mapping[str, Any] | None
    deciding: object
    tasks_alone: Sequence[Mapping[str, Any]]
    sections: Mapping[str, Any]
    """Further parts of the report, by their names."""
    left_out: Sequence[str]
    summary: Sequence[str]
    warnings: Sequence[str]
    files: tuple[WrittenFile, ...]


@dataclass(frozen=True, slots=True)
class FileComparisonReport(Result):
    """A comparison of scores from elsewhere, and the files that report it."""

    result: FileComparison = field(metadata=NOT_IN_JSON)
    metric: str
    layout: str
    comparison: Mapping[str, Any]
    new_tasks: Mapping[str, Any] | None
    drift: Sequence[object]
    left_out: Sequence[str]
    summary: Sequence[str]
    warnings: Sequence[str]
    files: tuple[WrittenFile, ...]


def report_comparison(
    workspace: WorkspaceLayout,
    result: ComparisonResult,
    tasks: Mapping[str, Task],
    files: EvaluationFiles,
    title: str = "",
) -> ComparisonReport:
    """Write the files on a comparison of stored runs, and return both.

    The same runs give the same bytes. Raises `WorkspaceError` where a file cannot be written.
    """
    written = _write_files(
        files, lambda: make_report(workspace, result, tasks, title), lambda: paper_tables(result)
    )
    comparison, new_tasks = result.comparison, result.new_tasks
    return ComparisonReport(
        result,
        result.metric,
        [
            {"task": task, "metric": result.metrics[task], "ranked": task in result.block.tasks}
            for task in result.tasks
        ],
        list(map(_described, result.ranked)),
        comparison.as_json() if isinstance(comparison, Comparison) else None,
        None if isinstance(comparison, Comparison) else comparison,
        None if new_tasks is None else new_tasks.as_json(),
        result.deciding,
        [alone.as_json() for alone in result.alone],
        {section.name: value for section in SECTIONS if (value := section.value(result))},
        [*result.block.left_out, *result.without_value],
        [*words.sentences(result), *added_sentences(result)],
        [*headlines(result), *words.warnings(result)],
        written,
    )


def report_file_comparison(result: FileComparison, files: EvaluationFiles) -> FileComparisonReport:
    """Write the files on a comparison of scores from elsewhere, and return both."""
    written = _write_files(files, lambda: file_report(result), lambda: file_tables(result))
    new_tasks = result.new_tasks
    return FileComparisonReport(
        result,
        result.metric,
        result.file.layout,
        result.comparison.as_json(),
        None if new_tasks is None else new_tasks.as_json(),
        result.drift,
        result.matrix.left_out,
        file_sentences(result),
        [*result.doubts, *file_warnings(result)],
        written,
    )


def _described(system: System) -> dict[str, Any]:
    return {
        "name": system.name,
        "model": system.model,
        "protocol": system.protocol,
        "tasks": len(system.runs),
        "runs": [str(run.directory) for run in system.every()],
    }


def _write_files(
    files: EvaluationFiles, make: Callable[[], Report], tables: Callable[[], Iterable[ReportTable]]
) -> tuple[WrittenFile, ...]:
    """Write a report in the forms that are wanted; LaTeX has the tables alone."""
    written = []
    if files.page or files.markdown:
        report = make()
        if files.page:
            written.append(_write(evaluation_page(report), files.page))
        if files.markdown:
            written.append(_write(markdown_report(report), files.markdown))
    if files.latex:
        written.append(_write(latex_tables(tables()), files.latex))
    return tuple(written)


def evaluation_page(report: Report) -> str:
    """Return the report as one HTML page that needs nothing else."""
    return document_page(
        report, kicker="Evaluation report", made="from stored results; the same give the same page."
    )


def _write(text: str, output: Path) -> WrittenFile:
    write_page(text, output)
    return WrittenFile(output, len(text.encode()))

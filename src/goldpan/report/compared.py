"""Comparisons of models: on the terminal, as plain data, and as HTML, Markdown and LaTeX files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from goldpan.core.result import Block, Line, Result, Table
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
from goldpan.report.comparison.picture import MOST_DRAWN, central, text_picture
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

    result: ComparisonResult
    files: tuple[WrittenFile, ...] = ()

    def plain(self) -> dict[str, Any]:
        """Return the ranking, the decisions behind it and what limits them."""
        result, comparison = self.result, self.result.comparison
        return {
            "metric": result.metric,
            "tasks": [
                {"task": task, "metric": result.metrics[task], "ranked": task in result.block.tasks}
                for task in result.tasks
            ],
            "models": list(map(_plain_model, result.ranked)),
            "comparison": comparison.as_json() if isinstance(comparison, Comparison) else None,
            "new_tasks": None if result.new_tasks is None else result.new_tasks.as_json(),
            "deciding": None if result.deciding is None else asdict(result.deciding),
            "not_compared": None if isinstance(comparison, Comparison) else comparison,
            "tasks_alone": [alone.as_json() for alone in result.alone],
            **{section.name: plain for section in SECTIONS if (plain := section.plain(result))},
            "left_out": [*result.block.left_out, *result.without_value],
            "summary": [*words.sentences(result), *added_sentences(result)],
            "warnings": [*headlines(result), *words.warnings(result)],
            "files": [asdict(file) for file in self.files],
        }

    def blocks(self) -> Iterator[Block]:
        """Yield the picture, what it means, and where the files are."""
        yield Line(words.heading(self.result))
        if isinstance(self.result.comparison, Comparison):
            yield from _picture(self.result.comparison)
        yield from map(Line, (*words.sentences(self.result), *added_sentences(self.result)))
        yield from map(Line, (*headlines(self.result), *words.warnings(self.result)))
        yield from _written(self.files)


@dataclass(frozen=True, slots=True)
class FileComparisonReport(Result):
    """A comparison of scores from elsewhere, and the files that report it."""

    result: FileComparison
    files: tuple[WrittenFile, ...] = ()

    def plain(self) -> dict[str, Any]:
        """Return the ranking, the decisions behind it and what the file lacks for them."""
        result = self.result
        new_tasks = result.new_tasks
        return {
            "metric": result.metric,
            "layout": result.file.layout,
            "comparison": result.comparison.as_json(),
            "new_tasks": None if new_tasks is None else new_tasks.as_json(),
            "drift": [asdict(drift) for drift in result.drift],
            "left_out": result.matrix.left_out,
            "summary": file_sentences(result),
            "warnings": [*result.doubts, *file_warnings(result)],
            "files": [asdict(file) for file in self.files],
        }

    def blocks(self) -> Iterator[Block]:
        """Yield the picture, what it means, and where the files are."""
        yield from _picture(self.result.comparison)
        yield from map(Line, file_sentences(self.result))
        yield from map(Line, (*self.result.doubts, *file_warnings(self.result)))
        yield from _written(self.files)


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
    return ComparisonReport(result, written)


def report_file_comparison(result: FileComparison, files: EvaluationFiles) -> FileComparisonReport:
    """Write the files on a comparison of scores from elsewhere, and return both."""
    written = _write_files(files, lambda: file_report(result), lambda: file_tables(result))
    return FileComparisonReport(result, written)


def _plain_model(system: System) -> dict[str, Any]:
    return {
        "name": system.name,
        "model": system.model,
        "protocol": system.protocol,
        "tasks": len(system.runs),
        "runs": [str(run.directory) for run in system.every()],
    }


def _picture(comparison: Comparison) -> Iterator[Block]:
    """Yield a table with places, scores, their intervals drawn, and who is better than whom."""
    scale, lines = text_picture(comparison)
    better = words.beaten(comparison)
    middle = "median" if comparison.central == "median" else "mean"
    who = words.decision_words(comparison.test)["better"]
    standings = comparison.standings
    yield Table(
        ("place", "model", f"{middle} {comparison.metric}", scale, who),
        [
            (
                words.rank_range(standing),
                standing.model,
                central(comparison, standing),
                drawn,
                better[standing.model],
            )
            for standing, drawn in zip(standings, lines, strict=False)
        ],
    )
    if len(standings) > MOST_DRAWN:
        yield Line(f"and {len(standings) - MOST_DRAWN} more")


def _written(files: Sequence[WrittenFile]) -> Iterator[Block]:
    for file in files:
        yield Line(f"Wrote {file.output}, {file.size / 1e6:.1f} MB")


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

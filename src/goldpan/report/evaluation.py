"""Writes the report on stored runs: one HTML file, and tables for texts and papers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from goldpan.core.workspace import Workspace
from goldpan.datasets.task import Task
from goldpan.evaluation.comparison_result import ComparisonResult
from goldpan.report.comparison.make import make_report, paper_tables
from goldpan.report.document import Report
from goldpan.report.document_page import part_helpers
from goldpan.report.latex import latex_tables
from goldpan.report.markdown import markdown_report
from goldpan.report.page import render, write_page


@dataclass(frozen=True, slots=True)
class EvaluationFiles:
    """Where to write what; None leaves it out."""

    page: Path | None = None
    markdown: Path | None = None
    latex: Path | None = None


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A file that was written."""

    output: Path
    size: int
    """Bytes."""


def write_evaluation(
    workspace: Workspace,
    compared: ComparisonResult,
    tasks: Mapping[str, Task],
    files: EvaluationFiles,
    title: str = "",
) -> tuple[WrittenFile, ...]:
    """Write the report on a comparison; the same runs give the same bytes.

    Raises `WorkspaceError` where a file cannot be written.
    """
    written = []
    if files.page or files.markdown:
        report = make_report(workspace, compared, tasks, title)
        if files.page:
            written.append(write_text(evaluation_page(report), files.page))
        if files.markdown:
            written.append(write_text(markdown_report(report), files.markdown))
    if files.latex:
        written.append(write_text(latex_tables(paper_tables(compared)), files.latex))
    return tuple(written)


def evaluation_page(report: Report) -> str:
    """Return the report as one HTML page that needs nothing else."""
    return render(
        "evaluation.html.jinja",
        styles=("report.css", "evaluation.css"),
        title=f"Goldpan evaluation: {report.title}",
        report=report,
        links=_links(report),
        **part_helpers(),
    )


def write_text(text: str, output: Path) -> WrittenFile:
    """Write a page or a text; raises `WorkspaceError` where it cannot be written."""
    write_page(text, output)
    return WrittenFile(output, len(text.encode()))


def _links(report: Report) -> list[tuple[str, str]]:
    """Return the links at the top: sections by their title, the steps as one."""
    links = []
    for section in report.sections:
        if section.step is None:
            links.append((section.key, section.title.partition(",")[0]))
        elif section.step == 1:
            links.append(("steps", "Steps S1 to S10"))
    return links

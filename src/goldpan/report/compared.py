"""Comparisons of models: on the terminal, as plain data, and as HTML, Markdown and LaTeX files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from goldpan.core.result import Block, Line, Result, Table
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.tasks.task import Task
from goldpan.evaluation.comparison.files import FileComparison
from goldpan.evaluation.comparison.question import ComparisonResult, System
from goldpan.evaluation.statistics.comparison import Comparison
from goldpan.report.comparison.leakage import headlines
from goldpan.report.comparison.make import make_report, paper_tables
from goldpan.report.comparison.measures import degradation_cells, drift_tables, overfitting_cells
from goldpan.report.comparison.ranking import pairs_table, question
from goldpan.report.comparison.rows import SECTIONS
from goldpan.report.comparison.summary import (
    answer,
    first_place,
    heading,
    meaning,
    rank_range,
    sentences,
    warnings,
)
from goldpan.report.document import Cell, Content, Remark, Report, ReportTable, Section, cut
from goldpan.report.html import document_page, write_page
from goldpan.report.text_forms import latex_tables, markdown_report

_MOST = 40
"""Models that are listed."""


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
            "summary": sentences(result),
            "warnings": warnings(result, headlines(result)),
            "files": [asdict(file) for file in self.files],
        }

    def blocks(self) -> Iterator[Block]:
        """Yield the ranking, what it means, and where the files are."""
        result = self.result
        yield Line(heading(result))
        yield from map(Line, headlines(result))
        if isinstance(result.comparison, Comparison):
            yield from _standings(result.comparison)
        yield from map(Line, sentences(result))
        for reason in (*result.block.left_out, *result.without_value):
            yield Line(f"Left out: {reason}")
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
            "files": [asdict(file) for file in self.files],
        }

    def blocks(self) -> Iterator[Block]:
        """Yield the ranking, what it means, and where the files are."""
        yield from _standings(self.result.comparison)
        yield from map(Line, file_sentences(self.result))
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
    written = _write_files(files, lambda: file_report(result), lambda: _paper_tables(result))
    return FileComparisonReport(result, written)


def _plain_model(system: System) -> dict[str, Any]:
    return {
        "name": system.name,
        "model": system.model,
        "protocol": system.protocol,
        "tasks": len(system.runs),
        "runs": [str(run.directory) for run in system.every()],
    }


def _standings(comparison: Comparison) -> Iterator[Block]:
    """Yield places, models, their central score and their tier."""
    by_median = comparison.by_median
    central = f"{'median' if by_median else 'mean'} {comparison.metric}"
    yield Table(
        ("place", "model", central, "tier"),
        [
            (
                rank_range(standing),
                standing.model,
                standing.median if by_median else standing.mean,
                standing.tier,
            )
            for standing in comparison.standings[:_MOST]
        ],
    )
    if len(comparison.standings) > _MOST:
        yield Line(f"and {len(comparison.standings) - _MOST} more")


def _written(files: Sequence[WrittenFile]) -> Iterator[Block]:
    for file in files:
        yield Line(f"Wrote {file.output}, {file.size / 1e6:.1f} MB")


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
    return document_page(report, "evaluation.html.jinja", " evaluation", links=_links(report))


def _write(text: str, output: Path) -> WrittenFile:
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


def file_sentences(compared: FileComparison) -> tuple[str, ...]:
    """Return the main results in sentences."""
    comparison = compared.comparison
    best = comparison.models[0]
    texts = [f"{first_place(comparison, 'data set')}. {answer(comparison, best)}"]
    tests = [comparison.test]
    if compared.new_tasks is not None:
        texts.append(answer(compared.new_tasks, best))
        tests.append(compared.new_tasks.test)
    texts += filter(None, map(meaning, tests))
    texts += [f"{note}." for note in comparison.notes if not note.startswith("Left out")]
    texts += [f"Left out: {reason}." for reason in compared.matrix.left_out[:12]]
    return (*compared.doubts, *texts, *_invalid(compared))


def _invalid(compared: FileComparison) -> Iterator[str]:
    """Yield how many answers of each model are none of the task, from 1 % on."""
    for model, share in compared.invalid.items():
        if share > 0.01:
            answers = f"{100 * share:.1f} % of the answers of {model}"
            yield f"{answers} are none of the truths, or empty, and count as wrong."


def file_report(compared: FileComparison) -> Report:
    """Return the whole report, the same for the same file and question."""
    comparison = compared.comparison
    tested: list[Content] = []
    for test in filter(None, (comparison, compared.new_tasks)):
        tested += [*question(test), *(Remark(f"{note}.") for note in test.notes)]
    drift = _drift_tables(compared)
    return Report(
        title=f"{len(comparison.models)} models from {compared.file.path.name}",
        lead="Which models differ, which cannot be told apart, and what that rests on.",
        facts=(
            (f"{len(comparison.models):,}", "models"),
            (f"{len(comparison.tasks):,}", "data sets"),
            (f"{len(compared.file.keys):,}", f"sets of {compared.file.layout}"),
        ),
        summary=file_sentences(compared),
        warnings=(
            f"These {compared.file.layout} come from {compared.file.path.name}: Goldpan ran none of"
            " the models, and knows nothing of leaks between training and test.",
        ),
        sections=(
            Section("ranking", "Ranking", (_ranking(comparison),)),
            Section("s7", "Report metrics", (cut(_scores(compared)),), step=7),
            Section(
                "s8",
                "Analyze overfitting and degradation",
                drift,
                step=8,
                skipped=""
                if drift
                else "The file has no rows of the parts train or validation beside test.",
            ),
            Section(
                "s10", "Apply statistical significance tests", tuple(tested), step=10, optional=True
            ),
        ),
    )


def _paper_tables(compared: FileComparison) -> Iterator[ReportTable]:
    yield _ranking(compared.comparison)
    yield _scores(compared)
    for comparison in (compared.comparison, compared.new_tasks):
        if comparison is not None and comparison.test.name != "none":
            yield pairs_table(comparison)


def _ranking(comparison: Comparison) -> ReportTable:
    rows = tuple(
        (
            rank_range(standing),
            standing.model,
            standing.mean,
            standing.sd,
            standing.seed_sd,
            standing.mean_rank,
            standing.tier,
        )
        for standing in comparison.standings
    )
    columns = ("place", "model", "mean", "sd over data sets", "sd over seeds", "mean rank", "tier")
    note = "A place such as 2–4 is a tie: the decisions of S10 leave these places open."
    return ReportTable(f"Ranking by {comparison.metric}", columns, rows, note)


def _scores(compared: FileComparison) -> ReportTable:
    return ReportTable(
        "Scores on test",
        ("data set", "model", "metric", "mean over seeds and folds"),
        compared.scores,
    )


def _drift_tables(compared: FileComparison) -> tuple[Content, ...]:
    over: list[tuple[Cell, ...]] = []
    down: list[tuple[Cell, ...]] = []
    for drift in compared.drift:
        start = (drift.task, drift.model, drift.metric)
        if drift.overfitting is not None:
            over.append((*start, *overfitting_cells(drift.overfitting)))
        if drift.degradation is not None:
            down.append((*start, *degradation_cells(drift.degradation)))
    return tuple(drift_tables(("task", "model", "metric"), over, down))

"""Comparisons of models on the terminal, in a notebook and as plain data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from goldpan.core.result import Block, Line, Result, Table
from goldpan.core.workspace import Workspace
from goldpan.datasets.task import Task
from goldpan.evaluation.comparison.files import FileComparison
from goldpan.evaluation.comparison.question import ComparisonResult
from goldpan.evaluation.statistics.comparison import Comparison
from goldpan.report.comparison.added import SECTIONS
from goldpan.report.comparison.leakage import headlines
from goldpan.report.comparison.summary import heading, rank_range, sentences, warnings
from goldpan.report.evaluation import EvaluationFiles, WrittenFile, write_evaluation
from goldpan.report.score_report import file_sentences, write_file_report

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
            "models": [
                {
                    "name": system.name,
                    "model": system.model,
                    "protocol": system.protocol,
                    "tasks": len(system.runs),
                    "runs": [str(run.directory) for run in system.every()],
                }
                for system in result.ranked
            ],
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
    workspace: Workspace,
    result: ComparisonResult,
    tasks: Mapping[str, Task],
    files: EvaluationFiles,
    title: str = "",
) -> ComparisonReport:
    """Write the files on a comparison of stored runs, and return both."""
    return ComparisonReport(result, write_evaluation(workspace, result, tasks, files, title))


def report_file_comparison(result: FileComparison, files: EvaluationFiles) -> FileComparisonReport:
    """Write the files on a comparison of scores from elsewhere, and return both."""
    return FileComparisonReport(result, write_file_report(result, files))


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

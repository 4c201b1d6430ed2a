"""What a comparison shows, on the terminal and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.table import Table

from goldpan.core.terminal import Terminal, clean

if TYPE_CHECKING:  # these take long to import
    from goldpan.evaluation.comparison_result import ComparisonResult
    from goldpan.evaluation.statistics.comparison import Comparison
    from goldpan.report.evaluation import Written

_MOST = 40


def print_compared(result: ComparisonResult, written: Sequence[Written]) -> None:
    """Show the ranking, what it means, and where files lie."""
    from goldpan.evaluation.statistics.comparison import Comparison
    from goldpan.evaluation.suites import comment_ranking
    from goldpan.report.comparison.leakage import headlines
    from goldpan.report.comparison.summary import heading, sentences

    console = Terminal()
    console.print(clean(heading(result)))
    for sentence in headlines(result):
        console.print(clean(sentence))
    if isinstance(result.comparison, Comparison):
        print_standings(console, result.comparison)
    for sentence in sentences(result, comment_ranking(result.systems)):
        console.print(clean(sentence))
    for reason in (*result.block.left_out, *result.without_value):
        console.print(clean(f"Left out: {reason}"))
    print_files(written)


def print_standings(console: Terminal, comparison: Comparison) -> None:
    """Show places, models, their central score and their tier."""
    from goldpan.report.comparison.ranking import rank_range
    from goldpan.report.number_format import formatted

    table = Table("place", "model", box=None, header_style="dim")
    by_median = comparison.by_median
    middle = "median" if by_median else "mean"
    for name in (f"{middle} {comparison.metric}", "tier"):
        table.add_column(name, justify="right")
    for standing in comparison.standings[:_MOST]:
        value = standing.median if by_median else standing.mean
        table.add_row(
            rank_range(standing), clean(standing.model), formatted(value), str(standing.tier)
        )
    console.print(table)
    if len(comparison.standings) > _MOST:
        console.print(f"and {len(comparison.standings) - _MOST} more")


def print_files(written: Sequence[Written]) -> None:
    """Show which files were written."""
    for file in written:
        Terminal().print(clean(f"Wrote {file.output}, {file.size / 1e6:.1f} MB"))


def comparison_json(result: ComparisonResult, written: Sequence[Written]) -> dict[str, Any]:
    """Return a comparison as JSON can hold it."""
    from goldpan.evaluation.statistics.comparison import Comparison
    from goldpan.evaluation.suites import comment_ranking
    from goldpan.report.comparison.leakage import headlines
    from goldpan.report.comparison.summary import sentences, warnings

    comments = comment_ranking(result.systems)
    comparison = result.comparison
    compared_there = isinstance(comparison, Comparison)
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
        "not_compared": None if compared_there else comparison,
        "tasks_alone": [alone.as_json() for alone in result.alone],
        "nlbse23": None if comments is None else asdict(comments),
        "left_out": [*result.block.left_out, *result.without_value],
        "summary": sentences(result, comments),
        "warnings": warnings(result, headlines(result)),
        "files": [asdict(file) for file in written],
    }

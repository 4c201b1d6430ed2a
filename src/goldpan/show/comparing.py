"""Shows which models differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.table import Table

from goldpan.core.terminal import Terminal, clean

if TYPE_CHECKING:  # these take long to import
    from goldpan.evaluation.comparing import ComparisonResult
    from goldpan.report.evaluation import Written

_MOST = 40


def compared(found: ComparisonResult, written: Sequence[Written]) -> None:
    """Show the ranking, what it means, and where files lie."""
    from goldpan.evaluation.statistics.comparison import Comparison
    from goldpan.evaluation.suites import comment_ranking
    from goldpan.report.comparison.ranking import place
    from goldpan.report.comparison.summary import heading, sentences
    from goldpan.report.numbers import formatted

    console = Terminal()
    console.print(clean(heading(found)))
    comparison = found.comparison
    if isinstance(comparison, Comparison):
        table = Table("place", "model", box=None, header_style="dim")
        by_median = comparison.by_median
        middle = "median" if by_median else "mean"
        for name in (f"{middle} {comparison.metric}", "tier"):
            table.add_column(name, justify="right")
        for one in comparison.standings[:_MOST]:
            value = one.median if by_median else one.mean
            table.add_row(place(one), clean(one.model), formatted(value), str(one.tier))
        console.print(table)
        if len(comparison.standings) > _MOST:
            console.print(f"and {len(comparison.standings) - _MOST} more")
    for sentence in sentences(found, comment_ranking(found.systems)):
        console.print(clean(sentence))
    for reason in (*found.block.left_out, *found.without_value):
        console.print(clean(f"Left out: {reason}"))
    files(written)


def files(written: Sequence[Written]) -> None:
    """Show which files were written."""
    for one in written:
        Terminal().print(clean(f"Wrote {one.output}, {one.size / 1e6:.1f} MB"))


def as_json(found: ComparisonResult, written: Sequence[Written]) -> dict[str, Any]:
    """Return a comparison as JSON can hold it."""
    from goldpan.evaluation.statistics.comparison import Comparison
    from goldpan.evaluation.suites import comment_ranking
    from goldpan.report.comparison.summary import sentences, warnings

    comments = comment_ranking(found.systems)
    comparison = found.comparison
    compared_there = isinstance(comparison, Comparison)
    return {
        "metric": found.metric,
        "tasks": [
            {"task": task, "metric": found.metrics[task], "ranked": task in found.block.tasks}
            for task in found.tasks
        ],
        "models": [
            {
                "name": one.name,
                "model": one.model,
                "protocol": one.protocol,
                "tasks": len(one.runs),
                "runs": [str(run.directory) for run in one.every()],
            }
            for one in found.ranked
        ],
        "comparison": comparison.as_json() if isinstance(comparison, Comparison) else None,
        "not_compared": None if compared_there else comparison,
        "tasks_alone": [one.as_json() for one in found.alone],
        "nlbse23": None if comments is None else asdict(comments),
        "left_out": [*found.block.left_out, *found.without_value],
        "summary": sentences(found, comments),
        "warnings": warnings(found, ()),
        "files": [asdict(one) for one in written],
    }

"""Shows what mining GH Archive brought."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any

from rich.table import Table

from goldpan.core.terminal import Terminal, clean, titled

if TYPE_CHECKING:  # they take long to import
    from goldpan.miners.gharchive.mine import ArchiveResult
    from goldpan.miners.gharchive.report import HourReport

_MOST_RUNS = 20


def mined_json(found: ArchiveResult) -> dict[str, Any]:
    """Return what was mined as plain data; `not_whole` names every hour that is not."""
    reports = found.reports
    return {
        "source": found.source,
        "types": list(found.types),
        "hours": len(reports),
        "states": dict(sorted(found.states.items())),
        "reused": found.reused,
        "bytes": sum(report.bytes or 0 for report in reports),
        "lines": sum(report.lines for report in reports),
        "events": sum(report.events for report in reports),
        "corrupt": sum(report.corrupt for report in reports),
        "seconds": round(found.seconds, 3),
        "not_whole": [
            {"hour": _name(report), "state": report.state, "reason": report.reason}
            for report in reports
            if report.state != "whole"
        ],
    }


def mined(found: ArchiveResult) -> None:
    """Show what was mined, and which hours are not whole."""
    console = Terminal()
    told = mined_json(found)
    console.print(
        titled(
            "GH Archive",
            f": {told['hours']:,} hours, {told['reused']:,} of them there "
            f"before, in {found.seconds:.1f} s",
        )
    )
    table = Table("", "count", box=None, header_style="dim")
    for state, count in told["states"].items():
        table.add_row(f"hours {state}", f"{count:,}")
    for name in ("bytes", "lines", "corrupt"):
        table.add_row(name, f"{told[name]:,}")
    table.add_row(f"events kept ({', '.join(found.types)})", f"{told['events']:,}")
    console.print(table)
    if told["corrupt"]:
        console.print("Corrupt lines are in gharchive/corrupt/, one file per hour.")
    runs = list(_runs([report for report in found.reports if report.state != "whole"]))
    for first, last in islice(runs, _MOST_RUNS):
        hours = _name(first) if first is last else f"{_name(first)} to {_name(last)}"
        console.print(clean(f"  {hours} {first.state}: ") + clean(first.reason or ""))
    if len(runs) > _MOST_RUNS:
        console.print(f"  and {len(runs) - _MOST_RUNS:,} more: see gharchive/hours.parquet")
    if found.complete:
        console.print("Every hour is complete.")


def _runs(reports: Sequence[HourReport]) -> Iterator[tuple[HourReport, HourReport]]:
    """Yield the first and the last of reports that follow each other and tell the same."""
    first = last = None
    for report in reports:
        if (
            first is None
            or last is None
            or report.hour - last.hour != timedelta(hours=1)
            or (report.state, report.reason) != (first.state, first.reason)
        ):
            if first is not None and last is not None:
                yield first, last
            first = report
        last = report
    if first is not None and last is not None:
        yield first, last


def _name(report: HourReport) -> str:
    return report.file.removesuffix(".json.gz")

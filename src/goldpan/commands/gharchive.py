"""The command that mines GH Archive."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from goldpan.commands.shared import (
    Address,
    Directory,
    Engine,
    EngineChoice,
    Json,
    finish,
    print_result,
    reporting,
    settings_of,
)
from goldpan.core.terminal import Terminal, clean, titled

if TYPE_CHECKING:  # these take long to import
    from goldpan.miners.gharchive.mine import ArchiveResult
    from goldpan.miners.gharchive.report import HourReport

_MOST_RUNS = 20


def gharchive(
    first: Annotated[str, typer.Option("--from", help="The first day, such as 2022-01-01.")],
    last: Annotated[str, typer.Option("--to", help="The last day, such as 2022-09-30.")],
    source: Annotated[
        str | None,
        typer.Option(
            help="A folder with YYYY-MM-DD-H.json.gz files, or a web address. (default: GH Archive)"
        ),
    ] = None,
    events: Annotated[
        str, typer.Option(help="The event types to keep, separated by commas.")
    ] = "IssuesEvent",
    engine: Engine = EngineChoice.LOCAL,
    processes: Annotated[
        int | None, typer.Option(help="How many local processes to use. (default: one per core)")
    ] = None,
    address: Address = "",
    concurrency: Annotated[
        int | None, typer.Option(help="Files fetched at once. (default: 2)")
    ] = None,
    keep_downloads: Annotated[
        bool, typer.Option("--keep-downloads", help="Keep downloaded files.")
    ] = False,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Mine the events of all public repositories from GH Archive, hour by hour.

    Run the same command again to resume, and to retry hours that are missing.
    Exits with 3 when an hour is missing or damaged.
    """
    from goldpan.miners.gharchive.events import event_types
    from goldpan.miners.gharchive.fetch import GH_ARCHIVE
    from goldpan.miners.gharchive.hours import hours_between
    from goldpan.miners.gharchive.mine import ArchiveRequest, mine_archive

    settings = settings_of(workspace=workspace, concurrency=concurrency)
    request = ArchiveRequest(
        tuple(hours_between(first, last)),
        event_types(events.split(",")),
        source or GH_ARCHIVE,
        engine.value,
        settings.processes if processes is None else processes,
        address,
        keep_downloads,
    )
    with reporting(json) as reporter:
        result = mine_archive(settings, request, reporter)
    print_result(json, mined_json(result), lambda: print_mined(result))
    finish([result.complete])


def mined_json(result: ArchiveResult) -> dict[str, Any]:
    """Return what was mined as plain data; `not_whole` names every hour that is not."""
    reports = result.reports
    return {
        "source": result.source,
        "types": list(result.types),
        "hours": len(reports),
        "states": dict(sorted(result.states.items())),
        "reused": result.reused,
        "bytes": sum(report.bytes or 0 for report in reports),
        "lines": sum(report.lines for report in reports),
        "events": sum(report.events for report in reports),
        "corrupt": sum(report.corrupt for report in reports),
        "seconds": round(result.seconds, 3),
        "not_whole": [
            {"hour": _name(report), "state": report.state, "reason": report.reason}
            for report in reports
            if report.state != "whole"
        ],
    }


def print_mined(result: ArchiveResult) -> None:
    """Show what was mined, and which hours are not whole."""
    console = Terminal()
    data = mined_json(result)
    console.print(
        titled(
            "GH Archive",
            f": {data['hours']:,} hours, {data['reused']:,} of them there "
            f"before, in {result.seconds:.1f} s",
        )
    )
    table = Table("", "count", box=None, header_style="dim")
    for state, count in data["states"].items():
        table.add_row(f"hours {state}", f"{count:,}")
    for name in ("bytes", "lines", "corrupt"):
        table.add_row(name, f"{data[name]:,}")
    table.add_row(f"events kept ({', '.join(result.types)})", f"{data['events']:,}")
    console.print(table)
    if data["corrupt"]:
        console.print("Corrupt lines are in gharchive/corrupt/, one file per hour.")
    runs = list(_runs([report for report in result.reports if report.state != "whole"]))
    for first, last in islice(runs, _MOST_RUNS):
        hours = _name(first) if first is last else f"{_name(first)} to {_name(last)}"
        console.print(clean(f"  {hours} {first.state}: ") + clean(first.reason or ""))
    if len(runs) > _MOST_RUNS:
        console.print(f"  and {len(runs) - _MOST_RUNS:,} more: see gharchive/hours.parquet")
    if result.complete:
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

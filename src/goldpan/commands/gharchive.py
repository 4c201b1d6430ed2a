"""The command that mines GH Archive."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from goldpan.commands.shared import (
    Directory,
    Json,
    finish,
    print_result,
    reporting,
    settings_of,
)
from goldpan.show import gharchive as show


class _Engine(StrEnum):
    LOCAL = "local"
    RAY = "ray"


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
    engine: Annotated[_Engine, typer.Option(help="This machine, or a Ray cluster.")] = (
        _Engine.LOCAL
    ),
    processes: Annotated[
        int | None, typer.Option(help="How many local processes to use. (default: one per core)")
    ] = None,
    address: Annotated[
        str, typer.Option(help="The Ray cluster's address, such as auto or HOST:6379.")
    ] = "",
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
        found = mine_archive(settings, request, reporter)
    print_result(json, show.mined_json(found), lambda: show.mined(found))
    finish([found.complete])

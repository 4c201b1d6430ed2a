"""The command that frees a store of what its workspace no longer needs."""

from __future__ import annotations

from typing import Annotated

import typer

from goldpan.commands.shared import Directory, Json, opened, print_result
from goldpan.core.terminal import Terminal


def prune(
    workspace: Directory = None,
    older_than: Annotated[
        float,
        typer.Option(
            min=0,
            metavar="DAYS",
            help="Keep what was stored in this many days, because somebody may still read it.",
        ),
    ] = 7.0,
    json: Json = False,
) -> None:
    """Delete from a store what its workspace no longer uses.

    See docs/workspaces.md.
    """
    with opened(json, workspace=workspace) as lab:
        pruned = lab.prune(older_than)
    value = {"pieces": pruned.pieces, "bytes": pruned.bytes}
    text = f"{pruned.pieces:,} pieces deleted, {pruned.bytes / 1e6:,.1f} MB"
    print_result(json, value, lambda: Terminal().print(text))

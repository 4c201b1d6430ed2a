"""The command that verifies a workspace."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goldpan.commands.mining import print_repairs
from goldpan.commands.shared import Directory, Json, opened, print_result
from goldpan.core.terminal import Terminal, clean

if TYPE_CHECKING:
    from goldpan.check import CheckResult
    from goldpan.miners.repair import Repair


def check(
    place: Annotated[
        Path | None, typer.Argument(metavar="[WORKSPACE]", help="The same as --workspace.")
    ] = None,
    workspace: Directory = None,
    repair: Annotated[
        bool,
        typer.Option("--repair", help="Set damaged archives aside and keep the rest."),
    ] = False,
    json: Json = False,
) -> None:
    """Verify every file of a workspace, and say what to run again if one is damaged.

    Exits with 1 if something is damaged.
    """
    with opened(json, workspace=place or workspace) as lab:
        done = lab.repair() if repair else {}
        found = lab.check()
    value = {**asdict(found), "repaired": [asdict(one) for one in done.values()]}
    print_result(json, value, lambda: _show(found, done))
    raise typer.Exit(1 if found.damaged else 0)


def _show(found: CheckResult, done: dict[str, Repair]) -> None:
    console = Terminal()
    print_repairs(list(done), list(done.values()))
    console.print(f"{found.files:,} files, {found.bytes / 1e6:,.0f} MB in {found.workspace}")
    if found.unsealed:
        console.print(
            f"{found.unsealed:,} tables have no digest, as an earlier version wrote them: "
            "only their form was checked"
        )
    for one in found.damaged:
        at = "" if one.offset is None else f" at byte {one.offset:,}"
        console.print(clean(f"Damaged: {one.file}{at}: {one.reason}"))
        console.print(f"  {one.remedy}.")
    console.print(f"{len(found.damaged):,} damaged." if found.damaged else "Nothing is damaged.")

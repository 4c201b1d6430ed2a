"""The command that verifies a workspace."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goldpan.commands.mining_screen import print_repairs
from goldpan.commands.shared import Directory, Json, opened, print_result
from goldpan.core.terminal import Terminal, clean

if TYPE_CHECKING:
    from goldpan.check import CheckResult
    from goldpan.miners.repair import Repair

_MOST_DEPENDENTS = 8


def check(
    path: Annotated[
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

    Of a damaged file it also says what was made of it. Exits with 1 if something is damaged.
    """
    with opened(json, workspace=path or workspace) as lab:
        repairs = lab.repair() if repair else {}
        result = lab.check()
    value = {**asdict(result), "repaired": [asdict(repaired) for repaired in repairs.values()]}
    print_result(json, value, lambda: _show(result, repairs))
    raise typer.Exit(1 if result.damaged else 0)


def _show(result: CheckResult, repairs: dict[str, Repair]) -> None:
    console = Terminal()
    print_repairs(list(repairs), list(repairs.values()))
    console.print(f"{result.files:,} files, {result.bytes / 1e6:,.0f} MB in {result.workspace}")
    if result.unsealed:
        console.print(
            f"{result.unsealed:,} have no digest: tables of an earlier version, of which the form "
            "was checked, or packages of tests that run now or were stopped"
        )
    for damage in result.damaged:
        at = "" if damage.offset is None else f" at byte {damage.offset:,}"
        console.print(clean(f"Damaged: {damage.file}{at}: {damage.reason}"))
        if damage.dependents:
            more = len(damage.dependents) - _MOST_DEPENDENTS
            named = ", ".join(damage.dependents[:_MOST_DEPENDENTS])
            others = f" and {more:,} more" if more > 0 else ""
            console.print(clean(f"  Made of it: {named}{others}."))
        console.print(f"  {damage.remedy}.")
    console.print(f"{len(result.damaged):,} damaged." if result.damaged else "Nothing is damaged.")

"""The command that verifies a workspace."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from goldpan.check import CheckResult, archives, check_workspace
from goldpan.commands.shared import Directory, Json, print_result, reporting, settings_of
from goldpan.core.errors import UsageError, WorkspaceError
from goldpan.core.terminal import Terminal, clean
from goldpan.core.workspace import Workspace
from goldpan.miners.repair import Repair, check_archive
from goldpan.miners.repair import repair as repair_archive
from goldpan.show.mining import repairs


def check(
    place: Annotated[
        Path | None, typer.Argument(metavar="[WORKSPACE]", help="As --workspace.")
    ] = None,
    workspace: Directory = None,
    repair: Annotated[
        bool,
        typer.Option("--repair", help="Set damaged archives aside and keep what is sound."),
    ] = False,
    json: Json = False,
) -> None:
    """Verify every file of a workspace, and say what to run again where one is damaged.

    Exits with 1 where something is damaged.
    """
    root = Workspace(settings_of(workspace=place or workspace).workspace)
    if not root.root.is_dir():
        raise UsageError(f"There is no workspace {root.root}", "Give its directory")
    with reporting(json) as reporter:
        done = _repair(root) if repair else {}
        found = check_workspace(root, reporter)
    value = {**asdict(found), "repaired": [asdict(one) for one in done.values()]}
    print_result(json, value, lambda: _show(found, done))
    raise typer.Exit(1 if found.damaged else 0)


def _repair(workspace: Workspace) -> dict[str, Repair]:
    """Mend all archives that are damaged."""
    done = {}
    for directory in archives(workspace):
        with _alone(directory):
            if check_archive(directory):
                done[str(directory.relative_to(workspace.root))] = repair_archive(directory)
    return done


@contextmanager
def _alone(directory: Path) -> Iterator[None]:
    descriptor = os.open(directory / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise WorkspaceError(f"Another goldpan works in {directory}", "Wait for it") from None
    finally:
        os.close(descriptor)


def _show(found: CheckResult, done: dict[str, Repair]) -> None:
    console = Terminal()
    repairs(list(done), list(done.values()))
    console.print(f"{found.files:,} files, {found.bytes / 1e6:,.0f} MB in {found.workspace}")
    if found.unsealed:
        console.print(
            f"{found.unsealed:,} tables bear no digest, as they are of an earlier version: "
            "only their form was checked"
        )
    for one in found.damaged:
        at = "" if one.offset is None else f" at byte {one.offset:,}"
        console.print(clean(f"Damaged: {one.file}{at}: {one.reason}"))
        console.print(f"  {one.remedy}.")
    console.print(f"{len(found.damaged):,} damaged." if found.damaged else "Nothing is damaged.")

"""`goldpan verify`: prove fixes by running tests."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from goldpan.commands.shared import Directory, Json, opened, print_result
from goldpan.core.terminal import Terminal, clean

if TYPE_CHECKING:  # it takes long to import
    from goldpan.execution.verify_all import Verification


class IsolationChoice(StrEnum):
    """What keeps foreign code apart."""

    AUTO = "auto"
    DOCKER = "docker"
    PODMAN = "podman"
    BUBBLEWRAP = "bubblewrap"
    NONE = "none"


class EngineChoice(StrEnum):
    """Where instances are proved."""

    LOCAL = "local"
    RAY = "ray"


def verify(
    dataset: Annotated[Path, typer.Argument(help="A dataset that build issue-resolution wrote.")],
    isolation: Annotated[
        IsolationChoice,
        typer.Option(help="What keeps the repositories' code from this machine; none is a risk."),
    ] = IsolationChoice.AUTO,
    image: Annotated[str, typer.Option(help="The image, for docker and podman.")] = "",
    recipe: Annotated[
        list[Path] | None,
        typer.Option(help="A TOML file on how to run tests, tried before the shipped ones."),
    ] = None,
    repeats: Annotated[
        int, typer.Option(min=1, help="How often the tests run in each state, against flakiness.")
    ] = 3,
    timeout: Annotated[float, typer.Option(min=1, help="The most seconds of one run.")] = 1_800,
    memory: Annotated[int, typer.Option(min=1, help="The most GiB of one process.")] = 8,
    workers: Annotated[int, typer.Option(min=1, help="Instances at a time.")] = 1,
    engine: Annotated[EngineChoice, typer.Option(help="This machine, or a cluster.")] = (
        EngineChoice.LOCAL
    ),
    address: Annotated[str, typer.Option(help="The address of a Ray cluster.")] = "",
    again: Annotated[bool, typer.Option("--again", help="Run all, whatever is known.")] = False,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Run the tests of each row before and after its fix, and tell which fixes that proves.

    A row is `verified` where tests fail with the test patch alone and pass with the fix, each
    time. Environments are built from what the repository declared at that date. Records and logs
    lie in WORKSPACE/verification; a second run takes up where the first stopped. Build with
    `--verified` afterwards.
    """
    with opened(json, workspace=workspace) as lab:
        result = lab.verify(
            dataset,
            isolation=isolation.value,
            image=image,
            recipes=recipe or (),
            repeats=repeats,
            seconds=timeout,
            memory=memory << 30,
            workers=workers,
            engine=engine.value,
            address=address,
            again=again,
        )
    print_result(json, _plain(result), lambda: print_verified(result))


def _plain(result: Verification) -> dict[str, Any]:
    return {
        "isolation": result.isolation,
        "counts": result.counts,
        "instances": [
            {
                "id": record.instance.id,
                "verdict": record.proof.verdict,
                "detail": record.detail,
                "FAIL_TO_PASS": record.proof.fail_to_pass,
                "PASS_TO_PASS": record.proof.pass_to_pass,
                "broken": record.proof.broken,
                "flaky": record.proof.flaky,
            }
            for record in result.records
        ],
    }


def print_verified(result: Verification) -> None:
    """Show what running the tests proved."""
    from goldpan.execution.outcome import EXPLAINED

    console = Terminal()
    table = Table("verdict", "rows", "meaning", box=None, header_style="dim")
    for verdict, count in result.counts.items():
        table.add_row(verdict, f"{count:,}", EXPLAINED[verdict])
    console.print(table)
    console.print(clean(f"Isolated by: {result.isolation}"))
    if result.counts.get("verified"):
        console.print("Next: goldpan build issue-resolution --profile verified --verified")

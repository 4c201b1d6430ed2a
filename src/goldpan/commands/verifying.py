"""`goldpan verify`: prove fixes by running tests."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from goldpan.commands.shared import (
    Address,
    Directory,
    Engine,
    EngineChoice,
    Json,
    opened,
    print_result,
)
from goldpan.core.terminal import Terminal, clean

if TYPE_CHECKING:  # it takes long to import
    from goldpan.evaluation.resolved import ResolvedResult
    from goldpan.execution.verify_all import Verification


class IsolationChoice(StrEnum):
    """What keeps foreign code apart."""

    AUTO = "auto"
    DOCKER = "docker"
    PODMAN = "podman"
    BUBBLEWRAP = "bubblewrap"
    NONE = "none"


class NetworkChoice(StrEnum):
    """What building reaches."""

    INDEX = "index"
    FULL = "full"


Isolated = Annotated[
    IsolationChoice,
    typer.Option(help="How to isolate the repositories' code; none runs it with your own rights."),
]
Image = Annotated[
    str, typer.Option(help="The image for docker or podman, with what the tests need.")
]
Network = Annotated[
    NetworkChoice,
    typer.Option(
        help="What building reaches: the package index, or all that this machine reaches."
    ),
]
Recipes = Annotated[
    list[Path] | None,
    typer.Option(help="A TOML file that says how to run tests, tried before the shipped ones."),
]
Timeout = Annotated[float, typer.Option(min=1, help="The time limit of one run, in seconds.")]
Memory = Annotated[int, typer.Option(min=1, help="The memory limit of one run, in GiB.")]
Disk = Annotated[int, typer.Option(min=1, help="The most that one run may write, in GiB.")]
Workers = Annotated[int, typer.Option(min=1, help="How many instances to run at the same time.")]


def verify(
    dataset: Annotated[Path, typer.Argument(help="A dataset that build issue-resolution wrote.")],
    isolation: Isolated = IsolationChoice.AUTO,
    image: Image = "",
    recipe: Recipes = None,
    network: Network = NetworkChoice.INDEX,
    repeats: Annotated[
        int, typer.Option(min=1, help="How often tests run in each state, to detect flaky ones.")
    ] = 3,
    timeout: Timeout = 1_800,
    memory: Memory = 8,
    disk: Disk = 16,
    workers: Workers = 1,
    engine: Engine = EngineChoice.LOCAL,
    address: Address = "",
    again: Annotated[bool, typer.Option("--again", help="Run all rows again.")] = False,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Prove fixes by running their tests, in isolation, before and after each fix.

    A row is `verified` if tests fail with the test patch alone and pass with the fix, each time.
    Environments are built from what the repository declared at the time. Records and logs are kept
    in WORKSPACE/verification; a second run continues where the first stopped. Build with
    `--verified` afterwards.
    """
    with opened(json, workspace=workspace) as lab:
        result = lab.verify(
            dataset,
            isolation=isolation.value,
            image=image,
            recipes=recipe or (),
            network=network.value,
            repeats=repeats,
            seconds=timeout,
            memory=memory << 30,
            disk=disk << 30,
            workers=workers,
            engine=engine.value,
            address=address,
            again=again,
        )
    print_result(json, _plain(result), lambda: print_verified(result, dataset))


def resolved(
    dataset: Annotated[Path, typer.Argument(help="A dataset built with --verified.")],
    predictions: Annotated[
        Path,
        typer.Option(help="JSON Lines with instance_id and model_patch, or a run's predictions."),
    ],
    isolation: Isolated = IsolationChoice.AUTO,
    image: Image = "",
    recipe: Recipes = None,
    network: Network = NetworkChoice.INDEX,
    timeout: Timeout = 1_800,
    memory: Memory = 8,
    disk: Disk = 16,
    workers: Workers = 1,
    engine: Engine = EngineChoice.LOCAL,
    address: Address = "",
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Score a model's patches by running tests: an issue is resolved if all of them pass.

    Patches are git diffs or SEARCH/REPLACE blocks; their changes to the fix's tests are undone. The
    result gives the share of issues resolved, and how similar the patches are to the merged fix.
    """
    with opened(json, workspace=workspace) as lab:
        result = lab.resolved(
            dataset,
            predictions,
            isolation=isolation.value,
            image=image,
            recipes=recipe or (),
            network=network.value,
            seconds=timeout,
            memory=memory << 30,
            disk=disk << 30,
            workers=workers,
            engine=engine.value,
            address=address,
        )
    print_result(json, _plain_resolved(result), lambda: print_resolved(result))


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


def print_verified(result: Verification, dataset: Path) -> None:
    """Show what running the tests of a dataset proved."""
    from goldpan.datasets.earlier_build import read_choice, read_made
    from goldpan.execution.outcome import EXPLAINED

    console = Terminal()
    if made := read_made(dataset):
        console.print(clean(f"{dataset}: {made}"))
    table = Table("verdict", "rows", "meaning", box=None, header_style="dim")
    for verdict, count in result.counts.items():
        table.add_row(verdict, f"{count:,}", EXPLAINED[verdict])
    console.print(table)
    console.print(clean(f"Isolated by: {result.isolation}"))
    if later := sum(bool(record.environment.get("fallback")) for record in result.records):
        console.print(
            f"{later:,} rows have packages of any date, because those of their commit's date "
            "cannot be installed (build.log says why)"
        )
    if refused := sum(bool(record.environment.get("refused")) for record in result.records):
        console.print(
            f"{refused:,} rows asked for hosts other than the package index's while they were "
            "built (refused in record.json); --network full lets them"
        )
    if result.counts.get("verified"):
        choice = read_choice(dataset)
        console.print(clean(f"Next: goldpan build issue-resolution{choice} --verified"))


def _plain_resolved(result: ResolvedResult) -> dict[str, Any]:
    return {
        "resolved": asdict(result.resolved),
        "counts": result.counts,
        "similarity": {"resolved": asdict(result.right), "not_resolved": asdict(result.wrong)},
        "separation": result.separation,
        "instances": [
            {
                "id": resolution.instance.id,
                "outcome": resolution.outcome,
                "failed": resolution.failed,
                "restored": resolution.restored,
            }
            for resolution in result.resolutions
        ],
    }


def print_resolved(result: ResolvedResult) -> None:
    """Show how many issues are resolved, and what similarity says of the same patches."""
    from goldpan.execution.resolve import EXPLAINED

    console = Terminal()
    count = result.counts.get("resolved", 0)
    share = result.resolved
    if share.value is not None:
        console.print(
            clean(
                f"{count:,} of {len(result.resolutions):,} issues are resolved, {share.value:.1%} "
            )
            + clean(f"[{share.low:.1%}, {share.high:.1%}]")
        )
    table = Table("outcome", "rows", "meaning", box=None, header_style="dim")
    for outcome, number in result.counts.items():
        table.add_row(outcome, f"{number:,}", EXPLAINED[outcome])
    console.print(table)
    if bent := sum(bool(resolution.restored) for resolution in result.resolutions):
        console.print(
            f"{bent:,} patches change tests or what configures them, which was undone (--json)"
        )
    for name, similarity in (("resolve", result.right), ("do not", result.wrong)):
        if similarity.codebleu is not None:
            console.print(
                clean(f"Of {similarity.patches:,} patches that {name}, CodeBLEU is ")
                + clean(f"{similarity.codebleu:.3f}, {similarity.exact:,} equal the merged fix")
            )
    if result.separation is not None:
        console.print(
            clean("CodeBLEU puts a patch that resolves its issue above one that does not in ")
            + clean(f"{result.separation:.0%} of pairs (50% is guessing)")
        )

"""The command that builds issue-type datasets."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from goldpan.commands.shared import (
    Address,
    Corrected,
    Directory,
    Engine,
    EngineChoice,
    Json,
    Repos,
    names_of,
    print_result,
    reporting,
    settings_of,
)
from goldpan.core.terminal import Terminal, clean, titled
from goldpan.core.workspace import Workspace
from goldpan.datasets.splits import SPLIT_FORMS
from goldpan.operations.repositories import known_repositories

if TYPE_CHECKING:  # these take long to import
    from goldpan.builders.issue_type.build import IssueTypeResult
    from goldpan.datasets.manifest import Written


class _Origin(StrEnum):
    GHARCHIVE = "gharchive"
    MINED = "mined"


def issue_type(
    origin: Annotated[
        _Origin, typer.Option("--from", help="Hours of GH Archive, or mined repositories.")
    ] = _Origin.GHARCHIVE,
    repo: Repos = None,
    profile: Annotated[
        str,
        typer.Option(
            help="default, nlbse22, nlbse23, nlbse24, or the path of your own .toml file."
        ),
    ] = "default",
    split: Annotated[
        str | None,
        typer.Option(help=f"leave-one-project-out, {SPLIT_FORMS}. (default: the profile's)"),
    ] = None,
    balance: Annotated[
        str | None,
        typer.Option(help="none, project:300 or project-label:100. (default: the profile's)"),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the split and the balance.")] = 0,
    engine: Engine = EngineChoice.LOCAL,
    processes: Annotated[
        int | None, typer.Option(help="How many local processes to use. (default: one per core)")
    ] = None,
    address: Address = "",
    corrections: Corrected = None,
    output: Annotated[
        Path | None, typer.Option(help="The dataset's directory. (default: WORKSPACE/datasets/...)")
    ] = None,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Build a dataset of issues and their types: bug, feature and the like.

    Uses closed issues whose labels mean exactly one type. Both engines give the same bytes.
    """
    from goldpan.builders.issue_type.build import build_issue_types, make_request
    from goldpan.builders.issue_type.closings import EventSource
    from goldpan.builders.issue_type.profile import load_profile
    from goldpan.core.engine import open_engine

    chosen = load_profile(profile)
    settings = settings_of(workspace=workspace)
    settings.trust.require("plugins")
    lab = Workspace(settings.workspace)
    repos = known_repositories(lab, repo, "tables") if origin == "mined" else names_of(repo, None)
    request = make_request(
        EventSource(lab, origin.value, tuple(repos)),
        chosen,
        split=split,
        balance=balance,
        seed=seed,
        directory=output,
        projects=corrections or (),
    )
    with (
        reporting(json) as reporter,
        open_engine(
            engine.value, settings.processes if processes is None else processes, address
        ) as opened,
    ):
        built = build_issue_types(request, opened, reporter)
    print_result(json, built_json(built), lambda: print_built(built))


def built_json(result: IssueTypeResult) -> dict[str, Any]:
    """Return what was built as plain data."""
    return {
        "datasets": [_dataset_json(written) for written in result.written],
        "units": result.units,
        "gaps": dict(result.gaps),
        "closings": result.closings,
        "dropped": dict(result.dropped),
        "labels": dict(result.labels),
        "redacted": dict(result.redacted),
        "seconds": round(result.seconds, 3),
    }


def _dataset_json(written: Written) -> dict[str, Any]:
    return {
        "directory": str(written.directory),
        "family": written.family.name,
        "examples": written.rows,
        "splits": {split.name: split.rows for split in written.splits},
        "straddling_groups": written.report.straddling,
        "dropped_by_split": written.report.dropped,
    }


def print_built(result: IssueTypeResult) -> None:
    """Show what became of the closings, and what the datasets hold."""
    from goldpan.builders.issue_type.build import EXPLAINED

    console = Terminal()
    console.print(f"{result.closings:,} closings of issues in {result.seconds:.1f} s")
    for state, count in result.gaps.items():
        console.print(clean(f"  {count:,} hours of the archive are ") + clean(state))
    for reason, count in result.dropped.items():
        console.print(f"  {count:,} without an example: {EXPLAINED[reason]}")
    for label, count in result.labels.items():
        console.print(clean(f"  {count:,} with the label ") + clean(label))
    for kind, count in sorted(result.redacted.items()):
        console.print(clean(f"  {count:,} redacted in texts: ") + clean(kind))
    for written in result.written:
        _dataset(console, written)


def _dataset(console: Terminal, written: Written) -> None:
    console.print(titled(written.family.name, f": {written.rows:,} examples"))
    table = Table("split", "examples", "bytes", box=None, header_style="dim")
    for split in written.splits:
        table.add_row(split.name, f"{split.rows:,}", f"{sum(file.size for file in split.files):,}")
    console.print(table)
    if written.report.dropped:
        console.print(
            f"  {written.report.dropped:,} dropped: near duplicates of examples in another split"
        )
    console.print(clean("Written to ") + clean(str(written.directory)))

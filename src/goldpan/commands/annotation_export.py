"""The command that writes what a paper tells of annotation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goldpan.commands.shared import Directory, Json, print_result, settings_of
from goldpan.core.terminal import Terminal, clean
from goldpan.core.workspace import Workspace

if TYPE_CHECKING:  # these take long to import
    from goldpan.annotation.studio.summary import Summary


def export(
    project: Annotated[
        list[str], typer.Option("--project", help="A round; may be given several times.")
    ],
    output: Annotated[
        Path, typer.Option(help="A directory for annotation.md and annotation.json.")
    ],
    names: Annotated[
        bool, typer.Option("--names", help="Give annotators' addresses instead of pseudonyms.")
    ] = False,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Write what a paper tells of rounds of annotation.

    That is what annotators were shown, how far they agree, what was adjudicated or is open, and
    the time an item takes.
    """
    from goldpan.annotation.studio.summary import summarize
    from goldpan.annotation.studio.summary_markdown import write_summary

    root = Workspace(settings_of(workspace=workspace).workspace)
    summary = summarize(root, project, named=names)
    written = write_summary(summary, output)
    value = {
        "files": [str(path) for path in written],
        "rounds": [
            {
                "project": annotated.project,
                "items": annotated.items,
                "agreed": annotated.agreed,
                "adjudicated": len(annotated.adjudicated),
                "conflicts": len(annotated.conflicts),
            }
            for annotated in summary.rounds
        ],
    }
    print_result(json, value, lambda: print_exported(summary, written))


def print_exported(summary: Summary, written: Sequence[Path]) -> None:
    """Show what stands in an export, and where it is."""
    console = Terminal()
    for annotated in summary.rounds:
        console.print(
            f"{annotated.project}: {annotated.items:,} items, {annotated.agreed:,} agreed, "
            f"{len(annotated.adjudicated):,} adjudicated, "
            f"{len(annotated.conflicts):,} open conflicts"
        )
    console.print(clean(f"Wrote {' and '.join(str(path) for path in written)}"))

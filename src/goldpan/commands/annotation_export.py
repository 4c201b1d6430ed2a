"""The command that writes what a paper tells of annotation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goldpan.commands.shared import Directory, Json, print_result, settings_of
from goldpan.core.errors import UsageError
from goldpan.core.terminal import Terminal, clean
from goldpan.core.workspace import Workspace

if TYPE_CHECKING:  # these take long to import
    from goldpan.annotation.studio.gold import GoldSet
    from goldpan.annotation.studio.summary import Summary


def export(
    project: Annotated[
        list[str], typer.Option("--project", help="A round; may be given several times.")
    ],
    output: Annotated[
        Path | None, typer.Option(help="A directory for annotation.md and annotation.json.")
    ] = None,
    gold: Annotated[
        Path | None,
        typer.Option(help="A CSV file of the decided labels, for goldpan evaluate labels."),
    ] = None,
    names: Annotated[
        bool, typer.Option("--names", help="Give annotators' addresses instead of pseudonyms.")
    ] = False,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Write what a paper reports about rounds of annotation, or a gold set of the decided labels.

    A paper reports what annotators were shown, how far they agree, what was adjudicated or is still
    open, and how long an item takes.
    """
    if output is None and gold is None:
        raise UsageError("There is nothing to write", "Give --output DIR, --gold FILE or both")
    root = Workspace(settings_of(workspace=workspace).workspace)
    value: dict[str, object] = {}
    shown: list[Callable[[], None]] = []
    if output is not None:
        summary, show = _summary(root, project, output, names)
        value |= summary
        shown.append(show)
    if gold is not None:
        summary, show = _gold(root, project, gold)
        value |= summary
        shown.append(show)
    print_result(json, value, lambda: [show() for show in shown])


def _summary(
    root: Workspace, project: Sequence[str], output: Path, names: bool
) -> tuple[dict[str, object], Callable[[], None]]:
    from goldpan.annotation.studio.summary import summarize
    from goldpan.annotation.studio.summary_markdown import write_summary

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
    return value, lambda: print_exported(summary, written)


def _gold(
    root: Workspace, project: Sequence[str], path: Path
) -> tuple[dict[str, object], Callable[[], None]]:
    from goldpan.annotation.studio.gold import make_gold, write_gold

    gold = make_gold(root, project)
    write_gold(gold, path)
    labels = dict(sorted(Counter(item.label for item in gold.items).items()))
    value = {"gold": str(path), "labels": labels, "undecided": gold.undecided}
    return value, lambda: print_gold(gold, path, labels)


def print_gold(gold: GoldSet, path: Path, labels: Mapping[str, int]) -> None:
    """Show what stands in a gold set, and where it is."""
    console = Terminal()
    counts = ", ".join(f"{label} {count:,}" for label, count in labels.items())
    console.print(clean(f"{path}: {len(gold.items):,} items ({counts})"))
    if gold.undecided:
        console.print(f"{gold.undecided:,} more are not decided: adjudicate them, then pull")


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

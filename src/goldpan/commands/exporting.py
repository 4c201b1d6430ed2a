"""The command that writes a dataset in the form that other tools take."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goldpan.commands.shared import Json, print_result, stoppable
from goldpan.core.terminal import Terminal, clean

if TYPE_CHECKING:  # it takes long to import
    from goldpan.datasets.export.result import ExportResult


class Form(StrEnum):
    """The forms of `goldpan export`."""

    SWE_BENCH = "swe-bench"
    HARBOR = "harbor"
    INSPECT = "inspect"
    LM_EVAL = "lm-eval"
    ALPACA = "alpaca"
    CHAT = "chat"


def export(
    dataset: Annotated[str, typer.Argument(help="A dataset: its directory, or one on the Hub.")],
    to: Annotated[Form, typer.Option("--to", help="The format to write.")],
    output: Annotated[
        Path | None, typer.Option(help="The directory to write. (default: DATASET-FORM)")
    ] = None,
    unverified: Annotated[
        bool,
        typer.Option("--unverified", help="With swe-bench: also rows that no test run proved."),
    ] = False,
    json: Json = False,
) -> None:
    """Write a dataset in the format that SWE-bench, Inspect, lm-eval or fine-tuning programs read.

    Each split becomes a JSON Lines file; harnesses also get a task file with a scorer. Harbor gets
    a folder of tasks. SWE-bench and Harbor take only rows that goldpan verify proved; others are
    left out and counted.
    """
    from goldpan.operations.dataset import load

    with stoppable():
        result = load(dataset).export(to.value, output, unverified=unverified)
    print_result(json, asdict(result), lambda: print_exported(result))


def print_exported(result: ExportResult) -> None:
    """Show what was written, and which rows were left out."""
    console = Terminal()
    for split, rows in result.rows.items():
        console.print(clean(f"{split}: {rows:,} rows"))
    for reason, rows in result.left_out.items():
        console.print(clean(f"left out, {reason}: {rows:,}"))
    console.print(clean(f"Written to {result.directory}"))
    console.print(clean(f"Next: {result.next}"))

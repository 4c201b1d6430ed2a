"""The command that looks for a dataset's rows in other data."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goldpan.commands.shared import Json, print_result, stoppable
from goldpan.core.terminal import Terminal, clean, titled

if TYPE_CHECKING:  # it takes long to import
    from goldpan.datasets.contamination.result import ContaminationResult


def contamination(
    dataset: Annotated[
        str, typer.Argument(help="A dataset: its directory, one on the Hub, or a table's file.")
    ],
    against: Annotated[
        list[str],
        typer.Option(
            help="A table (Parquet, JSON lines, CSV) or a dataset, such as SWE-bench's; may be "
            "given several times."
        ),
    ],
    column: Annotated[
        list[str] | None,
        typer.Option(
            help="A text column of DATASET to compare; may be given several times. (default: the "
            "columns that people wrote)"
        ),
    ] = None,
    ngram: Annotated[int, typer.Option(help="How many words an n-gram has.")] = 13,
    common: Annotated[
        int, typer.Option(help="Ignore n-grams that occur in more rows or items than this.")
    ] = 10,
    most: Annotated[int, typer.Option(min=0, help="Show the evidence for this many rows.")] = 20,
    output: Annotated[
        Path | None,
        typer.Option(help="Write the evidence for all rows to this .parquet, .jsonl or .csv file."),
    ] = None,
    json: Json = False,
) -> None:
    """Find the rows of a dataset that also occur in other data, such as a benchmark.

    Evidence is an equal or nearly equal text, a shared n-gram of words, or the same pull request,
    issue or commit. The result says what this cannot detect.
    """
    from goldpan.datasets.contamination.find import find_contamination
    from goldpan.operations.dataset import find_table

    with stoppable():
        result = find_contamination(
            find_table(dataset),
            [find_table(other) for other in against],
            columns=column or (),
            ngram=ngram,
            common=common,
            most=most,
            output=output,
        )
    print_result(json, asdict(result), lambda: print_contamination(result))


def print_contamination(result: ContaminationResult) -> None:
    """Show which rows of a dataset stand in other data."""
    console = Terminal()
    console.print(
        clean(f"{result.dataset}: {result.contaminated:,} of {result.rows:,} rows ")
        + f"({result.share:.1%}) also occur in what it was compared with"
    )
    console.print(clean(f"  compared: {', '.join(result.columns)}"))
    for other in result.against:
        console.print(titled(other.against, f": {other.rows:,} rows, {other.items:,} items"))
        console.print(clean(f"  compared: {', '.join(other.columns)}"))
        for kind, rows in other.kinds.items():
            console.print(f"  {rows:,} by {kind}")
        if other.same_repository is not None:
            console.print(
                f"  {other.same_repository:,} are of a repository that occurs there, which alone "
                "is no evidence"
            )
        if other.common:
            console.print(f"  {other.common:,} n-grams left out as common")
    if result.evidence:
        console.print("\nRows, by which evidence and with which item:")
    for item in result.evidence:
        shared = f" ({item.shared:,})" if item.shared else ""
        console.print(clean(f"  {item.id}: {item.kind} {item.value:.2f}{shared}, {item.item}"))
    console.print("\nNot seen:")
    for line in result.unseen:
        console.print(f"  {line}")

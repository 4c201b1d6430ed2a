"""The command that compares two versions of a dataset."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from goldpan.commands.shared import Directory, Json, opened, print_result
from goldpan.core.errors import DatasetError
from goldpan.core.terminal import Terminal, clean

if TYPE_CHECKING:  # it takes long to import
    from goldpan.datasets.diff.result import DiffResult


def diff(
    old: Annotated[str, typer.Argument(help="The older version: a directory, or one on the Hub.")],
    new: Annotated[str, typer.Argument(help="The newer version.")],
    most: Annotated[int, typer.Option(min=0, help="How many rows of each kind to name.")] = 20,
    output: Annotated[
        Path | None,
        typer.Option(help="Write every row that differs to this .parquet, .jsonl or .csv file."),
    ] = None,
    changelog: Annotated[
        Path | None,
        typer.Option(help="Write to this file the section that build --since adds to the card."),
    ] = None,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Compare two versions of a dataset: rows added, removed and changed, and why.

    Rows are compared by id and column. The provenance of both versions shows which settings, rules
    and dates differ. If the workspace still has the verdicts of a version, they show which
    criterion drops or keeps a row.
    """
    from goldpan.operations.dataset import Dataset, load

    with opened(json, workspace=workspace) as lab:
        newer = Dataset(load(new).path, workspace=lab)
        difference = newer.diff(old, most=most, output=output)
    if changelog is not None:
        _write(changelog, difference)
    print_result(json, asdict(difference), lambda: print_diff(difference))


def _write(path: Path, difference: DiffResult) -> None:
    from goldpan.datasets.diff.changelog import changelog as section

    try:
        path.write_text(f"## Changes\n\n{section(difference)}\n", encoding="utf-8", newline="\n")
    except OSError as error:
        raise DatasetError(f"{path} cannot be written: {error}", "Choose another file") from None


def print_diff(difference: DiffResult) -> None:
    """Show what changed between two versions of a dataset."""
    console = Terminal()
    for age, version in (("old", difference.old), ("new", difference.new)):
        console.print(
            clean(f"{age}: {version.directory}")
            + f" ({version.rows:,} examples, content {version.content})"
        )
    is_counted = difference.changed and difference.changed_in_task is not None
    in_task = f" ({difference.changed_in_task:,} of them in input or target)" if is_counted else ""
    console.print(
        f"{difference.added:,} added, {difference.gone:,} gone, "
        f"{difference.changed:,} changed{in_task}, {difference.moved:,} in another split, "
        f"{difference.same:,} the same"
    )
    _table(
        ("change", "rows", "why"), [(r.change, f"{r.rows:,}", r.reason) for r in difference.reasons]
    )
    for note in difference.notes:
        console.print(clean(f"{note[:1].upper()}{note[1:]}."))
    _table(("column", "rows"), [(name, f"{rows:,}") for name, rows in difference.columns.items()])
    for verb, names in (
        ("New columns", difference.columns_added),
        ("Columns that are gone", difference.columns_gone),
        ("Columns of another type, not compared", difference.columns_retyped),
    ):
        if names:
            console.print(clean(f"{verb}: {', '.join(names)}"))
    _table(
        ("made with", "before", "now"),
        [(cause.what, cause.old or "none", cause.new or "none") for cause in difference.causes],
    )
    for kind, rows in difference.examples.items():
        for row in rows:
            columns = f": {', '.join(row.columns)}" if row.columns else ""
            console.print(clean(f"  {kind} {row.id}{columns}"))


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    if not rows:
        return
    table = Table(box=None, header_style="dim")
    for name in head:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*map(clean, row))
    Terminal().print(table)

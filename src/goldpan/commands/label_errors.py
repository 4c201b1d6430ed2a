"""The command that ranks the labels of a task by how likely they are wrong."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goldpan.commands.shared import Directory, Json, OwnTasks, opened, print_result
from goldpan.core.terminal import Terminal, clean

if TYPE_CHECKING:  # it takes long to import
    from goldpan.evaluation.label_errors import LabelErrors


def label_errors(
    task: Annotated[str, typer.Option(help="A classification task.")],
    dataset: Annotated[
        Path | None,
        typer.Option(help="The directory of the task's rows. (default: WORKSPACE/datasets)"),
    ] = None,
    folds: Annotated[
        int, typer.Option(help="How many models to train, each leaving out a share of the rows.")
    ] = 5,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the folds.")] = 0,
    most: Annotated[int, typer.Option(min=0, help="How many rows to list.")] = 20,
    output: Annotated[
        Path | None,
        typer.Option(
            help="Write all rows, the most suspect first, to this .parquet, .jsonl or .csv file."
        ),
    ] = None,
    tasks: OwnTasks = None,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Rank the labels of a task by how likely they are wrong (confident learning).

    Each row is judged by a model that was not trained on it. A suspect label may be right: have
    people look at it.
    """
    with opened(json, workspace=workspace, tasks=tasks) as lab:
        result = lab.label_errors(task, dataset=dataset, folds=folds, seed=seed, output=output)
    shown = replace(result, ranked=result.ranked[:most])
    print_result(json, asdict(shown), lambda: print_label_errors(shown))


def print_label_errors(result: LabelErrors) -> None:
    """Show which labels are suspect."""
    console = Terminal()
    console.print(
        clean(
            f"{result.task}: {result.suspects:,} of {result.rows:,} rows are suspect; out of fold, "
        )
        + f"{result.right_out_of_fold:.1%} of the decisions are as the labels say"
    )
    for row in result.ranked:
        stated, rather = (" and ".join(names) or "none" for names in (row.given, row.suggested))
        mark = "" if row.suspect else " (not suspect)"
        console.print(
            clean(f"  {row.id}: {stated}, rather {rather}; margin {row.margin:+.2f}{mark}")
        )
        console.print(clean(f"    {row.text}"))

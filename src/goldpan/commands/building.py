"""Commands that build datasets, one a kind of dataset."""

from __future__ import annotations

from copy import copy
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from goldpan.commands import code_comments, crosscode, issue_type
from goldpan.commands.filtering import ProfileName
from goldpan.commands.shared import (
    Directory,
    Json,
    Repos,
    opened,
    print_result,
    use_plugins_early,
)
from goldpan.core.plugins import registered
from goldpan.show import datasets as show


class _Datasets(TyperGroup):
    """Those of Goldpan, and a command for each that a plugin registers."""

    def list_commands(self, ctx: Any) -> list[str]:
        use_plugins_early()
        return [*super().list_commands(ctx), *registered("dataset")]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        known = super().get_command(ctx, cmd_name)
        if known is not None:
            return known
        use_plugins_early()
        if cmd_name not in registered("dataset"):
            return None
        command = copy(super().get_command(ctx, "qa"))
        assert command is not None
        command.name = cmd_name
        return command


app = typer.Typer(
    cls=_Datasets,
    help="Build a dataset: Parquet files, card, Croissant metadata and provenance.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)


@app.command("qa")
@app.command("fault-localization")
@app.command("code-edit")
def kept_subjects(
    context: typer.Context,
    repo: Repos = None,
    profile: ProfileName = "default",
    split: Annotated[
        str,
        typer.Option(
            help="none, random:0.8,0.1,0.1, repository:0.8,0.2 or time:2023-01-01[,2024-01-01]."
        ),
    ] = "none",
    seed: Annotated[int, typer.Option(help="Seed of random splits.")] = 0,
    require: Annotated[
        list[str] | None,
        typer.Option(help="Only rows that this review kept, such as question-answer."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="The dataset's directory. (default: WORKSPACE/datasets/...)")
    ] = None,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Build a dataset from what a filter profile keeps.

    The directory holds Parquet files, a card, Croissant metadata and the provenance. Building
    twice gives the same bytes.
    """
    with opened(json, workspace=workspace) as lab:
        built = lab.build(
            str(context.info_name),
            *(repo or ()),
            profile=profile,
            split=split,
            seed=seed,
            require=require or (),
            output=output,
        ).built
    assert built is not None
    print_result(json, show.built_json(built), lambda: show.built(built))


app.command("issue-type")(issue_type.issue_type)
app.add_typer(crosscode.app, name="crosscode")
app.command("code-comments")(code_comments.build)

"""Commands that build datasets, one a kind of dataset."""

from __future__ import annotations

from copy import copy
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from typer.core import TyperGroup

from goldpan.commands import code_comments, crosscode, issue_type
from goldpan.commands.filtering import ProfileName, RulesName
from goldpan.commands.misuse import MISUSE
from goldpan.commands.shared import (
    Address,
    Directory,
    Engine,
    EngineChoice,
    Json,
    Repos,
    opened,
    print_result,
    use_plugins_early,
    with_plugin,
)
from goldpan.core.plugins import registered
from goldpan.core.show import show
from goldpan.core.terminal import Terminal, clean, titled
from goldpan.datasets.splits import SPLIT_FORMS
from goldpan.filters.basis import basis_blocks

if TYPE_CHECKING:  # it takes long to import
    from goldpan.builders.build import BuildResult


class Answer(StrEnum):
    """Which replies to an issue are its answers."""

    BEST = "best"
    FIRST = "first"
    ALL = "all"
    REVIEWED = "reviewed"


class _Datasets(TyperGroup):
    """Those of Goldpan, and a command for each that a plugin registers."""

    def list_commands(self, ctx: Any) -> list[str]:
        self._add_those_of_plugins()
        return super().list_commands(ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.commands:
            self._add_those_of_plugins()
        return super().get_command(ctx, cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        try:
            return super().resolve_command(ctx, args)
        except MISUSE as error:
            error.message += f" If a plugin brings it, run {with_plugin()}."
            raise

    def _add_those_of_plugins(self) -> None:
        use_plugins_early()
        for name in registered("dataset"):
            if name not in self.commands:
                command = copy(self.commands["qa"])
                command.name = name
                self.commands[name] = command


app = typer.Typer(
    cls=_Datasets,
    help="Build a dataset: Parquet files, card, Croissant metadata and provenance.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)


@app.command("qa")
@app.command("fault-localization")
@app.command("code-edit")
@app.command("issue-resolution")
def kept_subjects(
    context: typer.Context,
    repo: Repos = None,
    profile: ProfileName = "default",
    rules: RulesName = "default",
    split: Annotated[
        str,
        typer.Option(help=f"{SPLIT_FORMS}."),
    ] = "none",
    seed: Annotated[int, typer.Option(help="Seed of random splits and of --limit.")] = 0,
    limit: Annotated[
        int | None,
        typer.Option(min=1, help="At most this many rows, drawn by --seed. (default: all)"),
    ] = None,
    require: Annotated[
        list[str] | None,
        typer.Option(help="Only rows that this review kept, such as question-answer."),
    ] = None,
    answer: Annotated[
        Answer | None,
        typer.Option(
            help="For qa: best, first or all replies, or the one that a required review names. "
            "(default: as the profile says)"
        ),
    ] = None,
    gold: Annotated[
        list[Path] | None,
        typer.Option(help="A gold set; the card says how well the rows agree with it."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="The dataset's directory. (default: WORKSPACE/datasets/...)")
    ] = None,
    since: Annotated[
        Path | None,
        typer.Option(help="An older version; the card says what has changed since then, and why."),
    ] = None,
    verified: Annotated[
        bool, typer.Option(help="For issue-resolution: only fixes that goldpan verify proved.")
    ] = False,
    engine: Engine = EngineChoice.LOCAL,
    address: Address = "",
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Build a dataset from what a filter profile keeps.

    The directory holds Parquet files, a card, Croissant metadata and provenance. Building
    twice gives the same bytes.
    """
    with opened(json, workspace=workspace) as lab:
        built = lab.build(
            str(context.info_name),
            *(repo or ()),
            profile=profile,
            rules=rules,
            split=split,
            seed=seed,
            require=require or (),
            answer=answer.value if answer else None,
            gold=gold or (),
            output=output,
            since=since,
            verified=verified,
            limit=limit,
            engine=engine.value,
            address=address,
        ).built
    assert built is not None
    print_result(json, built_json(built), lambda: print_built(built))


app.command("issue-type")(issue_type.issue_type)
app.add_typer(crosscode.app, name="crosscode")
app.command("code-comments")(code_comments.build)


def built_json(result: BuildResult) -> dict[str, Any]:
    """Return what was built as plain data."""
    written = result.written
    return {
        "directory": str(written.directory),
        "family": written.family.name,
        "examples": written.rows,
        "splits": {split.name: split.rows for split in written.splits},
        "considered": result.considered,
        "kept": result.kept,
        "dropped": dict(result.dropped),
        "redacted": dict(result.redacted),
        "basis": [asdict(basis) for basis in result.basis],
        "limit": result.limit,
        "replaced": result.replaced,
        "straddling_groups": written.report.straddling,
        "dropped_by_split": written.report.dropped,
        "seconds": round(result.seconds, 3),
    }


def print_built(result: BuildResult) -> None:
    """Show what a dataset holds, and what became of the rest."""
    console = Terminal()
    written = result.written
    console.print(
        titled(written.family.name, f": {written.rows:,} examples in {result.seconds:.1f} s")
    )
    table = Table("split", "examples", "bytes", box=None, header_style="dim")
    for split in written.splits:
        size = sum(file.size for file in split.files)
        table.add_row(split.name, f"{split.rows:,}", f"{size:,}")
    console.print(table)
    console.print(f"{result.considered:,} considered, {result.kept:,} kept by the filters")
    whole = written.rows + written.report.dropped
    if result.limit is not None and whole < result.limit:
        few = f"{whole:,} of the {result.limit:,} rows of --limit"
        console.print(f"  {few}: the others were not there")
    for reason, count in sorted(result.dropped.items()):
        console.print(clean(f"  {count:,} without an example: ") + clean(reason))
    if written.report.dropped:
        console.print(
            f"  {written.report.dropped:,} dropped: near duplicates of examples in another split"
        )
    for kind, count in sorted(result.redacted.items()):
        console.print(clean(f"  {count:,} redacted in texts: ") + clean(kind))
    show(basis_blocks(result.basis))
    if result.replaced is not None:
        console.print(clean(f"It replaces {result.replaced}"))
    console.print(clean(f"Written to {written.directory}"))

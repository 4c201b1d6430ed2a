"""The command that clones a repository and finds the states of its pull requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from goldpan.commands.shared import (
    Address,
    Directory,
    Engine,
    EngineChoice,
    Json,
    Repos,
    opened,
    print_result,
)
from goldpan.core.terminal import Terminal, titled

if TYPE_CHECKING:  # these take long to import
    from goldpan.git.clone import CloneResult
    from goldpan.miners.history.revisions import History

_MOST_NUMBERS = 20


def clone(
    repo: Repos = None,
    source: Annotated[
        str | None,
        typer.Option(
            help="A git address, a local mirror or a bundle, instead of GitHub; for several "
            "repositories, put {owner} and {name} in it."
        ),
    ] = None,
    network: Annotated[
        bool | None,
        typer.Option(
            "--network/--no-network",
            help="Ask GitHub for what git cannot tell. (default: unless --source is local)",
        ),
    ] = None,
    engine: Engine = EngineChoice.LOCAL,
    address: Address = "",
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Fetch the code's history, and find the states before and after each pull request.

    Only the files that merged or paired pull requests change are fetched, in large batches. Run
    it again after goldpan mine and goldpan pair.
    """
    with opened(json, workspace=workspace) as lab:
        histories = lab.clone(
            *(repo or ()),
            source=source,
            network=network,
            engine=engine.value,
            address=address,
        )
    print_result(
        json,
        [{**asdict(cloned), **asdict(history)} for cloned, history in histories],
        lambda: print_histories(histories),
    )


def print_histories(histories: Sequence[tuple[CloneResult, History]]) -> None:
    """Show how many pull requests have which state, and what was odd."""
    console = Terminal()
    for cloned, history in histories:
        console.print(
            titled(
                history.repo,
                f": {cloned.refs:,} refs, {history.pulls:,} pull requests "
                f"read, {history.changes:,} changed files, {history.fetched:,} files fetched",
            )
        )
        if cloned.kept:
            console.print(f"{cloned.kept:,} commits that the source no longer has are kept")
        table = Table("state or note", "pull requests", box=None, header_style="dim")
        for name, count in (*history.states.items(), *history.notes.items()):
            table.add_row(name, f"{count:,}")
        console.print(table)
        if history.unasked:
            console.print(
                f"git cannot tell what {history.unasked:,} pull requests changed, and the network "
                "was not asked: goldpan clone --network asks GitHub for their diffs"
            )
        if history.disagreeing:
            numbers = ", ".join(f"#{number}" for number in history.disagreeing[:_MOST_NUMBERS])
            more = len(history.disagreeing) - _MOST_NUMBERS
            console.print(
                f"Size differs from GitHub's figures: {numbers}"
                + (f" and {more:,} more" * (more > 0))
            )

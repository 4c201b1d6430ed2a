"""The command that clones a repository and finds the states of its pull requests."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from goldpan.commands.shared import Directory, Json, Repos, opened, print_result
from goldpan.show import history as show


def clone(
    repo: Repos = None,
    source: Annotated[
        str | None,
        typer.Option(help="A git address, a local mirror or a bundle, instead of GitHub."),
    ] = None,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Fetch the code's history, and find the states before and after each pull request.

    Only the files that merged or paired pull requests change are fetched, in large batches. Run
    it again after goldpan mine and goldpan pair.
    """
    with opened(json, workspace=workspace) as lab:
        found = lab.clone(*(repo or ()), source=source)
    print_result(
        json,
        [{**asdict(cloned), **asdict(history)} for cloned, history in found],
        lambda: show.histories(found),
    )

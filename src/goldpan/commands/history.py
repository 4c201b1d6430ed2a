"""The command that clones a repository and finds the states of its pull requests."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Annotated

import typer

from goldpan.commands.shared import (
    Directory,
    Json,
    Repos,
    known_repositories,
    print_result,
    reporting,
    settings_of,
)
from goldpan.core.errors import UsageError
from goldpan.core.workspace import Workspace
from goldpan.git.clone import clone as clone_repository
from goldpan.miners.github.connect import connect
from goldpan.miners.history.revisions import read_history
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
    """Fetch the history of the code, and find the states before and after each pull request.

    Only the files that merged or paired pull requests change are fetched, in large batches. Run
    it again after goldpan mine and goldpan pair.
    """
    settings = settings_of(workspace=workspace)
    place = Workspace(settings.workspace)
    repos = known_repositories(place, repo, "tables")
    if source is not None and len(repos) != 1:
        raise UsageError("--source holds one repository", "Give exactly one --repo")
    token = settings.tokens[0] if settings.tokens else None
    found = []
    with reporting(json) as reporter:
        client = partial(connect, settings, reporter)
        for name in repos:
            with place.lock(name):
                host = settings.git_host
                cloned = clone_repository(
                    place, name, reporter, source=source, token=token, host=host
                )
                history = read_history(place, name, reporter, client=client, token=token, host=host)
            found.append((cloned, history))
    print_result(
        json,
        [{**asdict(cloned), **asdict(history)} for cloned, history in found],
        lambda: show.histories(found),
    )

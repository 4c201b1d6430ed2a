"""The command that builds issue-type datasets."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from goldpan.api.repositories import known_repositories
from goldpan.commands.shared import (
    Directory,
    Json,
    Repos,
    names_of,
    print_result,
    reporting,
    settings_of,
)
from goldpan.core.workspace import Workspace
from goldpan.show import issue_type as show


class _Origin(StrEnum):
    GHARCHIVE = "gharchive"
    MINED = "mined"


class _Engine(StrEnum):
    LOCAL = "local"
    RAY = "ray"


def issue_type(
    origin: Annotated[
        _Origin, typer.Option("--from", help="Hours of GH Archive, or mined repositories.")
    ] = _Origin.GHARCHIVE,
    repo: Repos = None,
    profile: Annotated[
        str,
        typer.Option(
            help="default, nlbse22, nlbse23, nlbse24, or the path of your own .toml file."
        ),
    ] = "default",
    split: Annotated[
        str | None,
        typer.Option(
            help="As of goldpan build qa, or project:OWNER/NAME, stratified:0.8,0.2, "
            "leave-one-project-out. (default: the profile's)"
        ),
    ] = None,
    balance: Annotated[
        str | None,
        typer.Option(help="none, project:300 or project-label:100. (default: the profile's)"),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the split and the balance.")] = 0,
    engine: Annotated[_Engine, typer.Option(help="This machine, or a Ray cluster.")] = (
        _Engine.LOCAL
    ),
    processes: Annotated[
        int | None, typer.Option(help="How many local processes to use. (default: one per core)")
    ] = None,
    address: Annotated[
        str, typer.Option(help="The Ray cluster's address, such as auto or HOST:6379.")
    ] = "",
    output: Annotated[
        Path | None, typer.Option(help="The dataset's directory. (default: WORKSPACE/datasets/...)")
    ] = None,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Build a dataset of issues and their types: bug, feature and the like.

    Uses closed issues whose labels mean exactly one type. Both engines give the same bytes.
    """
    from goldpan.builders.issue_type.build import build_issue_types, make_request
    from goldpan.builders.issue_type.closings import EventSource
    from goldpan.builders.issue_type.profile import load_profile
    from goldpan.core.engine import open_engine

    chosen = load_profile(profile)
    settings = settings_of(workspace=workspace)
    place = Workspace(settings.workspace)
    repos = known_repositories(place, repo, "tables") if origin == "mined" else names_of(repo, None)
    request = make_request(
        EventSource(place, origin.value, tuple(repos)),
        chosen,
        split=split,
        balance=balance,
        seed=seed,
        directory=output,
    )
    with (
        reporting(json) as reporter,
        open_engine(
            engine.value, settings.processes if processes is None else processes, address
        ) as opened,
    ):
        built = build_issue_types(request, opened, reporter)
    print_result(json, show.built_json(built), lambda: show.built(built))

"""Commands that judge issues and fix pairs, and explain the verdicts."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
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
from goldpan.core.terminal import Terminal
from goldpan.core.workspace import Workspace
from goldpan.explain import explain
from goldpan.filters.catalogue import criteria
from goldpan.filters.funnel import read_funnels
from goldpan.filters.pipeline import run_filters
from goldpan.filters.profile import load_profile
from goldpan.filters.rejects import write_rejects
from goldpan.show import explaining
from goldpan.show import filtering as show

ProfileName = Annotated[
    str, typer.Option("--profile", help="default, faun-eval, or the path of a .toml of your own.")
]


def filter(
    repo: Repos = None,
    profile: ProfileName = "default",
    rejects: Annotated[
        Path | None, typer.Option(help="Write what is dropped: .parquet, .jsonl or .csv.")
    ] = None,
    only_list: Annotated[
        bool, typer.Option("--list", help="Only list the criteria and which ones decide.")
    ] = False,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Judge every issue and fix pair by every criterion, each verdict with its reason.

    Nothing is deleted: a profile says which criteria decide, and with which settings.
    """
    settings = settings_of(workspace=workspace)
    chosen = load_profile(profile)
    if only_list:
        known = list(criteria().values())
        print_result(json, chosen.plain(), lambda: show.criteria(known, chosen.decide))
        return
    place = Workspace(settings.workspace)
    repos = known_repositories(place, repo, "tables")
    with reporting(json) as reporter:
        found = run_filters(place, repos, chosen, reporter, workers=settings.processes)
        count = write_rejects(place, repos, chosen.name, rejects) if rejects else 0
    print_result(json, [asdict(one) for one in found], lambda: show.filtered(found))
    if rejects and not json:
        Terminal().print(f"\n{count:,} dropped subjects are in {rejects}")


def funnel(
    repo: Repos = None,
    profile: ProfileName = "default",
    plot: Annotated[
        Path | None, typer.Option(help="Draw it too: a file that ends in .svg, .png or .html.")
    ] = None,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Show what each criterion takes out, alone and one after the other."""
    chosen = load_profile(profile)
    place = Workspace(settings_of(workspace=workspace).workspace)
    repos = known_repositories(place, repo, "tables")
    issues, pairs = read_funnels(place, repos, chosen)
    if plot:
        from goldpan.report.plot import plot_funnel

        plot_funnel([issues, pairs], plot)

    def for_people() -> None:
        show.funnel(issues)
        show.funnel(pairs)

    print_result(json, [asdict(issues), asdict(pairs)], for_people)


def why(
    subject: Annotated[str, typer.Argument(help="OWNER/NAME#NUMBER")],
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Explain one entry: references, signals, pairs, verdicts, and the raw replies."""
    place = Workspace(settings_of(workspace=workspace).workspace)
    found = explain(place, subject)
    print_result(json, asdict(found), lambda: explaining.explanation(found))

"""Commands that judge issues and fix pairs, and explain the verdicts."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from goldpan.commands.shared import Directory, Json, Repos, opened, print_result
from goldpan.core.terminal import Terminal
from goldpan.show import explaining
from goldpan.show import filtering as show

ProfileName = Annotated[
    str, typer.Option("--profile", help="default, faun-eval, or the path of your own .toml file.")
]


def filter(
    repo: Repos = None,
    profile: ProfileName = "default",
    rejects: Annotated[
        Path | None,
        typer.Option(help="Also write what is dropped, to a .parquet, .jsonl or .csv file."),
    ] = None,
    only_list: Annotated[
        bool, typer.Option("--list", help="Only list the criteria and which ones decide.")
    ] = False,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Judge every issue and fix pair by every criterion; each verdict has a reason.

    Nothing is deleted: a profile says which criteria decide, and with which settings.
    """
    if only_list:
        from goldpan.core.config import use_plugins
        from goldpan.filters.catalogue import criteria
        from goldpan.filters.profile import load_profile

        use_plugins(workspace)
        chosen = load_profile(profile)
        known = list(criteria().values())
        print_result(json, chosen.plain(), lambda: show.criteria(known, chosen.decide))
        return
    names = repo or ()
    with opened(json, workspace=workspace) as lab:
        found = lab.filter(*names, profile=profile)
        count = lab.rejects(rejects, *names, profile=profile) if rejects else 0
    print_result(json, [asdict(one) for one in found], lambda: show.filtered(found))
    if rejects and not json:
        Terminal().print(f"\n{count:,} dropped subjects are in {rejects}")


def funnel(
    repo: Repos = None,
    profile: ProfileName = "default",
    plot: Annotated[
        Path | None, typer.Option(help="Also draw the funnel, to a .svg, .png or .html file.")
    ] = None,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Show what each criterion drops, on its own and in sequence."""
    with opened(json, workspace=workspace) as lab:
        issues, pairs = lab.funnel(*(repo or ()), profile=profile)
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
    """Explain one issue or pull request: references, signals, pairs, verdicts, raw replies."""
    with opened(json, workspace=workspace) as lab:
        found = lab.why(subject)
    print_result(json, asdict(found), lambda: explaining.explanation(found))

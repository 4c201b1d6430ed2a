"""Commands that mine GitHub, by repository or by hour, and pair issues with their fixes."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from goldpan.commands.gharchive import gharchive
from goldpan.commands.shared import (
    Directory,
    Json,
    Repos,
    complain,
    finish,
    known_repositories,
    names_of,
    print_result,
    reporting,
    settings_of,
)
from goldpan.core.errors import GoldpanError, UsageError
from goldpan.core.workspace import Workspace
from goldpan.miners.backup import mine_backup
from goldpan.miners.coverage import Coverage, measure_coverage
from goldpan.miners.estimate import Estimate
from goldpan.miners.mine import MineResult, predict
from goldpan.miners.mine import mine as mine_repository
from goldpan.miners.pairing import find_rules
from goldpan.miners.pairing import pair as pair_repository
from goldpan.miners.repair import repair as repair_archive
from goldpan.miners.tables.inputs import check_replies
from goldpan.miners.tables.normalize import normalize as normalize_repository
from goldpan.show import mining as show

app = typer.Typer(
    help="Mine repositories, or the events of all public ones from GH Archive.",
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)


@app.callback()
def mine(
    context: typer.Context,
    repo: Repos = None,
    repos: Annotated[
        Path | None, typer.Option(help="A file with one OWNER/NAME a line; # starts a comment.")
    ] = None,
    workspace: Directory = None,
    via: Annotated[str | None, typer.Option(help="auto, graphql or rest. (default: auto)")] = None,
    since: Annotated[
        str | None, typer.Option(help="Only entries updated since this date, as 2024-08-01.")
    ] = None,
    api_url: Annotated[
        str | None, typer.Option(help="GitHub Enterprise Server: https://HOST/api/v3.")
    ] = None,
    from_backup: Annotated[
        Path | None, typer.Option(help="Read a metadata backup: a folder, or .jsonl[.xz|.gz].")
    ] = None,
    concurrency: Annotated[
        int | None, typer.Option(help="The most requests under way at once. (default: 4)")
    ] = None,
    patience: Annotated[
        str | None,
        typer.Option(help="How long to wait while GitHub answers nothing, as 30m. (default: 1h)"),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only predict the cost.")] = False,
    repair: Annotated[
        bool,
        typer.Option("--repair", help="Set damaged raw replies aside and keep what is sound."),
    ] = False,
    json: Json = False,
) -> None:
    """Mine the issues and pull requests of repositories, and say what is missing.

    The token comes from GITHUB_TOKEN or GH_TOKEN (several separated by commas are used as a
    pool) or from `gh auth token`. Run the same command again to go on after a stop, or to fetch
    what changed since. Exits with 3 when something is missing.
    """
    if context.invoked_subcommand is not None:
        if any(context.params.values()):
            raise UsageError(
                f"Options stand between goldpan mine and {context.invoked_subcommand}",
                f"Write them behind {context.invoked_subcommand}",
            )
        return
    settings = settings_of(
        workspace=workspace,
        via=via,
        since=since,
        api_url=api_url,
        concurrency=concurrency,
        patience=patience,
    )
    names = names_of(repo, repos)
    if not names:
        raise UsageError("No repository was named", "Give --repo OWNER/NAME or --repos FILE")
    if repair:
        _repair(Workspace(settings.workspace), names, json=json)
        return
    with reporting(json) as reporter:
        if from_backup is not None:
            if len(names) != 1:
                raise UsageError("A backup holds one repository", "Give exactly one --repo")
            coverage = mine_backup(settings, from_backup, names[0], reporter)
            print_result(json, [asdict(coverage)], lambda: show.coverage(coverage))
            finish([coverage.complete])
        costs: dict[str, Estimate] = {}
        results: list[MineResult] = []
        failures: dict[str, GoldpanError] = {}
        for name in names:
            try:
                if dry_run:
                    costs[name] = predict(settings, name, reporter)
                else:
                    results.append(mine_repository(settings, name, reporter))
            except UsageError:
                raise
            except GoldpanError as error:  # of this repository: the others go on
                failures[name] = error
                complain(error)
    if dry_run:
        predicted = {name: asdict(cost) for name, cost in costs.items()}
        told = {name: {"failure": str(error)} for name, error in failures.items()}
        print_result(json, predicted | told, lambda: show.estimates(costs))
    else:
        mined = [show.mined_json(result) for result in results]
        failed = [show.failed_json(name, error) for name, error in failures.items()]
        print_result(json, [*mined, *failed], lambda: show.mined(results))
    stopped = [result.failure for result in results if result.failure]
    for failure in stopped:
        complain(failure)
    if failures or stopped:
        raise typer.Exit(1)
    finish([bool(result.coverage and result.coverage.complete) for result in results])


def _repair(place: Workspace, names: list[str], *, json: bool) -> None:
    """Mend the archives of repositories; asks nothing of the network."""
    done = []
    for name in names:
        with place.lock(name):
            done.append(repair_archive(place.raw(name)))
    print_result(json, [asdict(one) for one in done], lambda: show.repairs(names, done))


app.command()(gharchive)


def normalize(repo: Repos = None, workspace: Directory = None, json: Json = False) -> None:
    """Make the tables anew from the raw replies; asks nothing of the network."""
    settings = settings_of(workspace=workspace)
    place = Workspace(settings.workspace)
    with reporting(json) as reporter:
        counts = {}
        for name in known_repositories(place, repo, "raw"):
            with place.lock(name):
                check_replies(place, name)
                counts[name] = normalize_repository(place, name, reporter, workers=settings.workers)
    print_result(json, counts, lambda: show.tables(counts))


def pair(
    repo: Repos = None,
    rules: Annotated[
        str, typer.Option(help="default, faun-eval or unconfirmed (see docs/pairing.md).")
    ] = "default",
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Find the pull requests that fix issues, with the evidence for each pair."""
    chosen = find_rules(rules)
    place = Workspace(settings_of(workspace=workspace).workspace)
    found = [
        pair_repository(place, name, chosen) for name in known_repositories(place, repo, "tables")
    ]
    print_result(json, [asdict(one) for one in found], lambda: show.pairs(found))


def status(repo: Repos = None, workspace: Directory = None, json: Json = False) -> None:
    """Show announced against stored counts, and list what is missing with the reason."""
    place = Workspace(settings_of(workspace=workspace).workspace)
    found: list[Coverage] = []
    for name in known_repositories(place, repo, "raw"):
        coverage = measure_coverage(place, name)  # which tells damage from what was cut off
        check_replies(place, name)
        found.append(coverage)
    print_result(json, [asdict(one) for one in found], lambda: show.status(found))
    finish([one.complete for one in found])

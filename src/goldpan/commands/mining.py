"""Commands that mine GitHub, by repository or by hour, and pair issues with their fixes."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goldpan.commands.gharchive import gharchive
from goldpan.commands.shared import (
    Directory,
    Json,
    Repos,
    complain,
    finish,
    names_of,
    opened,
    print_result,
)
from goldpan.core.errors import GoldpanError, UsageError
from goldpan.show import mining as show

if TYPE_CHECKING:
    from goldpan.miners.estimate import Estimate
    from goldpan.miners.mine import MineResult

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
        Path | None, typer.Option(help="A file with one OWNER/NAME per line; # starts a comment.")
    ] = None,
    workspace: Directory = None,
    via: Annotated[str | None, typer.Option(help="auto, graphql or rest. (default: auto)")] = None,
    since: Annotated[
        str | None, typer.Option(help="Only entries updated since this date, such as 2024-08-01.")
    ] = None,
    api_url: Annotated[
        str | None, typer.Option(help="GitHub Enterprise Server: https://HOST/api/v3.")
    ] = None,
    from_backup: Annotated[
        Path | None, typer.Option(help="Read a metadata backup: a folder, or .jsonl[.xz|.gz].")
    ] = None,
    concurrency: Annotated[
        int | None, typer.Option(help="The most concurrent requests. (default: 4)")
    ] = None,
    patience: Annotated[
        str | None,
        typer.Option(help="How long to wait while GitHub is down, such as 30m. (default: 1h)"),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only predict the cost.")] = False,
    repair: Annotated[
        bool,
        typer.Option("--repair", help="Set damaged raw replies aside and keep the rest."),
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
                f"Options come between goldpan mine and {context.invoked_subcommand}",
                f"Write them behind {context.invoked_subcommand}",
            )
        return
    with opened(
        json,
        workspace=workspace,
        via=via,
        since=since,
        api_url=api_url,
        concurrency=concurrency,
        patience=patience,
    ) as lab:
        names = names_of(repo, repos)
        if not names:
            raise UsageError("No repository was named", "Give --repo OWNER/NAME or --repos FILE")
        if repair:
            done = list(lab.repair(*names).values())
            print_result(json, [asdict(one) for one in done], lambda: show.repairs(names, done))
            return
        if from_backup is not None:
            if len(names) != 1:
                raise UsageError("A backup holds one repository", "Give exactly one --repo")
            coverage = lab.from_backup(names[0], from_backup)
            print_result(json, [asdict(coverage)], lambda: show.coverage(coverage))
            finish([coverage.complete])
        costs: dict[str, Estimate] = {}
        results: list[MineResult] = []
        failures: dict[str, GoldpanError] = {}
        for name in names:
            try:
                if dry_run:
                    costs[name] = lab.predict(name)
                else:
                    results.append(lab.mine(name))
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


app.command()(gharchive)


def normalize(repo: Repos = None, workspace: Directory = None, json: Json = False) -> None:
    """Rebuild the tables from the raw replies, without any network access."""
    with opened(json, workspace=workspace) as lab:
        counts = lab.normalize(*(repo or ()))
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
    with opened(json, workspace=workspace) as lab:
        found = lab.pair(*(repo or ()), rules=rules)
    print_result(json, [asdict(one) for one in found], lambda: show.pairs(found))


def status(repo: Repos = None, workspace: Directory = None, json: Json = False) -> None:
    """Compare announced with stored counts, and list what is missing and why."""
    with opened(json, workspace=workspace) as lab:
        found = lab.status(*(repo or ()))
    print_result(json, [asdict(one) for one in found], lambda: show.status(found))
    finish([one.complete for one in found])

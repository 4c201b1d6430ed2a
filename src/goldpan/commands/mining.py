"""Commands that mine GitHub, by repository or by hour, and pair issues with their fixes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goldpan.commands.gharchive import gharchive
from goldpan.commands.mining_screen import (
    failed_json,
    mined_json,
    print_coverage,
    print_estimates,
    print_mined,
    print_repairs,
    print_status,
)
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

if TYPE_CHECKING:  # these take long to import
    from goldpan.miners.estimate import Estimate
    from goldpan.miners.mine import MineResult
    from goldpan.operations.workspace import Workspace

License = Annotated[
    str | None,
    typer.Option(help="The repository's license where GitHub is wrong or silent, such as MIT."),
]

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
    license: License = None,
    concurrency: Annotated[
        int | None, typer.Option(help="How many requests to send at once. (default: 4)")
    ] = None,
    at_once: Annotated[
        int | None,
        typer.Option(
            help="How many repositories to mine at once; they share the rate limit. (default: 8, "
            "fewer if memory is short)"
        ),
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
                f"Write them after {context.invoked_subcommand}",
            )
        return
    with opened(
        json,
        workspace=workspace,
        via=via,
        since=since,
        api_url=api_url,
        concurrency=concurrency,
        at_once=at_once,
        patience=patience,
    ) as lab:
        names = names_of(repo, repos)
        if not names:
            raise UsageError("No repository was named", "Give --repo OWNER/NAME or --repos FILE")
        if repair:
            repairs = list(lab.repair(*names).values())
            print_result(
                json,
                [asdict(repaired) for repaired in repairs],
                lambda: print_repairs(names, repairs),
            )
            return
        if from_backup is not None:
            if len(names) != 1:
                raise UsageError("A backup holds one repository", "Give exactly one --repo")
            coverage = lab.from_backup(names[0], from_backup, license=license)
            print_result(json, [asdict(coverage)], lambda: print_coverage(coverage))
            finish([coverage.complete])
        if license is not None and len(names) != 1:
            raise UsageError("--license applies to one repository", "Give exactly one --repo")
        costs: dict[str, Estimate] = {}
        results: list[MineResult] = []
        failures: dict[str, GoldpanError] = {}
        if dry_run:
            for name, predicted in lab.predict_many(*names).items():
                if isinstance(predicted, GoldpanError):
                    failures[name] = predicted
                else:
                    costs[name] = predicted
        else:
            mined = _mine(lab, names, license)
            results = [
                outcome for outcome in mined.values() if not isinstance(outcome, GoldpanError)
            ]
            failures = {
                name: outcome
                for name, outcome in mined.items()
                if isinstance(outcome, GoldpanError)
            }
    for failure in failures.values():
        complain(failure)
    if dry_run:
        told_costs = {name: asdict(cost) for name, cost in costs.items()}
        outcomes = {name: {"failure": str(error)} for name, error in failures.items()}
        print_result(json, told_costs | outcomes, lambda: print_estimates(costs))
    else:
        told_results = [mined_json(result) for result in results]
        failed = [failed_json(name, error) for name, error in failures.items()]
        print_result(json, [*told_results, *failed], lambda: print_mined(results))
    stopped = [result.failure for result in results if result.failure]
    for failure in stopped:
        complain(failure)
    if failures or stopped:
        raise typer.Exit(1)
    finish([bool(result.coverage and result.coverage.complete) for result in results])


app.command()(gharchive)


def _mine(
    lab: Workspace, names: Sequence[str], license: str | None
) -> dict[str, MineResult | GoldpanError]:
    """Return what mining each gave; the lines on one alone do not begin with its name."""
    if len(names) > 1:
        return lab.mine_many(*names)
    try:
        return {names[0]: lab.mine(names[0], license=license)}
    except UsageError:
        raise
    except GoldpanError as error:
        return {names[0]: error}


def status(
    repo: Repos = None,
    plan: Annotated[
        Path | None, typer.Option(help="Show which units of this plan are up to date instead.")
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(help="Also write an HTML page about all repositories of the workspace."),
    ] = None,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Compare announced with stored counts, and list what is missing and why."""
    from goldpan.filters.basis import stored_profiles

    if html is not None and html.suffix != ".html":
        raise UsageError(f"--html {html} is not an HTML file", "End it in .html")
    if plan is not None:
        if repo:
            raise UsageError("--plan shows the repositories of the plan", "Leave out --repo")
        raise SystemExit(plan)
    with opened(json, workspace=workspace) as lab:
        coverages = lab.status(*(repo or ()))
        stored = {item.repo: stored_profiles(lab.layout, item.repo) for item in coverages}
        if html is not None:
            raise SystemExit(html)
    described = [{**asdict(item), "stored": stored[item.repo]} for item in coverages]
    print_result(json, described, lambda: print_status(coverages, stored))
    finish([coverage.complete for coverage in coverages])

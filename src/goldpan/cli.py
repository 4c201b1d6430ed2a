"""The command line: arguments in, one call a stage, output for people or machines."""

from __future__ import annotations

import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, NoReturn

import orjson
import typer
from rich.console import Console

from goldpan import __version__, show
from goldpan.config import Settings, load_settings, repository_name
from goldpan.errors import GoldpanError, StoppedError, UsageError
from goldpan.explain import explain
from goldpan.miners.backup import mine_backup
from goldpan.miners.coverage import Coverage, measure_coverage
from goldpan.miners.mine import Mined, predict
from goldpan.miners.mine import mine as mine_repository
from goldpan.miners.pairing import find_rules
from goldpan.miners.pairing import pair as pair_repository
from goldpan.miners.tables.normalize import normalize as normalize_repository
from goldpan.progress import Reporter
from goldpan.workspace import Workspace

app = typer.Typer(
    help="Turn GitHub history into curated, published, evaluated datasets.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)

Repos = Annotated[
    list[str] | None, typer.Option("--repo", help="OWNER/NAME; may be given several times.")
]
Directory = Annotated[
    Path | None,
    typer.Option("--workspace", help="Where everything is kept. (default: goldpan-workspace)"),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
"""Exit codes: 0 done, 1 failed, 2 bad usage, 3 something is missing."""
PARTIAL = 3


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"goldpan {__version__}")
        raise typer.Exit


@app.callback()
def _goldpan(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and stop."
        ),
    ] = False,
) -> None:
    pass


@app.command()
def mine(
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
        int | None, typer.Option(help="Requests under way at once. (default: 2)")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only predict the cost.")] = False,
    json: Json = False,
) -> None:
    """Bring a repository's issues and pull requests home, completely.

    The token comes from GITHUB_TOKEN or GH_TOKEN (several separated by commas are used as a
    pool) or from `gh auth token`. Run the same command again to go on after a stop, or to fetch
    what changed since. Exits with 3 when something is missing.
    """
    settings = _settings(
        workspace=workspace, via=via, since=since, api_url=api_url, concurrency=concurrency
    )
    names = _names(repo, repos)
    if not names:
        raise UsageError("No repository was named", "Give --repo OWNER/NAME or --repos FILE")
    with _reporter(json) as reporter:
        if from_backup is not None:
            if len(names) != 1:
                raise UsageError("A backup holds one repository", "Give exactly one --repo")
            coverage = mine_backup(settings, from_backup, names[0], reporter)
            _print(json, [asdict(coverage)], lambda: show.coverage(coverage))
            _finish([coverage.complete])
        if dry_run:
            costs = {name: predict(settings, name, reporter) for name in names}
            _print(json, {n: asdict(c) for n, c in costs.items()}, lambda: show.estimates(costs))
            return
        results: list[Mined] = []
        failures: list[GoldpanError] = []
        for name in names:
            try:
                results.append(mine_repository(settings, name, reporter))
            except UsageError:
                raise
            except GoldpanError as error:
                failures.append(error)
                _complain(error)
    _print(json, [show.mined_json(result) for result in results], lambda: show.mined(results))
    for result in results:
        if result.failure:
            failures.append(result.failure)
            _complain(result.failure)
    if failures:
        raise typer.Exit(1)
    _finish([bool(result.coverage and result.coverage.complete) for result in results])


@app.command()
def normalize(repo: Repos = None, workspace: Directory = None, json: Json = False) -> None:
    """Make the tables anew from the raw replies; asks nothing of the network."""
    settings = _settings(workspace=workspace)
    place = Workspace(settings.workspace)
    with _reporter(json) as reporter:
        counts = {}
        for name in _known(place, repo, "raw"):
            with place.lock(name):
                counts[name] = normalize_repository(place, name, reporter, workers=settings.workers)
    _print(json, counts, lambda: show.tables(counts))


@app.command()
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
    place = Workspace(_settings(workspace=workspace).workspace)
    found = [pair_repository(place, name, chosen) for name in _known(place, repo, "tables")]
    _print(json, [asdict(one) for one in found], lambda: show.pairs(found))


@app.command()
def status(repo: Repos = None, workspace: Directory = None, json: Json = False) -> None:
    """Show announced against stored counts, and list what is missing with the reason."""
    place = Workspace(_settings(workspace=workspace).workspace)
    found: list[Coverage] = [
        measure_coverage(place, name) for name in _known(place, repo, "tables")
    ]
    _print(json, [asdict(one) for one in found], lambda: show.status(found))
    _finish([one.complete for one in found])


@app.command()
def why(
    subject: Annotated[str, typer.Argument(help="OWNER/NAME#NUMBER")],
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Explain one issue or pull request: references, signals, pairs, and the raw replies."""
    place = Workspace(_settings(workspace=workspace).workspace)
    found = explain(place, subject)
    _print(json, asdict(found), lambda: show.explanation(found))


@app.command()
def demo(workspace: Directory = None) -> None:
    """Run the whole pipeline offline on a small repository that comes with Goldpan."""
    from goldpan.demo import run_demo

    settings = _settings(workspace=workspace or Path("demo-workspace"))
    with _reporter(False) as reporter:
        run_demo(settings, reporter)


def main() -> None:
    """Run `goldpan`."""
    _run(app)


def mine_main() -> None:
    """Run `mine`, which is `goldpan mine`."""
    single = typer.Typer(
        add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="markdown"
    )
    single.command()(mine)
    _run(single)


def _run(program: Callable[..., Any]) -> NoReturn:
    try:
        program()
    except GoldpanError as error:
        _complain(error)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.exit(141)
    except Exception as error:  # noqa: BLE001 - the last resort: people get a sentence, not a trace
        _defect(error)
    sys.exit(0)


def _defect(error: Exception) -> NoReturn:
    """Keep the trace of a defect of our own in a file and say where."""
    with tempfile.NamedTemporaryFile(
        "w", prefix="goldpan-error-", suffix=".txt", delete=False, encoding="utf-8"
    ) as file:
        traceback.print_exception(error, file=file)
    _complain(
        GoldpanError(
            f"Goldpan itself failed ({type(error).__name__}: {error})",
            f"Please report it with {file.name}. What was fetched is kept; run the command again",
        )
    )
    sys.exit(1)


def _settings(**flags: object) -> Settings:
    return load_settings(flags)


def _names(repo: list[str] | None, repos: Path | None) -> list[str]:
    names = list(repo or ())
    if repos is not None:
        try:
            lines = repos.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(
                f"{repos} cannot be read: {error}", "Give a text file with one OWNER/NAME a line"
            ) from None
        names += [name for line in lines if (name := line.partition("#")[0].strip())]
    return list(dict.fromkeys(repository_name(name) for name in names))


def _known(place: Workspace, repo: list[str] | None, below: str) -> list[str]:
    names = _names(repo, None) or place.repositories(below)
    if not names:
        raise UsageError(f"{place.root} holds no repository", "Run goldpan mine --repo OWNER/NAME")
    return names


@contextmanager
def _reporter(json: bool) -> Iterator[Reporter]:
    """Give a reporter for work that takes its time and may be stopped."""
    try:
        with Reporter(quiet=json) as reporter:
            yield reporter
    except KeyboardInterrupt:  # before typer sees it, which would only say "Aborted"
        raise StoppedError("Stopped", "The same command goes on where it was") from None


def _print(json: bool, value: object, for_people: Callable[[], object]) -> None:
    if json:
        sys.stdout.write(orjson.dumps(value, option=orjson.OPT_INDENT_2, default=str).decode())
        sys.stdout.write("\n")
    else:
        for_people()


def _complain(error: GoldpanError) -> None:
    start = "" if isinstance(error, StoppedError) else "Error: "
    Console(stderr=True, highlight=False, markup=False, soft_wrap=True).print(f"{start}{error}")


def _finish(complete: list[bool]) -> None:
    raise typer.Exit(0 if all(complete) else PARTIAL)

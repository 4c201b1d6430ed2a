"""What all commands share: common options, settings, progress, output and exit codes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import orjson
import typer
from rich.console import Console

from goldpan.config import Settings, load_settings, repository_name
from goldpan.errors import GoldpanError, StoppedError, UsageError
from goldpan.progress import Reporter
from goldpan.workspace import Workspace

Repos = Annotated[
    list[str] | None, typer.Option("--repo", help="OWNER/NAME; may be given several times.")
]
Directory = Annotated[
    Path | None,
    typer.Option("--workspace", help="Where everything is kept. (default: goldpan-workspace)"),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]

PARTIAL = 3
"""The exit code that says that something is missing; 0 done, 1 failed, 2 bad usage."""


def settings_of(**flags: object) -> Settings:
    """Return the settings with the flags that were given."""
    return load_settings(flags)


def names_of(repo: list[str] | None, repos: Path | None) -> list[str]:
    """Return the repositories that `--repo` and the lines of `--repos` name, each once."""
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


def known_repositories(place: Workspace, repo: list[str] | None, below: str) -> list[str]:
    """Return the named repositories, else all of the workspace; `below` is raw or tables."""
    names = names_of(repo, None) or place.repositories(below)
    if not names:
        raise UsageError(f"{place.root} holds no repository", "Run goldpan mine --repo OWNER/NAME")
    return names


@contextmanager
def reporting(json: bool) -> Iterator[Reporter]:
    """Give a reporter for work that takes its time and may be stopped."""
    try:
        with Reporter(quiet=json) as reporter:
            yield reporter
    except KeyboardInterrupt:  # before typer sees it, which would only say "Aborted"
        raise StoppedError("Stopped", "The same command goes on where it was") from None


def print_result(json: bool, value: object, for_people: Callable[[], object]) -> None:
    """Print a value as JSON, or show it to people."""
    if json:
        sys.stdout.write(orjson.dumps(value, option=orjson.OPT_INDENT_2, default=str).decode())
        sys.stdout.write("\n")
    else:
        for_people()


def complain(error: GoldpanError) -> None:
    """Say on standard error what went wrong and what to do."""
    start = "" if isinstance(error, StoppedError) else "Error: "
    Console(stderr=True, highlight=False, markup=False, soft_wrap=True).print(f"{start}{error}")


def finish(complete: list[bool]) -> None:
    """End the command with the exit code that says whether all is there."""
    raise typer.Exit(0 if all(complete) else PARTIAL)

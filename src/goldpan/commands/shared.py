"""What all commands share: common options, settings, progress, output and exit codes."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from goldpan.core.config import Settings, load_settings, repository_name
from goldpan.core.errors import GoldpanError, StoppedError, UnknownNameError, UsageError
from goldpan.core.log import LOG, PARTS, is_json
from goldpan.core.own_tasks import use_tasks
from goldpan.core.plugins import left_out
from goldpan.core.progress import Reporter
from goldpan.core.sanitize import for_json
from goldpan.core.secrets import mask
from goldpan.core.terminal import Terminal
from goldpan.core.workspace import Workspace as Layout
from goldpan.operations.workspace import Workspace

Repos = Annotated[
    list[str] | None, typer.Option("--repo", help="OWNER/NAME; may be given several times.")
]
Directory = Annotated[
    Path | None,
    typer.Option(
        "--workspace",
        help="The workspace: a directory or s3://BUCKET/NAME. (default: goldpan-workspace)",
    ),
]
OwnTasks = Annotated[
    Path | None,
    typer.Option("--tasks", help="A directory with your own tasks. (default: WORKSPACE/tasks)"),
]


class EngineChoice(StrEnum):
    """Where work is done."""

    LOCAL = "local"
    RAY = "ray"


Engine = Annotated[EngineChoice, typer.Option(help="This machine, or a Ray cluster.")]
Address = Annotated[
    str, typer.Option(help="The address of a Ray cluster, such as auto or HOST:6379.")
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]

_QUIET, _JSON, _WORKSPACE = "--quiet", "--json", "--workspace"

PARTIAL = 3
"""The exit code that says that something is missing; 0 done, 1 failed, 2 bad usage."""


def settings_of(**flags: object) -> Settings:
    """Return the settings with the flags that were given."""
    return load_settings(flags)


def names_of(repo: list[str] | None, repos: Path | None) -> list[str]:
    """Return the repositories that `--repo` and the lines of `--repos` name, each once."""
    names = [repository_name(name) for name in repo or ()]
    if repos is not None:
        try:
            lines = repos.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(
                f"{repos} cannot be read: {error}", "Give a text file with one OWNER/NAME per line"
            ) from None
        for number, line in enumerate(lines, 1):
            if text := line.partition("#")[0].strip():
                try:
                    names.append(repository_name(text))
                except UsageError as error:
                    raise UsageError(f"{repos}:{number}: {error.problem}", error.remedy) from None
    return list(dict.fromkeys(names))


def layout_of(workspace: Path | None, tasks: Path | None) -> Layout:
    """Return the paths of a workspace whose own tasks lie where `--tasks` says."""
    layout = Layout(settings_of(workspace=workspace).workspace)
    use_tasks(layout.root, tasks)
    return layout


@contextmanager
def opened(json: bool, **flags: Any) -> Iterator[Workspace]:
    """Give the workspace that the flags name, for work that may be stopped."""
    with stoppable():
        yield Workspace(flags.pop("workspace", None), progress=not is_silent(json), **flags)


@contextmanager
def reporting(json: bool) -> Iterator[Reporter]:
    """Give a reporter for work that takes its time and may be stopped."""
    with stoppable(), Reporter(quiet=is_silent(json)) as reporter:
        yield reporter


def is_silent(json: bool) -> bool:
    """Tell whether progress is not to be printed."""
    return json or is_json() or _QUIET in sys.argv[1:]


@contextmanager
def stoppable() -> Iterator[None]:
    """Tell people who press Ctrl-C what becomes of the work."""
    try:
        yield
    except KeyboardInterrupt:  # before typer sees it, which would only say "Aborted"
        raise StoppedError("Stopped", "Run the same command again to resume") from None


def print_result(json: bool, value: object, for_people: Callable[[], object]) -> None:
    """Print a value as JSON, or show it to people."""
    if json:
        text = orjson.dumps(value, option=orjson.OPT_INDENT_2, default=str).decode()
        sys.stdout.write(for_json(mask(text)) + "\n")
    else:
        for_people()


def wants_json() -> bool:
    """Tell whether errors are to be JSON."""
    return is_json() or _JSON in sys.argv[1:]


def with_plugin() -> str:
    """Return this command as it is to be given for a plugin to be loaded."""
    return shlex.join(["goldpan", "--plugin", "FILE.py", *sys.argv[1:]])


def complain(error: GoldpanError) -> None:
    """Say on standard error what went wrong and what to do, as JSON where that was asked for."""
    if isinstance(error, UnknownNameError):
        hints = left_out() or (f"If a plugin brings it, run {with_plugin()}",)
        error = UsageError(error.problem, ". ".join((error.remedy, *hints)))
    parts = {"problem": error.problem, "remedy": error.remedy, "exit_code": error.exit_code}
    LOG.error(str(error), extra={PARTS: parts})
    if is_json():
        return
    if _JSON in sys.argv[1:]:
        sys.stderr.write(for_json(mask(orjson.dumps({"error": parts}).decode())) + "\n")
        return
    start = "" if isinstance(error, StoppedError) else "Error: "
    # What servers say may hold lines: none of them looks like one of ours.
    text = str(error).replace("\n", "\n  ")
    Terminal(stderr=True).print(f"{start}{text}")


def finish(complete: list[bool]) -> None:
    """End the command with the exit code that says whether all is there."""
    raise typer.Exit(0 if all(complete) else PARTIAL)

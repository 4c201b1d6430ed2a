"""The command line: which commands there are, and what becomes of their failures."""

from __future__ import annotations

import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
import typer.core

from goldpan import __version__
from goldpan.commands import (
    annotating,
    building,
    checking,
    datasets,
    evaluating,
    filtering,
    history,
    importing,
    mining,
    reviewing,
    starting,
    tasks,
)
from goldpan.commands.examples import add_examples
from goldpan.commands.shared import Directory, complain, reporting, settings_of
from goldpan.core.errors import GoldpanError
from goldpan.core.log import start_log
from goldpan.core.plugins import use
from goldpan.core.resources import explain
from goldpan.core.secrets import mask, register_environment
from goldpan.core.terminal import Terminal

_START, _MINE, _FILTER = "Start", "Mine and pair", "Filter and review"
_BUILD, _EVALUATE, _LOOK = "Build and publish", "Evaluate", "Look and verify"
_ORDER = (
    *("demo", "init", "doctor"),
    *("mine", "normalize", "clone", "pair", "status"),
    *("filter", "funnel", "why", "review", "annotate"),
    *("build", "tasks", "import", "publish", "apply-edit"),
    "evaluate",
    *("report", "open", "trace", "check", "config"),
)


class _Pipeline(typer.core.TyperGroup):
    """Lists the commands in the order of the pipeline."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        return sorted(super().list_commands(ctx), key=_ORDER.index)


app = typer.Typer(
    cls=_Pipeline,
    help="Turn GitHub history into curated, published, evaluated datasets.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        Terminal().print(f"goldpan {__version__}")
        raise typer.Exit


@app.callback()
def _goldpan(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and stop."
        ),
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Also print each request with its status.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print no progress.")] = False,
    log_file: Annotated[
        Path | None,
        typer.Option(help="Append messages and requests to this file, without secrets."),
    ] = None,
    plugin: Annotated[
        list[Path] | None,
        typer.Option(
            help="A Python file that registers criteria, models and the like (docs/plugins.md); "
            "may be given several times."
        ),
    ] = None,
) -> None:
    start_log(log_file, verbose=verbose)
    for file in plugin or ():
        use(file)


def demo(workspace: Directory = None) -> None:
    """Run the whole pipeline offline on a small repository that comes with Goldpan."""
    from goldpan.demo import run_demo

    settings = settings_of(workspace=workspace or Path("demo-workspace"))
    with reporting(False) as reporter:
        run_demo(settings, reporter)


for panel, commands in {
    _START: (demo, starting.init, starting.doctor),
    _MINE: (mining.normalize, history.clone, mining.pair, mining.status),
    _FILTER: (filtering.filter, filtering.funnel, filtering.why, reviewing.review),
    _BUILD: (datasets.publish, datasets.apply_edit),
    _LOOK: (datasets.report, datasets.trace, checking.check),
}.items():
    for command in commands:
        app.command(rich_help_panel=panel)(command)
app.command("import", rich_help_panel=_BUILD)(importing.import_source)
app.command("open", rich_help_panel=_LOOK)(starting.open_result)
app.add_typer(mining.app, name="mine", rich_help_panel=_MINE)
app.add_typer(annotating.app, name="annotate", rich_help_panel=_FILTER)
app.add_typer(building.app, name="build", rich_help_panel=_BUILD)
app.add_typer(tasks.tasks_app, name="tasks", rich_help_panel=_BUILD)
app.add_typer(evaluating.app, name="evaluate", rich_help_panel=_EVALUATE)
app.add_typer(starting.config_app, name="config", rich_help_panel=_LOOK)
add_examples(app)


def main() -> None:
    """Run `goldpan`."""
    _run(app)


def mine_main() -> None:
    """Run `mine`, which is `goldpan mine`."""
    _run(mining.app)


def _run(program: Callable[..., Any]) -> NoReturn:
    register_environment()
    try:
        program()
    except GoldpanError as error:
        complain(error)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.exit(141)
    except Exception as error:  # noqa: BLE001 - the last resort: people get a sentence, not a trace
        known = explain(error)
        if known is None:
            _defect(error)
        complain(known)
        sys.exit(known.exit_code)
    sys.exit(0)


def _defect(error: Exception) -> NoReturn:
    """Keep the trace of a defect of our own in a file and say where."""
    with tempfile.NamedTemporaryFile(
        "w", prefix="goldpan-error-", suffix=".txt", delete=False, encoding="utf-8"
    ) as file:
        file.write(mask("".join(traceback.format_exception(error))))
    complain(
        GoldpanError(
            f"Goldpan itself failed ({type(error).__name__}: {error})",
            f"Please report it with {file.name}. What was fetched is kept; run the command again",
        )
    )
    sys.exit(1)

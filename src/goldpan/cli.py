"""The command line: which commands there are, and what becomes of their failures."""

from __future__ import annotations

import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

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
    tasks,
)
from goldpan.commands.shared import Directory, complain, reporting, settings_of
from goldpan.core.errors import GoldpanError
from goldpan.core.plugins import use
from goldpan.core.resources import explain
from goldpan.core.secrets import mask, register_environment
from goldpan.core.terminal import Terminal

app = typer.Typer(
    help="Turn GitHub history into curated, published, evaluated datasets.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
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
    plugin: Annotated[
        list[Path] | None,
        typer.Option(
            help="A Python file that registers criteria, models and the like (docs/plugins.md); "
            "may be given several times."
        ),
    ] = None,
) -> None:
    for file in plugin or ():
        use(file)


app.add_typer(mining.app, name="mine")
for command in (
    mining.normalize,
    mining.pair,
    mining.status,
    history.clone,
    checking.check,
    filtering.filter,
    filtering.funnel,
    filtering.why,
    reviewing.review,
    datasets.report,
    datasets.trace,
    datasets.publish,
    datasets.apply_edit,
):
    app.command()(command)
app.command("import")(importing.import_source)
app.add_typer(annotating.app, name="annotate")
app.add_typer(building.app, name="build")
app.add_typer(tasks.tasks_app, name="tasks")
app.add_typer(evaluating.app, name="evaluate")


@app.command()
def demo(workspace: Directory = None) -> None:
    """Run the whole pipeline offline on a small repository that comes with Goldpan."""
    from goldpan.demo import run_demo

    settings = settings_of(workspace=workspace or Path("demo-workspace"))
    with reporting(False) as reporter:
        run_demo(settings, reporter)


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

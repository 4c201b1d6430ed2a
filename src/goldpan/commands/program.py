"""The commands that typer still parses."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar

import typer

from goldpan import __version__
from goldpan.commands.lazy_group import Entry, LazyGroup
from goldpan.core.log import LogFormat, start_log
from goldpan.core.plugins import use
from goldpan.core.terminal import Terminal

_START, _MINE, _FILTER = "Start", "Mine and pair", "Filter and review"
_BUILD, _EVALUATE, _LOOK = "Build and publish", "Evaluate", "Look and verify"


class _Pipeline(LazyGroup):
    entries: ClassVar = {
        "demo": Entry(
            "demo.command.demo",
            _START,
            "Run the whole pipeline offline on a small repository that ships with Goldpan.",
        ),
        "init": Entry(
            "commands.starting.init",
            _START,
            "Create a workspace with a commented settings file.",
        ),
        "trust": Entry(
            "commands.starting.trust",
            _START,
            "Let the plugins and the server count that a workspace's goldpan.toml names.",
        ),
        "doctor": Entry(
            "commands.starting.doctor",
            _START,
            "Check git, disk space, tokens and their limits, extras and servers before a long run.",
        ),
        "mine": Entry(
            "commands.mining.app",
            _MINE,
            "Mine repositories, or the events of all public ones from GH Archive.",
        ),
        "normalize": Entry(
            "commands.mining.normalize",
            _MINE,
            "Rebuild the tables from the raw replies, without any network access.",
        ),
        "clone": Entry(
            "commands.history.clone",
            _MINE,
            "Fetch the code's history, and find the states before and after each pull request.",
        ),
        "pair": Entry(
            "commands.mining.pair",
            _MINE,
            "Find the pull requests that fix issues, with the evidence for each pair.",
        ),
        "status": Entry(
            "commands.mining.status",
            _MINE,
            "Compare announced with stored counts, and list what is missing and why.",
        ),
        "filter": Entry(
            "commands.filtering.filter",
            _FILTER,
            "Judge every issue and fix pair by every criterion; each verdict has a reason.",
        ),
        "funnel": Entry(
            "commands.filtering.funnel",
            _FILTER,
            "Show what each criterion drops, on its own and in sequence.",
        ),
        "why": Entry(
            "commands.filtering.why",
            _FILTER,
            "Explain one issue or pull request: references, signals, pairs, verdicts, raw replies.",
        ),
        "review": Entry(
            "commands.reviewing.review",
            _FILTER,
            "Ask language models to judge what a profile keeps (FAUN-Eval, section 3.3.3).",
        ),
        "annotate": Entry(
            "commands.annotating.app",
            _FILTER,
            "Send rows to annotators in Label Studio, and collect their answers.",
        ),
        "build": Entry(
            "commands.building.app",
            _BUILD,
            "Build a dataset: Parquet files, card, Croissant metadata and provenance.",
        ),
        "verify": Entry(
            "commands.verifying.verify",
            _BUILD,
            "Prove fixes by running their tests, in isolation, before and after each fix.",
        ),
        "tasks": Entry(
            "commands.tasks.tasks_app",
            _BUILD,
            "List the tasks that models are evaluated on, and import their data.",
        ),
        "import": Entry(
            "commands.importing.import_source",
            _BUILD,
            "Import all tasks of a source from its files; goldpan tasks import imports one.",
        ),
        "export": Entry(
            "commands.exporting.export",
            _BUILD,
            "Write a dataset in the format that SWE-bench, Inspect, lm-eval or fine-tuning "
            "programs read.",
        ),
        "publish": Entry(
            "commands.datasets.publish",
            _BUILD,
            "Publish a dataset on the Hugging Face Hub in one commit.",
        ),
        "apply-edit": Entry(
            "commands.datasets.apply_edit",
            _BUILD,
            "Apply SEARCH/REPLACE blocks or a unified diff to files: all changes or none.",
        ),
        "evaluate": Entry(
            "commands.evaluating.app",
            _EVALUATE,
            "Score models on tasks; predictions are stored, and metrics are computed from them "
            "alone.",
        ),
        "reproduce": Entry(
            "commands.reproducing.reproduce",
            _EVALUATE,
            "Repeat the tables of a paper, and show each cell beside the printed one.",
        ),
        "report": Entry(
            "commands.datasets.report",
            _LOOK,
            "Write an HTML page with the funnel, distributions, and examples with their evidence.",
        ),
        "open": Entry(
            "commands.starting.open_result",
            _LOOK,
            "Open the newest report, or an annotation project in Label Studio, in the browser.",
        ),
        "diff": Entry(
            "commands.diff.diff",
            _LOOK,
            "Compare two versions of a dataset: rows added, removed and changed, and why.",
        ),
        "contamination": Entry(
            "commands.contamination.contamination",
            _LOOK,
            "Find the rows of a dataset that also occur in other data, such as a benchmark.",
        ),
        "trace": Entry(
            "commands.datasets.trace",
            _LOOK,
            "Trace a published example back to raw replies and git objects.",
        ),
        "check": Entry(
            "commands.checking.check",
            _LOOK,
            "Verify every file of a workspace, and say what to run again if one is damaged.",
        ),
        "prune": Entry(
            "commands.pruning.prune",
            _LOOK,
            "Delete from a store what its workspace no longer uses.",
        ),
        "config": Entry("commands.starting.config_app", _LOOK, "Show the settings in effect."),
    }
    """The commands in the order of the pipeline."""


app = typer.Typer(
    cls=_Pipeline,
    help="Turn GitHub history into curated, published, evaluated datasets.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(is_set: bool) -> None:
    if is_set:
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
    log_format: Annotated[
        LogFormat,
        typer.Option(help="Progress and errors as plain lines, or as one JSON object per line."),
    ] = "plain",
    log_file: Annotated[
        Path | None,
        typer.Option(help="Append messages and requests to this file, with secrets masked."),
    ] = None,
    plugin: Annotated[
        list[Path] | None,
        typer.Option(
            help="A Python file that registers criteria, models and the like (docs/plugins.md); "
            "may be given several times."
        ),
    ] = None,
) -> None:
    start_log(log_file, verbose=verbose, as_json=log_format == "json")
    for file in plugin or ():
        use(file)

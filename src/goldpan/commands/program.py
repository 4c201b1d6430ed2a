"""The program `goldpan`: its own options, and the methods of a workspace as its commands."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from inspect import signature
from itertools import takewhile
from pathlib import Path
from types import MethodType
from typing import Annotated, Any

from cyclopts import App, CycloptsError, Group, Parameter

from goldpan._version import __version__
from goldpan.commands.help import HelpText, misuse, refuse_empty_paths
from goldpan.core.log import LogFormat, is_json, start_log
from goldpan.core.plugins.loading import added_names, find, names_of, use
from goldpan.core.plugins.parts import (
    BUILD,
    EVALUATE,
    FILTER,
    LOOK,
    MINE,
    PANELS,
    PLUGINS,
    START,
    Command,
    imported,
)
from goldpan.core.result import Result, blocks_of, json_data
from goldpan.core.sanitize import for_json
from goldpan.core.secrets import mask
from goldpan.core.settings.config import use_plugins
from goldpan.demo.command import demo
from goldpan.plan.command import run
from goldpan.plan.initial import init
from goldpan.workspace.building import apply_edit, contamination, diff, recipe_method
from goldpan.workspace.dataset import Dataset
from goldpan.workspace.opening import Group as Methods
from goldpan.workspace.options import AS_OPTIONS, declared, summary_of
from goldpan.workspace.workspace import Workspace

EVERYWHERE = Group("Workspace and output", sort_key=98)
OF_PROGRAM = Group("The program, before or after the command", sort_key=99)
"""The program's own options: those that the help of each command names, and the others."""
_HELP = ("-h", "--help")
_QUIETLY: Mapping[str, Any] = {"exit_on_error": False, "help_on_error": False, "print_error": False}
"""How cyclopts is called: what it raises, we tell."""
_panel = cache(Group)
"""A panel of help; cyclopts takes one of a name."""


@dataclass(frozen=True, slots=True)
class BoundCommand:
    """A command or a group of commands, and the method that it calls."""

    words: str
    method: Callable[..., Any] | None
    panel: str
    summary: str
    """The first line of its help."""


def commands(lab: Workspace, first: str | None = None) -> dict[str, BoundCommand]:
    """Return all commands by their words, in the order of the pipeline, and those of plugins.

    Of groups that plugins extend, only `first` has its commands, unless it is None.
    """
    own = own_commands(lab)
    return own | _of_plugins(lab, own, first)


def own_commands(lab: Workspace) -> dict[str, BoundCommand]:
    """Return the commands that no plugin brings; those of a group are its methods."""
    own: Mapping[str, Mapping[str, Any]] = {
        START: {
            "demo": MethodType(demo, lab),
            "init": MethodType(init, lab),
            "trust": lab.trust,
            "doctor": lab.doctor,
            "run": run,
        },
        MINE: {
            "mine": lab.mine.__call__,
            "mine gharchive": lab.mine.gharchive,
            "normalize": lab.normalize,
            "clone": lab.clone,
            "pair": lab.pair,
            "status": lab.status,
        },
        FILTER: {
            "filter": lab.filter,
            "funnel": lab.funnel,
            "why": lab.why,
            "review": lab.review,
            "annotate": lab.annotate,
        },
        BUILD: {
            "build": lab.build,
            "verify": lab.verify,
            "audit": lab.audit,
            "tasks": lab.tasks,
            "import": lab.import_,
            "export": Dataset.export,
            "publish": Dataset.publish,
            "apply-edit": apply_edit,
        },
        EVALUATE: {"evaluate": lab.evaluate, "reproduce": lab.reproduce},
        LOOK: {
            "report": lab.report,
            "open": lab.open,
            "diff": diff,
            "contamination": contamination,
            "trace": lab.trace,
            "check": lab.check,
            "prune": lab.prune,
            "config": lab.config,
        },
    }
    return {
        command.words: command
        for panel, methods in own.items()
        for words, method in methods.items()
        for command in _commands(words, method, panel)
    }


def _commands(words: str, method: Any, panel: str) -> Iterator[BoundCommand]:
    if not isinstance(method, Methods):
        yield BoundCommand(words, method, panel, summary_of(method))
        return
    yield BoundCommand(words, None, panel, summary_of(type(method)))
    for name in vars(type(method)):
        if not name.startswith("_"):
            last = name.strip("_").replace("_", "-")
            yield from _commands(f"{words} {last}", getattr(method, name), panel)


def _of_plugins(
    lab: Workspace, own: Mapping[str, BoundCommand], first: str | None
) -> dict[str, BoundCommand]:
    """Return the commands of papers and plugins, and those of their families of datasets."""
    added: dict[str, BoundCommand] = {}
    for name in added_names(own, "command"):
        above = name.rpartition(" ")[0]
        if above and above not in own:
            added.setdefault(above, BoundCommand(above, None, PLUGINS, "Commands of plugins."))
        if first is None or " " not in name or name.split()[0] == first:
            part: Command = find("command", name)
            method = MethodType(imported(part.operation), lab) if part.operation else None
            summary = summary_of(method) if method else part.about
            added[name] = BoundCommand(name, method, part.panel, summary)
    families = names_of("dataset") if first in (None, "build") else ()
    for family in families:
        words = f"build {family}"
        builds = recipe_method(lab.build, family)
        added[words] = BoundCommand(words, builds, BUILD, summary_of(builds))
    return added


def run_words(words: Sequence[str]) -> int:
    """Run what a command line names and return its exit code; raises what it raises."""
    end = words.index("--") if "--" in words else len(words)
    about = "Turn GitHub history into curated, published, evaluated datasets."
    app = _app(
        "goldpan",
        about,
        usage="Usage: goldpan COMMAND [OPTIONS]",  # which takes long to make
        default_parameter=AS_OPTIONS,
        help_format="plaintext",
        result_action="return_value",
        config=refuse_empty_paths,
        suppress_keyboard_interrupt=False,  # which ends as cli.py says
    )
    app.meta.help_flags = ()
    app.meta.group_parameters = OF_PROGRAM
    app.meta.default(launch)
    try:
        _, given, _ = app.meta.parse_args(list(words[:end]), **_QUIETLY)
        return launch(*given.args, *words[end:], app=app, **given.kwargs)
    except CycloptsError as error:
        every = own_commands(Workspace())
        raise misuse(error, every, signature(launch).parameters) from None


def launch(
    *words: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)],
    app: Annotated[App, Parameter(parse=False)],
    workspace: Annotated[Path | None, Parameter(group=EVERYWHERE)] = None,
    tasks: Annotated[Path | None, Parameter(group=EVERYWHERE)] = None,
    json: Annotated[bool, Parameter(group=EVERYWHERE)] = False,
    version: bool = False,
    verbose: bool = False,
    quiet: bool = False,
    log_format: LogFormat = "plain",
    log_file: Path | None = None,
    plugin: Sequence[Path] = (),
    install_completion: bool = False,
    show_completion: bool = False,
) -> int:
    """Do what the program's own options say, then the command.

    Args:
        words: Those of the command.
        app: The program.
        workspace: A directory or s3://BUCKET/NAME. (default: goldpan-workspace)
        tasks: A directory with your own tasks. (default: WORKSPACE/tasks)
        json: Print the result as JSON.
        version: Print the version and stop.
        verbose: Also print each request with its status.
        quiet: Print no progress.
        log_format: Progress and errors as plain lines, or as one JSON object per line.
        log_file: Append messages and requests to this file, with secrets masked.
        plugin: A Python file or folder that registers parts (docs/plugins.md).
        install_completion: Install completion for the current shell, and stop.
        show_completion: Print the script that completes in the current shell, and stop.
    """
    if version:
        sys.stdout.write(f"goldpan {__version__}\n")
        return 0
    if words[:1] == ("help",):
        words = (*words[1:], "-h")
    start_log(log_file, verbose=verbose, as_json=log_format == "json")
    for file in plugin:
        use(file)
    lab = Workspace(workspace, progress=not (json or quiet or is_json()), tasks=tasks)
    first, asks = "".join(_names(words)[:1]), bool({*_HELP} & {*words})
    if asks or first == "build" or first not in own_commands(lab):
        use_plugins(workspace)
    if asks or [*words] == _names(words):  # a group alone prints its help
        app.help_formatter = HelpText(OF_PROGRAM.name if first else "")
    add_commands(app, lab, None if install_completion or show_completion else words)
    if install_completion:
        sys.stdout.write(f"Installed in {app.install_completion()}\n")
    elif show_completion:
        sys.stdout.write(app.generate_completion())
    else:
        return run_command(app, words or ("-h",), json)
    return 0


def add_commands(app: App, lab: Workspace, words: Sequence[str] | None = None) -> None:
    """Add the commands of a workspace to the program.

    Only the options of the one that words name are read, which is quick; without words, all are.
    """
    typed = None if words is None else _names(words)
    first = None if typed is None else "".join(typed[:1])
    apps = {"": app}
    for number, command in enumerate(commands(lab, first).values()):
        above, _, last = command.words.rpartition(" ")
        if above and first is not None and command.words.split()[0] != first:
            continue
        is_typed = typed is None or typed[: len(command.words.split())] == command.words.split()
        made = _app(
            last,
            command.summary,
            helps=is_typed,
            group=() if above else _panel(command.panel, sort_key=_rank(command.panel)),
            sort_key=number,
        )
        if command.method is not None and is_typed:
            made.help = None
            made.default(declared(lab, command.method))
        apps[command.words] = made
        apps[above].command(made)


def _names(words: Sequence[str]) -> list[str]:
    """Return the words that may name a command: those before the first option but -h."""
    spoken = [word for word in words if word not in _HELP]
    return [*takewhile(lambda word: not word.startswith("-"), spoken)]


def _rank(panel: str) -> int:
    return 2 + (PANELS.index(panel) if panel in PANELS else len(PANELS))


def _app(name: str, about: str, *, helps: bool = True, **settings: Any) -> App:
    app = App(
        name,
        about,
        group_arguments=_panel("Arguments", sort_key=0),
        group_parameters=_panel("Options", sort_key=1),
        help_flags=_HELP if helps else (),
        version_flags=(),
        **settings,
    )
    if helps:
        app["--help"].show = False
    return app


def run_command(app: App, words: Sequence[str], as_json: bool) -> int:
    """Run a command, print its result, and return the exit code."""
    result: Result | None = app(list(words), **_QUIETLY)
    if result is None:
        return 0
    from goldpan.core.terminal import complain, show  # which takes long to import

    if as_json:
        import orjson

        text = orjson.dumps(json_data(result), option=orjson.OPT_INDENT_2).decode()
        sys.stdout.write(for_json(mask(text)) + "\n")
    else:
        show(blocks_of(result))
    for error in result.errors:
        complain(error)
    return result.exit_code

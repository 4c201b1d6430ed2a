"""The program `goldpan`: its own options, and the methods of a workspace as its commands."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from pathlib import Path
from types import FunctionType, MethodType
from typing import Annotated, Any

import cyclopts
import orjson

from goldpan._version import __version__
from goldpan.commands.declare import LAST, HelpText, Perform, declare, misuse, panel, parameter_of
from goldpan.core.errors import StoppedError, UsageError
from goldpan.core.log import LogFormat, is_json, start_log
from goldpan.core.plugins.loading import added_names, find, names_of, source_of, use
from goldpan.core.plugins.parts import (
    BUILD,
    EVALUATE,
    FILTER,
    LOOK,
    MINE,
    PANELS,
    START,
    Command,
    imported,
)
from goldpan.core.result import Result, blocks_of, json_data
from goldpan.core.sanitize import for_json
from goldpan.core.secrets import mask
from goldpan.core.settings.config import use_plugins
from goldpan.core.terminal import complain, show
from goldpan.demo.command import demo
from goldpan.plan.command import run, status
from goldpan.plan.initial import init
from goldpan.workspace import functions
from goldpan.workspace.building import recipe_method
from goldpan.workspace.dataset import Dataset
from goldpan.workspace.options import Option, call, options_of_group, summary_of
from goldpan.workspace.workspace import Workspace

_HELP = ("-h", "--help")
_REST = inspect.Parameter.VAR_POSITIONAL
_BEHIND_COMMANDS = ("workspace", "tasks", "json")
"""Options of the program that the help of each command names."""


@dataclass(frozen=True, slots=True)
class BoundCommand:
    """A command or a group of commands, and the method that it calls."""

    words: str
    method: Callable[..., Any] | None
    panel: str
    about: str = ""
    """What a group without a method says of itself."""

    @property
    def summary(self) -> str:
        """The first line of its help."""
        return self.about or summary_of(self.method)


def commands(lab: Workspace, first: str | None = None) -> dict[str, BoundCommand]:
    """Return all commands by their words, in the order of the pipeline, and those of plugins.

    Of groups that plugins extend, only `first` has its commands, unless it is None.
    """
    own = own_commands(lab)
    return own | _of_plugins(lab, own, first)


def own_commands(lab: Workspace) -> dict[str, BoundCommand]:
    """Return the commands that no plugin brings."""
    build, annotate, tasks, evaluate = lab.build, lab.annotate, lab.tasks, lab.evaluate
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
            "status": MethodType(status, lab),
        },
        FILTER: {
            "filter": lab.filter,
            "funnel": lab.funnel,
            "why": lab.why,
            "review": lab.review,
            "annotate": annotate,
            "annotate push": annotate.push,
            "annotate pull": annotate.pull,
            "annotate status": annotate.status,
            "annotate agreement": annotate.agreement,
            "annotate adjudicate": annotate.adjudicate,
            "annotate report": annotate.report,
            "annotate export": annotate.export,
            "annotate serve": annotate.serve,
        },
        BUILD: {
            "build": build,
            "build qa": build.qa,
            "build fault-localization": build.fault_localization,
            "build code-edit": build.code_edit,
            "build issue-resolution": build.issue_resolution,
            "verify": lab.verify,
            "audit": lab.audit,
            "tasks": tasks,
            "tasks list": tasks.list,
            "tasks show": tasks.show,
            "tasks validate": tasks.validate,
            "tasks add": tasks.add,
            "tasks import": tasks.import_,
            "import": lab.import_,
            "export": Dataset.export,
            "publish": Dataset.publish,
            "apply-edit": functions.apply_edit,
        },
        EVALUATE: {
            "evaluate": evaluate,
            "evaluate run": evaluate.run,
            "evaluate score": evaluate.score,
            "evaluate lengths": evaluate.lengths,
            "evaluate compare": evaluate.compare,
            "evaluate finetune": evaluate.finetune,
            "evaluate resolved": evaluate.resolved,
            "evaluate labels": evaluate.labels,
            "evaluate label-errors": evaluate.label_errors,
            "evaluate models": evaluate.models,
            "evaluate protocols": evaluate.protocols,
            "reproduce": lab.reproduce,
        },
        LOOK: {
            "report": lab.report,
            "open": lab.open,
            "diff": functions.diff,
            "contamination": functions.contamination,
            "trace": lab.trace,
            "check": lab.check,
            "prune": lab.prune,
            "config": lab.config,
            "config show": lab.config.show,
        },
    }
    return {
        words: _command(words, method, panel)
        for panel, methods in own.items()
        for words, method in methods.items()
    }


def _command(words: str, method: Any, panel: str) -> BoundCommand:
    if isinstance(method, MethodType | FunctionType):
        return BoundCommand(words, method, panel)
    return BoundCommand(words, None, panel, summary_of(type(method)))


def _of_plugins(
    lab: Workspace, own: Mapping[str, BoundCommand], first: str | None
) -> dict[str, BoundCommand]:
    """Return the commands of papers and plugins, and those of their families of datasets."""
    names = added_names(own, "command")
    for name in names:
        above = name.rpartition(" ")[0]
        if above and above not in own and above not in names:
            plugin = source_of("command", name)
            raise UsageError(
                f"{plugin.name if plugin else 'A plugin'} registers the command {name!r}, and "
                f"there is no command {above!r}",
                "Register a Command of that name, too, with what it is about",
            )
    added = {}
    for name in names:
        if first is None or " " not in name or name.split()[0] == first:
            part: Command = find("command", name)
            method = MethodType(imported(part.operation), lab) if part.operation else None
            added[name] = BoundCommand(name, method, part.panel, part.about)
    families = names_of("dataset") if first in (None, "build") else ()
    for family in families:
        words = f"build {family}"
        added[words] = BoundCommand(words, recipe_method(lab.build, family), BUILD)
    return added


@dataclass(frozen=True, slots=True)
class Launch:
    """What the program's own options say.

    Args:
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

    workspace: Path | None = None
    tasks: Path | None = None
    json: bool = False
    version: bool = False
    verbose: bool = False
    quiet: bool = False
    log_format: LogFormat = "plain"
    log_file: Path | None = None
    plugin: Sequence[Path] = ()
    install_completion: bool = False
    show_completion: bool = False


def launch_options(*, behind: bool = False) -> list[Option]:
    """Return the program's own options, which stand before or after the command."""
    return [replace(item, group="", panel=LAST[not behind]) for item in options_of_group(Launch)]


def run_words(words: Sequence[str], perform: Perform | None = None) -> int:
    """Run what a command line names and return its exit code; raises what it raises.

    `perform` is what is done with the method and the values that the words give, by default to
    call it and to print the result.
    """
    end = words.index("--") if "--" in words else len(words)
    app = _app("goldpan", "Turn GitHub history into curated, published, evaluated datasets.")

    def launch(*others: str, **values: Any) -> int:
        return _launch(app, [*others, *words[end:]], Launch(**values), perform)

    is_behind = any(not word.startswith("-") for word in words if word != "help")
    parameters = [
        parameter_of(option, show=not is_behind or option.name in _BEHIND_COMMANDS)
        for option in launch_options(behind=is_behind)
    ]
    rest = Annotated[str, cyclopts.Parameter(show=False, allow_leading_hyphen=True)]
    parameters.insert(0, inspect.Parameter("others", _REST, annotation=rest))
    launch.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    launch.__annotations__ = {item.name: item.annotation for item in parameters}
    app.meta.help_flags = []
    app.meta.default(launch)
    return _parsed(app.meta, words[:end], [])


def _launch(app: cyclopts.App, words: list[str], chosen: Launch, perform: Perform | None) -> int:
    """Do what the program's own options say, then the command."""
    if chosen.version:
        sys.stdout.write(f"goldpan {__version__}\n")
        return 0
    if words[:1] == ["help"]:
        words = [*words[1:], "-h"]
    start_log(chosen.log_file, verbose=chosen.verbose, as_json=chosen.log_format == "json")
    for file in chosen.plugin:
        use(file)
    silent = chosen.json or chosen.quiet or is_json()
    lab = Workspace.lazily(chosen.workspace, progress=not silent, tasks=chosen.tasks)

    first = "".join(_names(words)[:1])
    if first == "build" or first not in own_commands(lab) or {*_HELP} & {*words}:
        use_plugins(chosen.workspace)
    completes = chosen.install_completion or chosen.show_completion
    add_commands(
        app,
        lab,
        perform or partial(_call_and_print, lab, chosen.json),
        None if completes else words,
    )
    if chosen.install_completion:
        sys.stdout.write(f"Installed in {app.install_completion()}\n")
    elif chosen.show_completion:
        sys.stdout.write(app.generate_completion())
    else:
        return _parsed(app, words or ["-h"], words)
    return 0


def add_commands(
    app: cyclopts.App, lab: Workspace, perform: Perform, words: Sequence[str] | None = None
) -> None:
    """Add the commands of a workspace to the program.

    Only the options of the one that words name are read, which is quick; without words, all are.
    """
    typed = None if words is None else _names(words)
    apps = {"": app}
    first = None if typed is None else "".join(typed[:1])
    stored = _stored(lab) if words and {*_HELP} & {*words} else None
    for number, command in enumerate(commands(lab, first).values()):
        above, _, last = command.words.rpartition(" ")
        if above and first is not None and command.words.split()[0] != first:
            continue
        is_typed = typed is None or typed[: len(command.words.split())] == command.words.split()
        made = _app(
            last,
            command.summary,
            helps=is_typed,
            group=() if above else panel(command.panel, _rank(command.panel)),
            sort_key=number,
        )
        if command.method is not None and is_typed:
            made.help = None
            made.default(declare(command.method, perform, stored))
        apps[command.words] = made
        apps[above].command(made)


def _stored(lab: Workspace) -> dict[str, set[str]]:
    """Return the profiles and rules of which the workspace has verdicts."""
    found = lab.path.glob("verdicts/*/*/*/*.parquet")
    verdicts = [path for path in found if "." not in path.stem]
    return {
        "profile": {path.stem for path in verdicts},
        "rules": {path.parent.name for path in verdicts},
    }


def _names(words: Sequence[str]) -> list[str]:
    """Return the words that may name a command: those before the first option but -h."""
    spoken = [word for word in words if word not in _HELP]
    return [*takewhile(lambda word: not word.startswith("-"), spoken)]


def _rank(panel: str) -> int:
    return PANELS.index(panel) if panel in PANELS else len(PANELS)


def _app(name: str, about: str, *, helps: bool = True, **settings: Any) -> cyclopts.App:
    app = cyclopts.App(
        name,
        about,
        help_flags=_HELP if helps else (),
        version_flags=[],
        group_arguments=panel("Arguments", 0),
        group_parameters=panel("Options", 1),
        help_format="plaintext",
        help_formatter=HelpText(),
        result_action="return_value",
        **settings,
    )
    if helps:
        app["--help"].show = False
    return app


def _parsed(app: cyclopts.App, words: Sequence[str], named: Sequence[str]) -> int:
    """Have cyclopts parse words and call what they name; raises `UsageError` for misuse."""
    try:
        code = app(list(words), exit_on_error=False, print_error=False, help_on_error=False)
    except cyclopts.CycloptsError as error:
        raise misuse(error, _known(app, named)) from None
    return code if isinstance(code, int) else 0


def _known(app: cyclopts.App, words: Sequence[str]) -> str:
    """Return the words that name a command or a group, without those that name none."""
    known = []
    for word in words:
        if word.startswith("-") or word not in app:
            break
        known.append(word)
        app = app[word]
    return " ".join(known)


def _call_and_print(
    lab: Workspace, as_json: bool, method: Callable[..., Any], values: Mapping[str, Any]
) -> int:
    """Call the method of a command, print its result, and return the exit code."""
    taken, given = inspect.signature(method).parameters, dict(values)
    if "workspace" in taken and "workspace" in lab.given:
        given["workspace"] = lab.path
    if "progress" in taken:
        given["progress"] = lab.shows_progress
    try:
        result: Result | None = call(lab, method, given)
    except KeyboardInterrupt:
        raise StoppedError("Stopped", "Run the same command again to resume") from None
    if result is None:
        return 0
    print_result(result, as_json)
    for error in result.errors:
        complain(error)
    return result.exit_code


def print_result(result: Result, as_json: bool) -> None:
    """Print a result as JSON, or show it to people."""
    if as_json:
        text = orjson.dumps(json_data(result), option=orjson.OPT_INDENT_2).decode()
        sys.stdout.write(for_json(mask(text)) + "\n")
    else:
        show(blocks_of(result))

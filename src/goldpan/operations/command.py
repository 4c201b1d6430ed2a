"""Makes the command of an operation: options in, one call, its result printed.

cyclopts parses what the signature says; nothing about an option is written here or elsewhere.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, get_args, get_origin

import cyclopts
import orjson
from cyclopts.validators import Number

from goldpan.core.errors import StoppedError, UsageError
from goldpan.core.log import is_asked_for, is_json
from goldpan.core.result import Result
from goldpan.core.sanitize import for_json
from goldpan.core.secrets import mask
from goldpan.core.terminal import complain, show
from goldpan.operations.signature import JSON_HELP, Operation, Parameter, fields_of, returns_result
from goldpan.operations.table import owner_of
from goldpan.operations.workspace import OPEN, Workspace, opening_parameters


def make_command(operation: Operation, name: str) -> cyclopts.App:
    """Return the command of an operation."""
    app = make_group(name, operation.summary)
    app.default(command_function(operation))
    return app


def make_group(name: str, about: str) -> cyclopts.App:
    """Return a group of commands, or the program."""
    return cyclopts.App(
        name=name,
        help=about,
        help_flags=[],  # `help.py` prints it
        version_flags=[],
        default_parameter=cyclopts.Parameter(negative=()),
    )


def command_function(operation: Operation) -> Callable[..., int]:
    """Return a function whose signature is what the command line takes."""
    parameters = sorted(_parameters(operation), key=lambda item: item.kind)
    named = [item for item in parameters if item.kind is not item.KEYWORD_ONLY]

    def command(*arguments: Any, **values: Any) -> int:
        for number, parameter in enumerate(named[: len(arguments)]):
            is_rest = parameter.kind is parameter.VAR_POSITIONAL
            values[parameter.name] = arguments[number:] if is_rest else arguments[number]
        return _run(operation, values)

    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {item.name: item.annotation for item in parameters}
    return command


def _parameters(operation: Operation) -> Iterator[inspect.Parameter]:
    for parameter in operation.parameters:
        for single in fields_of(parameter.type) if parameter.kind == "group" else (parameter,):
            yield _parameter(single, inspect.Parameter.POSITIONAL_ONLY)
    for parameter, _ in opening_parameters(operation):  # which cyclopts also takes as an option
        yield _parameter(parameter, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if returns_result(operation):
        yield inspect.Parameter(
            "json",
            inspect.Parameter.KEYWORD_ONLY,
            default=False,
            annotation=Annotated[bool, cyclopts.Parameter(name="--json", help=JSON_HELP)],
        )


def _parameter(parameter: Parameter, positional: Any) -> inspect.Parameter:
    kind: Any = inspect.Parameter.KEYWORD_ONLY
    taken: Any = parameter.type
    default = parameter.default
    if parameter.kind == "argument":
        kind = positional
        if get_origin(taken) is tuple:  # the last one, which takes words wherever options stand
            kind, default = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.empty
            (taken, _) = get_args(taken)
    annotation: Any = Annotated[taken, _described(parameter)]
    return inspect.Parameter(parameter.name, kind, default=default, annotation=annotation)


def _described(parameter: Parameter) -> cyclopts.Parameter:
    settings: dict[str, Any] = {"help": parameter.help}
    if parameter.kind == "argument":
        settings["required"] = parameter.is_required
    else:
        settings["name"] = f"--{parameter.option}"
    if parameter.is_flag and parameter.default is not False:
        settings["negative"] = f"--no-{parameter.option}"
    if (limits := parameter.limits) is not None:
        settings["validator"] = Number(gte=limits.least, lte=limits.most)
    return cyclopts.Parameter(**settings)


def _run(operation: Operation, values: dict[str, Any]) -> int:
    """Call an operation on what the command line names, print its result, return the exit code."""
    as_json = values.pop("json", False)
    names = ("workspace", "tasks", *operation.opening) if operation.owner else ()
    opening = {name: values.pop(name) for name in names if name in values}
    if "workspace" in opening:
        opening[OPEN] = opening.pop("workspace")
    try:
        owner = None
        if operation.owner:
            owner = owner_of(operation, Workspace(progress=not is_silent(as_json), **opening))
        if operation.shows_progress:
            values["progress"] = not is_silent(as_json)
        result = operation.call(owner, typed_values(operation, values))
    except KeyboardInterrupt:
        raise StoppedError("Stopped", "Run the same command again to resume") from None
    if result is None:
        return 0
    print_result(result, as_json)
    for error in result.errors:
        complain(error)
    return int(result.exit_code)


def typed_values(operation: Operation, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an operation takes of values by name: groups of options as one value each."""
    typed = dict(values)
    for parameter in operation.parameters:
        if parameter.kind == "group":
            names = [field.name for field in fields_of(parameter.type)]
            given = {name: typed.pop(name) for name in names if name in typed}
            if given:
                typed[parameter.name] = parameter.type(**given)
        elif parameter.is_mapping and isinstance(typed.get(parameter.name), tuple):
            typed[parameter.name] = settings_from(typed[parameter.name])
    return typed


def is_silent(as_json: bool) -> bool:
    """Tell whether progress is not to be printed."""
    return as_json or is_json() or is_asked_for("--quiet")


def print_result(result: Result, as_json: bool) -> None:
    """Print a result as JSON, or show it to people."""
    if as_json:
        text = orjson.dumps(result.plain(), option=orjson.OPT_INDENT_2, default=str).decode()
        sys.stdout.write(for_json(mask(text)) + "\n")
    else:
        show(result.blocks())


def run_command(app: cyclopts.App, words: Sequence[str]) -> int:
    """Run what a command line names and return its exit code; raises `UsageError` for misuse."""
    try:
        code = app(
            list(words),
            exit_on_error=False,
            print_error=False,
            help_on_error=False,
            result_action="return_value",
        )
    except cyclopts.CycloptsError as error:
        raise misuse(error, app) from None
    return code if isinstance(code, int) else 0


def misuse(error: cyclopts.CycloptsError, app: cyclopts.App) -> UsageError:
    """Return what is wrong with a command line, and the command that helps."""
    problem = str(error).rstrip(".")
    if isinstance(error, cyclopts.MissingArgumentError) and error.argument is not None:
        lacks = "requires an argument" if error.keyword else "is missing"
        problem = f"{error.keyword or error.argument.name} {lacks}"
    return UsageError(problem, f"Run {app.name[0]} -h for help")


def settings_from(values: tuple[str, ...]) -> Mapping[str, Any]:
    """Return settings of ``KEY=VALUE``; a value that is JSON is read as such."""
    settings = {}
    for text in values:
        name, sign, value = text.partition("=")
        if not sign:
            raise UsageError(f"--set {text!r} has no value", "Write name=value")
        try:
            settings[name] = orjson.loads(value)
        except orjson.JSONDecodeError:
            settings[name] = value
    return settings

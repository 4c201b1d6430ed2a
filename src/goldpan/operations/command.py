"""Makes the command of an operation: options in, one call, its result printed.

cyclopts parses what the signature says; nothing about an option is written here or elsewhere.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

import cyclopts
import orjson
from annotated_types import Ge, Gt, Le, Lt
from cyclopts.validators import Number

from goldpan.core.errors import StoppedError, UsageError
from goldpan.core.log import is_json
from goldpan.core.result import Result
from goldpan.core.sanitize import for_json
from goldpan.core.secrets import mask
from goldpan.core.show import show
from goldpan.operations.group import Group
from goldpan.operations.messages import complain
from goldpan.operations.signature import (
    DATASET,
    Kind,
    Operation,
    Parameter,
    fields_of,
    read_operation,
    title_of,
)

if TYPE_CHECKING:
    from goldpan.operations.workspace import Workspace

_COMMON, _SETTINGS = "Workspace and output", "Settings for this run (goldpan.toml)"
_ORDER = {_SETTINGS: 7, _COMMON: 9}
PROGRAM = "goldpan"
_OPEN = "path"
"""The parameter of `Workspace` that is ``--workspace`` on the command line."""
JSON_HELP = "Print the result as JSON."


def find_function(path: str) -> Callable[..., Any]:
    """Return the function that a table of commands names: ``module:function`` or ``:Class.method``.

    Modules are those of `goldpan.operations`.
    """
    module, _, names = path.partition(":")
    found: Any = import_module(f"goldpan.operations.{module}")
    for name in names.split("."):
        found = getattr(found, name)
    function: Callable[..., Any] = found
    return function


def make_command(operation: Operation, name: str, example: str = "") -> cyclopts.App:
    """Return the command of an operation."""
    shown = f"Example: `{example}`" if example else ""
    app = make_group(
        name, "\n\n".join(filter(None, (operation.summary, operation.description, shown)))
    )
    app.default(command_function(operation))
    return app


def make_group(name: str, about: str) -> cyclopts.App:
    """Return a group of commands, or the program."""
    app = cyclopts.App(
        name=name,
        help="\n\n".join(" ".join(part.split()) for part in about.replace("`", "").split("\n\n")),
        help_format="plaintext",  # Markdown takes a fifth of the time of help to import
        help_flags=["-h", "--help"],
        version_flags=[],
        default_parameter=cyclopts.Parameter(negative=()),
        group_arguments=cyclopts.Group("Arguments", sort_key=0),
        group_parameters=cyclopts.Group("Options", sort_key=8 if name == PROGRAM else 1),
    )
    app["--help"].group = _group(_COMMON)
    return app


def command_function(operation: Operation) -> Callable[..., int]:
    """Return a function whose signature is what the command line takes."""
    opening = [parameter for parameter, _ in opening_parameters(operation)]
    named = [item for item in (*opening, *operation.parameters) if item.kind == "argument"]

    def command(*arguments: Any, **values: Any) -> int:
        for number, parameter in enumerate(named[: len(arguments)]):
            is_rest = _takes_the_rest(parameter)
            values[parameter.name] = arguments[number:] if is_rest else arguments[number]
        return _run(operation, values)

    parameters = sorted(_parameters(operation), key=lambda item: item.kind)
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {item.name: item.annotation for item in parameters}
    return command


def opening_parameters(operation: Operation) -> Iterator[tuple[Parameter, str]]:
    """Yield the parameters that open an operation's workspace, each with its panel of help."""
    from goldpan.operations.workspace import Workspace

    if not operation.owner:
        return
    opening = {item.name: item for item in read_operation(Workspace.__init__).parameters}
    kind: Kind = "argument" if _OPEN in operation.opening else "option"
    yield replace(opening[_OPEN], name="workspace", kind=kind), _COMMON
    yield opening["tasks"], _COMMON
    for name in operation.opening:
        if name != _OPEN:
            yield opening[name], _SETTINGS


def _parameters(operation: Operation) -> Iterator[inspect.Parameter]:
    for parameter in operation.parameters:
        if parameter.kind == "group":
            panel = cyclopts.Group(title_of(parameter.type), sort_key=5)
            for field in fields_of(parameter.type):
                yield _keyword(
                    field.name, Annotated[field.type, _described(field, panel)], field.default
                )
            continue
        annotation: Any = Annotated[parameter.type, _described(parameter, None)]
        if parameter.kind == "argument" and _takes_the_rest(parameter):
            (of_each, _) = get_args(parameter.type)
            yield inspect.Parameter(
                parameter.name,
                inspect.Parameter.VAR_POSITIONAL,
                annotation=Annotated[of_each, _described(parameter, None)],
            )
        elif parameter.kind == "argument":
            yield inspect.Parameter(
                parameter.name,
                inspect.Parameter.POSITIONAL_ONLY,
                default=parameter.default,
                annotation=annotation,
            )
        else:
            yield _keyword(parameter.name, annotation, parameter.default)
    for parameter, title in opening_parameters(operation):
        described: Any = Annotated[parameter.type, _described(parameter, _group(title))]
        if parameter.kind == "argument":  # which cyclopts also takes as an option
            yield inspect.Parameter(
                parameter.name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                default=parameter.default,
                annotation=described,
            )
        else:
            yield _keyword(parameter.name, described, parameter.default)
    if returns_result(operation):
        about = cyclopts.Parameter(
            name="--json", help=JSON_HELP, group=_group(_COMMON), show_default=False
        )
        yield _keyword("json", Annotated[bool, about], False)


def _takes_the_rest(parameter: Parameter) -> bool:
    """Tell whether an argument, which is then the last, takes words wherever options stand."""
    return get_origin(parameter.type) is tuple


def returns_result(operation: Operation) -> bool:
    """Tell whether the command prints a result, which it can print as JSON."""
    return operation.returns != "None"


def _group(panel: str) -> cyclopts.Group:
    return cyclopts.Group(panel, sort_key=_ORDER[panel])


def _keyword(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=default, annotation=annotation)


def _described(parameter: Parameter, panel: cyclopts.Group | None) -> cyclopts.Parameter:
    is_flag = parameter.type in (bool, bool | None)
    settings: dict[str, Any] = {
        "help": parameter.help,
        "show_default": (lambda _: shown) if (shown := parameter.shown_default) else False,
    }
    if parameter.kind == "argument":
        settings["required"] = parameter.is_required
    else:
        settings["name"] = f"--{parameter.option}"
    if is_flag and parameter.default is not False:
        settings["negative"] = f"--no-{parameter.option}"
    if not is_flag and "|" not in parameter.placeholder:
        settings["metavar"] = parameter.placeholder
    if limits := _limits(parameter):
        settings["validator"] = Number(**limits)
    if panel is not None:
        settings["group"] = panel
    return cyclopts.Parameter(**settings)


def _limits(parameter: Parameter) -> dict[str, Any]:
    names = {Ge: "gte", Gt: "gt", Le: "lte", Lt: "lt"}
    return {
        names[type(limit)]: getattr(limit, type(limit).__name__.lower())
        for limit in parameter.metadata
        if type(limit) in names
    }


def _run(operation: Operation, values: dict[str, Any]) -> int:
    """Call an operation on what the command line names, print its result, return the exit code."""
    as_json = values.pop("json", False)
    names = ("workspace", "tasks", *operation.opening) if operation.owner else ()
    opening = {name: values.pop(name) for name in names if name in values}
    if "workspace" in opening:
        opening[_OPEN] = opening.pop("workspace")
    try:
        owner = _owner(operation, opening, as_json) if operation.owner else None
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


def _owner(operation: Operation, opening: Mapping[str, Any], is_json: bool) -> object:
    from goldpan.operations.workspace import Workspace

    return owner_of(operation, Workspace(progress=not is_silent(is_json), **opening))


def owner_of(operation: Operation, lab: Workspace) -> object:
    """Return the workspace, or the group of it that has the operation as a method.

    A method of `Dataset` has the workspace, too: it opens the dataset.
    """
    if operation.owner in ("Workspace", DATASET):
        return lab
    (kind,) = (kind for kind in every_group() if kind.__name__ == operation.owner)
    return kind(lab)


def is_silent(as_json: bool) -> bool:
    """Tell whether progress is not to be printed."""
    return as_json or is_json() or "--quiet" in sys.argv[1:]


def every_group(kind: type[Group] = Group) -> Iterator[type[Group]]:
    """Yield the groups of operations that are loaded."""
    yield kind
    for below in kind.__subclasses__():
        yield from every_group(below)


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
        raise misuse(error) from None
    return code if isinstance(code, int) else 0


def misuse(error: cyclopts.CycloptsError) -> UsageError:
    """Return what is wrong with a command line, and the command that helps."""
    path = " ".join(error.command_chain or ()) if error.command_chain else ""
    return UsageError(str(error).rstrip("."), f"Run {f'goldpan {path}'.strip()} -h for help")


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

"""The page of all commands and options, from the operations that they are."""

from __future__ import annotations

from collections.abc import Iterator

from docs.generate.markdown import page, prose, table
from goldpan.operations.program import program as global_options
from goldpan.operations.program import with_what_is_registered
from goldpan.operations.signature import (
    JSON_HELP,
    Operation,
    Parameter,
    fields_of,
    read_operation,
    returns_result,
)
from goldpan.operations.table import (
    children,
    every_command,
    first_words,
    function_of,
    is_group,
    python_names,
    summary_of,
)
from goldpan.operations.workspace import opening_parameters

_INTRODUCTION = """\
Every command and option, in the order of the pipeline; `goldpan COMMAND -h` prints the same. Each
command is a method of `goldpan.Workspace` or `goldpan.Dataset`, or a function of `goldpan`, whose
parameters have the names of the options. [The program](../guide.md#the-program) explains errors
and exit codes."""


def commands() -> str:
    """Return the page."""
    parts = [part for name in first_words() for part in _below(name)]
    options = table(_HEAD, map(_row, read_operation(global_options).parameters))
    own = f"## Options of the program\n\nThey stand before or after the command.\n\n{options}"
    return page("Commands", _INTRODUCTION, *parts, own)


_HEAD = ("option", "takes", "")


def _below(name: str) -> Iterator[str]:
    heading = f"## goldpan {name}"
    if is_group(name):
        yield f"{heading}\n\n{prose(summary_of(name))}"
    else:
        yield "\n\n".join([heading, *_described(name)])
    for child in children(name):
        yield from _below(child)


def _described(name: str) -> Iterator[str]:
    operation = read_operation(function_of(name))
    yield prose(operation.summary)
    if operation.description:
        yield prose(operation.description)
    yield f"```console\n$ {every_command()[name].whole_example}\n```"
    yield f"In Python: `{python_name(name)}(...)`"
    yield table(_HEAD, _rows(operation))


def python_name(name: str) -> str:
    """Return the method or function that a command is."""
    operation = read_operation(function_of(name))
    words = python_names(name)
    if operation.owner == "Dataset":
        return f"Dataset.{words[-1]}"
    return ".".join(["Workspace" if operation.owner else "goldpan", *words])


def _rows(operation: Operation) -> Iterator[tuple[str, str, str]]:
    for parameter in with_what_is_registered(operation.parameters):
        inner = fields_of(parameter.type) if parameter.kind == "group" else (parameter,)
        yield from map(_row, inner)
    for parameter, _ in opening_parameters(operation):
        yield _row(parameter)
    if returns_result(operation):
        yield "`--json`", "", JSON_HELP


def _row(parameter: Parameter) -> tuple[str, str, str]:
    shown = parameter.name if parameter.kind == "argument" else f"--{parameter.option}"
    return f"`{shown}`", "" if parameter.is_flag else parameter.placeholder, parameter.about

"""The page of all commands and options."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer.main

from docs.generate.markdown import page, prose, table
from goldpan.cli import app
from goldpan.commands.examples import EXAMPLES

_INTRODUCTION = """\
Every command and option, in the order of the pipeline; `goldpan COMMAND -h` prints the same.
[The program](../cli.md) explains results, errors and exit codes."""


def commands() -> str:
    """Return the page."""
    program = typer.main.get_command(app)
    return page("Commands", _INTRODUCTION, *_below(program, "goldpan"), _common(program))


def _below(group: Any, name: str) -> Iterator[str]:
    context = group.make_context(name, [], resilient_parsing=True)
    for below in group.list_commands(context):
        command = group.get_command(context, below)
        full = f"{name} {below}"
        example = EXAMPLES.get(full.removeprefix("goldpan "))
        usage = f"```console\n$ {example}\n```" if example else ""
        description = command.help or ""
        parts = [f"## {full}", prose(description), usage, _options(command, full)]
        yield "\n\n".join(filter(None, parts))
        if hasattr(command, "list_commands"):
            yield from _below(command, full)


def _common(program: Any) -> str:
    return "\n\n".join(
        [
            "## Options of the program",
            "They stand before or after the command.",
            _options(program, "goldpan"),
        ]
    )


def _options(command: Any, name: str) -> str:
    if not command.params:
        return ""
    context = command.make_context(name, [], resilient_parsing=True)
    records = [param.get_help_record(context) for param in command.params]
    rows = [_row(*record) for record in records if record]
    return table(("option", "takes", ""), rows) if rows else ""


def _row(names: str, description: str) -> tuple[str, str, str]:
    """Return an option's names, the type of what it takes, and what help says of it."""
    match = re.fullmatch(r"(.*?)(?: <(.*)>)?", names)
    assert match is not None
    kind = (match[2] or "").replace("list[", "").replace("]", "")
    kind = {"str": "text", "Path": "path", "int": "number", "float": "number"}.get(kind, kind)
    return f"`{match[1].strip()}`", kind, description.strip()

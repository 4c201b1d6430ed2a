"""The page of all commands and options, from the operations that they are."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from keyword import iskeyword
from types import FunctionType, MethodType
from typing import Any

from docs.generate.markdown import page, prose, table
from goldpan import Workspace
from goldpan.commands.program import BoundCommand, commands, launch
from goldpan.workspace.options import Option, options_of, read_options, shown_default

_INTRODUCTION = """\
Every command and option, in the order of the pipeline; `goldpan COMMAND -h` prints the same. Each
command is a method of `goldpan.Workspace` or `goldpan.Dataset`, or a function, whose
parameters have the names of the options. [The program](../guide.md#the-program) explains errors
and exit codes."""


def commands_page() -> str:
    """Return the page."""
    parts = [_section(command) for command in commands(Workspace()).values()]
    own = table(_HEAD, map(_row, read_options(launch)))
    told = f"## Options of the program\n\nThey stand before or after the command.\n\n{own}"
    return page("Commands", _INTRODUCTION, *_by_first_word(parts), told)


_HEAD = ("option", "takes", "")


def _by_first_word(sections: Iterable[tuple[str, str]]) -> list[str]:
    """Return the sections, those of a group behind it."""
    known = [*sections]
    firsts = dict.fromkeys(words.split()[0] for words, _ in known)
    order = {first: number for number, first in enumerate(firsts)}
    known.sort(key=lambda item: order[item[0].split()[0]])
    return [text for _, text in known]


def _section(command: BoundCommand) -> tuple[str, str]:
    heading = f"## goldpan {command.words}"
    if command.method is None:
        return command.words, f"{heading}\n\n{prose(command.summary)}"
    text = (inspect.getdoc(command.method) or "").partition("\n\nArgs:")[0]
    about, _, example = text.partition("\n\nExample: ")
    rows = map(_row, options_of(command.method))
    parts = [heading, prose(about), f"```console\n$ {example}\n```"]
    parts += [f"In Python: `{python_name(command.words)}`", table(_HEAD, rows)]
    return command.words, "\n\n".join(parts)


def python_name(words: str) -> str:
    """Return how a command is called in Python."""
    lab = Workspace()
    method, names = commands(lab)[words].method, python_words(words)
    assert method is not None
    found: Any = lab
    for name in names:
        found = getattr(found, name, None)
    if method.__qualname__.startswith("Dataset."):
        return f"Dataset.{names[-1]}(...)"
    if isinstance(method, FunctionType):
        return f"goldpan.{names[-1]}(...)"
    routine = found if inspect.isroutine(found) or found is None else found.__call__
    if getattr(routine, "__func__", None) is getattr(method, "__func__", None):
        return f"{'.'.join(['Workspace', *names])}(...)"
    if words.count(" ") == 1 and words.startswith("build "):
        return f'Workspace.build("{words.removeprefix("build ")}", ...)'
    assert isinstance(method, MethodType)
    return f"{method.__func__.__module__}.{method.__func__.__name__}(lab, ...)"


def python_words(words: str) -> list[str]:
    """Return the words of a command as Python writes them."""
    return [f"{name}_" if iskeyword(name) else name for name in words.replace("-", "_").split()]


def _row(option: Option) -> tuple[str, str, str]:
    shown = option.name if option.kind == "argument" else f"--{option.word}"
    default = None if option.is_required else shown_default(option.default)
    about = option.help if default is None else f"{option.help} [default: {default}]"
    return f"`{shown}`", "" if option.typed is bool else option.placeholder, about

"""The page of the public Python names, from their signatures and docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import cached_property
from types import ModuleType
from typing import Any

from pydantic import BaseModel

import goldpan
from docs.generate.commands import python_name
from docs.generate.markdown import attribute_docs, page, prose, table
from goldpan import plugins
from goldpan.commands.program import commands
from goldpan.core.result import Result
from goldpan.workspace.opening import Group

_INTRODUCTION = """\
All public names of `goldpan` and `goldpan.plugins`. [Goldpan from Python](../python.md) shows them
at work, [Plugins](../plugins.md) those for plugins. What an operation returns is a `Result`, whose
methods are told once, at [goldpan.Result](#goldpanresult)."""
_OF_RESULTS = frozenset(name for name in vars(Result) if not name.startswith("_"))


def python() -> str:
    """Return the page."""
    parts = [part for module in (goldpan, plugins) for part in _module(module)]
    return page("Python API", _INTRODUCTION, *_commands(), *parts)


def _commands() -> Iterator[str]:
    """Yield the method and the result of every command, in the order of the pipeline."""
    yield "## Commands and their methods"
    yield "`lab` is a `goldpan.Workspace`, and `data` a `goldpan.Dataset`."
    rows = [
        (
            f"`goldpan {words}`",
            f"`{_called(words)}`",
            f"`{command.method.__annotations__['return']}`".replace(" | ", "` or `"),
        )
        for words, command in commands(goldpan.Workspace()).items()
        if command.method is not None
    ]
    yield table(("command", "operation", "returns"), rows)


def _called(words: str) -> str:
    name = python_name(words).replace("Workspace.", "lab.").replace("Dataset.", "data.")
    return name.removesuffix("(...)")


def _module(module: ModuleType) -> Iterator[str]:
    yield f"## {module.__name__}"
    names = [name for name in module.__all__ if name != "__version__"]
    if module is plugins:
        names = [name for name in names if name not in goldpan.__all__]
    for name in sorted(names, key=lambda name: (not name[0].isupper(), name)):
        thing = getattr(module, name)
        heading = f"### {module.__name__}.{name}"
        if inspect.isclass(thing):
            yield "\n\n".join([heading, *_class(name, thing)])
        elif callable(thing):
            yield f"{heading}\n\n{_code(name, thing)}\n\n{prose(thing.__doc__)}"
        else:
            yield f"{heading}\n\n`{thing!r}`"


def _class(name: str, kind: type[Any]) -> Iterator[str]:
    plain = not (is_dataclass(kind) or issubclass(kind, Exception | BaseModel))
    if plain:
        yield _code(name, kind)
    yield prose(kind.__doc__)
    if plain and kind.__init__ is not object.__init__:
        yield prose(kind.__init__.__doc__)
    if rows := list(_fields(kind)):
        yield table(("attribute", "type", ""), rows)
    for attribute, held in vars(kind).items():
        if attribute.startswith("_") or _is_told_once(kind, attribute):
            continue
        yield from _methods(name, attribute, held)


def _methods(name: str, attribute: str, held: object) -> Iterator[str]:
    """Yield a method, or those of a group of operations."""
    function = getattr(held, "__func__", held)
    if inspect.isfunction(function):
        yield f"#### {name}.{attribute}"
        yield f"{_code(attribute, function)}\n\n{prose(function.__doc__)}"
    elif isinstance(held, cached_property) and (group := _group(held)) is not None:
        if call := vars(group).get("__call__"):
            yield from _methods(name, attribute, call)
        for other, method in vars(group).items():
            if not other.startswith("_"):
                yield from _methods(f"{name}.{attribute}", other, method)


def _group(held: cached_property[Any]) -> type[Any] | None:
    """Return the class of the operations that a property gives, None where it gives others."""
    kind: object = held.func
    return kind if isinstance(kind, type) and issubclass(kind, Group) else None


def _is_told_once(kind: type[Any], attribute: str) -> bool:
    return kind is not Result and issubclass(kind, Result) and attribute in _OF_RESULTS


def _fields(kind: type[Any]) -> Iterator[tuple[str, str, str]]:
    if issubclass(kind, Exception):
        return
    descriptions = attribute_docs(kind)
    if is_dataclass(kind):
        for field in fields(kind):
            yield f"`{field.name}`", f"`{_plain(field.type)}`", descriptions.get(field.name, "")
    elif issubclass(kind, BaseModel):
        for name, annotation in kind.__annotations__.items():
            yield f"`{name}`", f"`{_plain(annotation)}`", descriptions.get(name, "")
    for name, held in vars(kind).items():
        if name.startswith("_") or not isinstance(held, property | cached_property):
            continue
        if _is_told_once(kind, name):
            continue
        getter = held.fget if isinstance(held, property) else held.func
        assert getter is not None
        about = prose(held.__doc__).partition("\n\n")[0].replace("\n", " ")
        of_group = isinstance(getter, type)
        kind_of = getter.__name__ if of_group else inspect.signature(getter).return_annotation
        yield f"`{name}`", f"`{_plain(kind_of)}`", about


def _code(name: str, thing: Callable[..., Any]) -> str:
    """Return a name's signature, a parameter a line where it is long."""
    signature = inspect.signature(thing)
    parameters = [
        parameter for parameter in signature.parameters.values() if parameter.name != "self"
    ]
    shown = str(signature.replace(parameters=parameters)).replace("'", "")
    line = f"{name}{shown}".removesuffix(" -> None")
    if len(line) > 90:
        inner = re.sub(r", (?=\w+:|\*)", ",\n    ", line[len(name) + 1 :])
        head, _, tail = inner.rpartition(")")
        line = f"{name}(\n    {head},\n){tail}"
    return f"```python\n{line}\n```"


def _plain(annotation: object) -> str:
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return text.replace("'", "")

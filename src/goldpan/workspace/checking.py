"""The methods of a workspace refuse what they cannot take, as the command line does."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache, wraps
from typing import Annotated, Any, TypeVar, get_origin

from goldpan.core.errors import UsageError
from goldpan.core.log import WORDS
from goldpan.core.result import Result
from goldpan.core.settings.file import Source
from goldpan.workspace.options import FROM_PROGRAM, read_options_of

K = TypeVar("K")


def checked_methods(kind: type[K]) -> type[K]:
    """Have all methods of a class that are commands, which have an example, be `checked`."""
    for name, method in vars(kind).copy().items():
        if inspect.isfunction(method) and "Example: " in (method.__doc__ or ""):
            setattr(kind, name, checked(method))
    return kind


@cache
def checked(method: Callable[..., Any], *, is_bound: bool = True) -> Callable[..., Any]:
    """Have a method refuse what it cannot take, and take the fields of its groups of options, too.

    So `ws.build.qa(limit=9)` is `ws.build.qa(rows=RowOptions(limit=9))`. It raises `UsageError`.
    What failed beside what succeeded is a warning in Python, where nothing else would show it.
    The first parameter is the owner of the method, unless the function is not bound to one.
    """

    @wraps(method)
    def called(*words: Any, **options: Any) -> Any:
        taken = _signature(method)
        owner = words[:1] if is_bound else ()
        where = ".".join([*(type(one).__name__ for one in owner), method.__name__])
        where = where.removesuffix(".__call__")
        defaults = {name: item.default for name, item in taken.parameters.items()}
        groups: dict[str, Any] = {name: one for name, one in defaults.items() if is_dataclass(one)}
        try:
            bound = taken.bind_partial(*words)
        except TypeError as error:
            raise UsageError(f"{where}: {error}", "Name what you give") from None
        by_place, whole = [*bound.arguments][len(owner) :], options.keys() & groups.keys()
        as_given = {*whole, *FROM_PROGRAM}
        given = {name: bound.arguments[name] for name in by_place}
        given |= {name: value for name, value in options.items() if name not in as_given}
        read = _read(_model(called, is_bound), given, where) if given else {}
        for name in by_place:
            bound.arguments[name] = read.pop(name)
        for name, default in groups.items():
            group: Any = options.get(name, default)
            if type(group) is not type(default):
                what = f"{type(default).__name__}(...)"
                raise UsageError(f"{where}: {name} is no {what}", f"Give {name}={what}")
            of_group = {one.name for one in fields(default)} & read.keys()
            if of_group or name in whole:
                read[name] = replace(group, **{one: read.pop(one) for one in of_group})
        read |= {name: options[name] for name in FROM_PROGRAM if name in options}
        result = method(*bound.args, **bound.kwargs, **read)
        if isinstance(result, Result) and not WORDS.get():  # the program prints them itself
            for failure in result.errors:
                warnings.warn(str(failure), stacklevel=2)
        return result

    return called


_signature = cache(inspect.signature)
"""Read when a method is called, as help does without most of them."""


def _read(model: type[Any], values: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return values of options as their types; those of numpy and pandas are plain ones."""
    plain = {
        name: value.tolist() if hasattr(value, "tolist") else value
        for name, value in values.items()
    }
    read = Source(where, plain).read(model)
    return {name: getattr(read, name) for name in values}


@cache
def _model(method: Callable[..., Any], is_bound: bool) -> type[Any]:
    from pydantic import ConfigDict, create_model

    options: dict[str, Any] = {}
    for option in read_options_of(method, is_bound):
        one = option.limits is None or get_origin(option.typed) is tuple
        options[option.name] = (option.hint if one else Annotated[option.hint, option.limits], None)
    settings = ConfigDict(extra="forbid", arbitrary_types_allowed=True, protected_namespaces=())
    model: type[Any] = create_model(method.__name__, __config__=settings, **options)
    return model

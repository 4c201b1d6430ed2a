"""A table of a plan's file: typed, strict about the names of its keys, derived from operations."""

from __future__ import annotations

import types
from collections.abc import Collection, Iterable, Mapping
from datetime import date
from pathlib import Path
from types import EllipsisType, MappingProxyType, UnionType
from typing import Annotated, Any, ClassVar, Self, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, create_model, model_validator
from pydantic_core import PydanticCustomError

from goldpan.core.values import several
from goldpan.operations.signature import Parameter, fields_of

_NEVER = ("repos", "execution", "dry_run", "progress", "workspace")
"""Parameters that a run of the plan gives, not its file."""


def refusal(problem: str, remedy: str = "") -> PydanticCustomError:
    """Return what a validator raises: the cause and the remedy, which stand behind the key."""
    return PydanticCustomError("plan", "{problem}", {"problem": problem, "remedy": remedy})


class PlanSection(BaseModel):
    """A table of the file; a key that it does not know is refused with the nearest one.

    Where several values may stand, one may stand by itself; a date may stand for a text.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, values: Any) -> Any:
        if not isinstance(values, Mapping):
            return values
        keys = list(cls.model_fields)
        read: dict[str, Any] = {}
        for key, value in values.items():
            name = str(key).replace("-", "_")
            if name not in keys:
                read[str(key)] = value
                continue
            if name in read:
                raise refusal(f"the key {name} is given twice")
            if get_origin(cls.model_fields[name].annotation) is tuple:
                value = tuple(value) if isinstance(value, (list, tuple)) else (value,)
            read[name] = str(value) if isinstance(value, date) else value
        return read

    def get(self, name: str) -> Any:
        """Return a value by name; None where the section has no such key."""
        return getattr(self, name, None)

    def names(self, name: str) -> tuple[str, ...]:
        """Return the names that a key gives, one or several; none where there is no such key."""
        return several(self.get(name) or ())

    def replaced(self, **values: Any) -> Self:
        """Return the section with other values."""
        return self.model_copy(update=values)


class StageSection(PlanSection):
    """A section whose keys are the parameters of an operation, besides those of the plan alone."""

    parameters: ClassVar[Mapping[str, Parameter]] = MappingProxyType({})
    """The parameters of the operation that the section has, by name."""

    def given(self) -> dict[str, Any]:
        """Return what the file says of the parameters; the others keep their defaults."""
        names = [name for name in self.parameters if name in self.model_fields_set]
        return {name: getattr(self, name) for name in names}

    def values(self) -> dict[str, Any]:
        """Return all parameters, with their defaults where the file says nothing."""
        return {name: getattr(self, name) for name in self.parameters}


S = TypeVar("S", bound=StageSection)


def derive(
    base: type[S],
    parameters: Iterable[Parameter],
    about: str,
    *,
    without: Collection[str] = (),
    several: Collection[str] = (),
) -> type[S]:
    """Return a section with the keys of `base`, and those of an operation's parameters.

    Its docstring is `about`.
    The plan itself gives those in `without`; of those in `several` the file may give more values
    than the operation takes at once.
    """
    taken: dict[str, Parameter] = {}
    for parameter in parameters:
        for single in fields_of(parameter.type) if parameter.kind == "group" else (parameter,):
            named_by_plan = parameter.name in _NEVER or single.name in {
                *without,
                *base.model_fields,
            }
            if not named_by_plan:
                taken[single.name] = single
    fields: dict[str, Any] = {
        name: _field(parameter, is_several=name in several) for name, parameter in taken.items()
    }
    made = create_model(
        base.__name__, __base__=base, __module__=base.__module__, __doc__=about, **fields
    )
    made.parameters = MappingProxyType(taken)
    return made


def is_path(parameter: Parameter) -> bool:
    """Tell whether a parameter names files."""
    return parameter.type is Path or Path in get_args(parameter.type)


def _field(parameter: Parameter, *, is_several: bool) -> tuple[Any, Any]:
    kind: Any = dict[str, Any] if parameter.is_mapping else _plain(parameter.type)
    default = ... if parameter.is_required else parameter.default
    if get_origin(kind) is tuple:
        item = _limited(get_args(kind)[0], parameter)
        kind = types.GenericAlias(tuple, (item, ...))
        if not isinstance(default, tuple | EllipsisType):
            default = () if default is None else (default,)
    else:
        kind = _limited(kind, parameter)
        if is_several:
            kind = types.GenericAlias(tuple, (kind, ...))
            default = default if default is ... else (default,)
        elif parameter.is_mapping and default is not ...:
            default = dict(default or {})
    if isinstance(default, Path):
        default = str(default)
    return kind, Field(default=default, description=parameter.help)


def _limited(kind: Any, parameter: Parameter) -> Any:
    if (limits := parameter.limits) is None:
        return kind
    return Annotated[kind, Field(ge=limits.least, le=limits.most)]


def _plain(kind: Any) -> Any:
    """Return a type as TOML holds it: paths are texts."""
    if kind is Path:
        return str
    if get_origin(kind) is tuple:
        return types.GenericAlias(tuple, (_plain(get_args(kind)[0]), ...))
    if get_origin(kind) in (Union, UnionType):
        return Union[tuple(map(_plain, get_args(kind)))]  # noqa: UP007 - of a list
    return kind

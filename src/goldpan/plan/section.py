"""A table of a plan's file: typed, strict about the names of its keys, derived from methods."""

from __future__ import annotations

import types
from collections.abc import Collection, Iterable, Mapping
from datetime import date
from pathlib import Path
from types import EllipsisType, MappingProxyType
from typing import Annotated, Any, ClassVar, Self, TypeVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, create_model, model_validator
from pydantic_core import PydanticCustomError

from goldpan.core.values import several
from goldpan.workspace.options import Option

_NEVER = ("repos", "dry_run")
"""Options that a run of the plan gives, not its file."""


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
    """A section whose keys are the options of a method, besides those of the plan alone."""

    parameters: ClassVar[Mapping[str, Option]] = MappingProxyType({})
    """The options of the method that the section has, by name."""

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
    options: Iterable[Option],
    about: str,
    *,
    without: Collection[str] = (),
    several: Collection[str] = (),
) -> type[S]:
    """Return a section with the keys of `base`, and those of a method's options.

    Its docstring is `about`. The plan itself gives those in `without`; of those in `several` the
    file may give more values than the method takes at once.
    """
    named_by_plan = {*_NEVER, *without, *base.model_fields}
    taken = {
        option.name: option
        for option in options
        if option.group != "execution" and option.name not in named_by_plan
    }
    fields: dict[str, Any] = {
        name: _field(option, is_several=name in several) for name, option in taken.items()
    }
    made = create_model(
        base.__name__, __base__=base, __module__=base.__module__, __doc__=about, **fields
    )
    made.parameters = MappingProxyType(taken)
    return made


def is_path(option: Option) -> bool:
    """Tell whether an option names files."""
    return option.typed is Path or Path in get_args(option.typed)


def _field(option: Option, *, is_several: bool) -> tuple[Any, Any]:
    kind: Any = dict[str, Any] if option.is_mapping else _plain(option.typed)
    default = ... if option.is_required else option.default
    if get_origin(kind) is tuple:
        item = _limited(get_args(kind)[0], option)
        kind = types.GenericAlias(tuple, (item, ...))
        if not isinstance(default, tuple | EllipsisType):
            default = () if default is None else (default,)
    else:
        kind = _limited(kind, option)
        if is_several:
            kind = types.GenericAlias(tuple, (kind, ...))
            default = default if default is ... else (default,)
        elif option.is_mapping and default is not ...:
            default = dict(default or {})
        elif default is None:
            kind = kind | None
    if isinstance(default, Path):
        default = str(default)
    return kind, Field(default=default, description=option.help)


def _limited(kind: Any, option: Option) -> Any:
    return kind if option.limits is None else Annotated[kind, option.limits]


def _plain(kind: Any) -> Any:
    """Return a type as TOML holds it: paths are texts."""
    if get_origin(kind) is tuple:
        return types.GenericAlias(tuple, (_plain(get_args(kind)[0]), ...))
    return str if kind is Path else kind

"""The options of a method, read off its signature and docstring; cyclopts parses them.

A parameter's type, default and name stand in the signature, its help in the docstring's ``Args:``,
where ``name (PLACEHOLDER): help`` also says how its value is written. Parameters before ``*`` are
arguments of the command, ``*repos`` is ``--repo``, a `Mapping` is ``--set KEY=VALUE``, and the
fields of a dataclass are options that belong together.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import MethodType, NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import orjson
from docstring_parser.google import parse

from goldpan.core.errors import UsageError
from goldpan.core.values import Limits
from goldpan.workspace.dataset import Dataset
from goldpan.workspace.opening import OpenWorkspace
from goldpan.workspace.repositories import find_dataset

REQUIRED = inspect.Parameter.empty
FROM_PROGRAM = ("workspace", "progress")
"""Parameters of functions of the package that no command has of its own."""
_NAMES = {"repos": "repo", "settings": "set"}
"""The two options that a command line names otherwise than Python does."""
_REPOS = "A repository. (default: all that are there)"
BY_TYPE = {int: "N", float: "N", Path: "PATH", str: "TEXT"}
Words = Literal["argument", "option"]


@dataclass(frozen=True, slots=True)
class Option:
    """An option or argument of a command, and a key of a plan."""

    name: str
    """As Python and plans write it."""
    hint: Any
    """Its type, as Python takes it."""
    default: Any
    help: str
    kind: Words
    placeholder: str
    group: str = ""
    """The parameter whose dataclass it is a field of."""
    panel: str = ""
    """What help calls the options of that dataclass."""

    @property
    def word(self) -> str:
        """The name on the command line; ``from_``, a word of Python, is ``from``."""
        return _NAMES.get(self.name, self.name).rstrip("_").replace("_", "-")

    @property
    def typed(self) -> Any:
        """The type of what a command line gives: of a union its list, else its first member."""
        return _typed(self.hint)

    @property
    def is_list(self) -> bool:
        """True where it may be given several times."""
        return get_origin(self.typed) is tuple

    @property
    def is_mapping(self) -> bool:
        """True for settings by name, each ``KEY=VALUE`` on the command line."""
        return any(get_origin(member) is Mapping for member in _members(self.hint))

    @property
    def is_flag(self) -> bool:
        """True where it takes no value."""
        return self.typed is bool

    @property
    def is_required(self) -> bool:
        """True where it has no default."""
        return self.default is REQUIRED

    @property
    def limits(self) -> Limits | None:
        """The limits of a number."""
        return next(_limits(self.hint), None)

    @property
    def about(self) -> str:
        """Its help, with the default."""
        if self.default in (None, (), "", False, True, REQUIRED):
            return self.help
        is_list = isinstance(self.default, tuple)
        default = ", ".join(map(str, self.default)) if is_list else self.default
        return f"{self.help} [default: {default}]"


_DATASET = Option(
    "dataset",
    str,
    REQUIRED,
    "Its name in the workspace, its directory, or OWNER/NAME on the Hugging Face Hub.",
    "argument",
    "DATASET",
)
"""The first argument of a command that is a method of `Dataset`."""


def options_of(function: Callable[..., Any]) -> tuple[Option, ...]:
    """Return the options of a bound method, or of a function of the package.

    Raises `TypeError` for a parameter without a type that a command line can give.
    """
    return _options_of(getattr(function, "__func__", function), isinstance(function, MethodType))


@cache
def _options_of(function: Callable[..., Any], is_bound: bool) -> tuple[Option, ...]:
    about = {item.arg_name: item for item in parse(inspect.getdoc(function) or "").params}
    parameters = list(inspect.signature(function).parameters.values())[is_bound:]
    of_dataset = not is_bound and function.__qualname__.startswith("Dataset.")
    named = [item for item in parameters if item.name not in ("self", *FROM_PROGRAM)]
    hints = _hints(function, [item.name for item in named])
    found = [_DATASET] if of_dataset else []
    for item in named:
        hint, is_rest = hints[item.name], item.kind is item.VAR_POSITIONAL
        if is_dataclass(hint):
            found += options_of_group(hint, item.name)  # type: ignore[arg-type]
            continue
        hint = Sequence[hint] if is_rest else hint  # type: ignore[valid-type]
        said = about.get(item.name)
        text = " ".join((said.description or "").split()) if said else _REPOS if is_rest else ""
        kind: Words = "option" if is_rest or item.kind is item.KEYWORD_ONLY else "argument"
        default = () if is_rest else item.default
        placeholder = _placeholder(item.name, hint, said)
        found.append(Option(item.name, hint, default, text, kind, placeholder))
    return tuple(found)


@cache
def options_of_group(kind: type[Any], name: str = "") -> tuple[Option, ...]:
    """Return the options that are fields of a dataclass."""
    parsed = parse(inspect.getdoc(kind) or "")
    about = {item.arg_name: item for item in parsed.params}
    hints = get_type_hints(kind, localns={"Dataset": Dataset}, include_extras=True)
    return tuple(
        Option(
            field.name,
            hints[field.name],
            REQUIRED if field.default is MISSING else field.default,
            " ".join((about[field.name].description or "").split()) if field.name in about else "",
            "option",
            _placeholder(field.name, hints[field.name], about.get(field.name)),
            name,
            (parsed.short_description or "").rstrip("."),
        )
        for field in fields(kind)
    )


def grouped(function: Callable[..., Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a method takes of values by name: options that belong together as one value."""
    taken = dict(values)
    by_group: dict[str, dict[str, Any]] = {}
    for option in options_of(function):
        if option.group and option.name in taken:
            by_group.setdefault(option.group, {})[option.name] = taken.pop(option.name)
    hints = _hints(getattr(function, "__func__", function), list(by_group))
    return taken | {name: hints[name](**of_group) for name, of_group in by_group.items()}


def call(lab: OpenWorkspace, method: Callable[..., Any], values: Mapping[str, Any]) -> Any:
    """Call a method with values by name; one of `Dataset` on the dataset that they name."""
    given = grouped(method, values)
    if not isinstance(method, MethodType) and method.__qualname__.startswith("Dataset."):
        return method(find_dataset(lab, given.pop("dataset")), **given)
    named = [option.name for option in options_of(method) if option.kind == "argument"]
    arguments = [given.pop(name) for name in named if name in given]
    repos = given.pop("repos", ())
    return method(*arguments, *([repos] if isinstance(repos, str) else repos), **given)


def summary_of(documented: object) -> str:
    """Return the first line of a docstring."""
    return (inspect.getdoc(documented) or "").partition("\n\n")[0].replace("\n", " ")


def settings_from(values: Sequence[str]) -> dict[str, Any]:
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


def _hints(function: Callable[..., Any], names: Sequence[str]) -> dict[str, Any]:
    """Return the types of some parameters; what only type checkers import is not looked for."""

    def asked() -> None: ...

    asked.__annotations__ = {
        name: function.__annotations__[name] for name in names if name in function.__annotations__
    }
    if untyped := [name for name in names if name not in asked.__annotations__]:
        raise TypeError(f"its parameter {untyped[0]} has no type")
    module = function.__globals__
    return get_type_hints(asked, module, {"Dataset": Dataset}, include_extras=True)


def _bare(hint: Any) -> Any:
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def _members(hint: Any) -> list[Any]:
    """Return the members of a union, or the type itself, without None."""
    hint = _bare(hint)
    members = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    return [_bare(member) for member in members if member is not NoneType]


def _typed(hint: Any) -> Any:
    members = _members(hint)
    for member in members:
        if get_origin(member) is Mapping:
            return tuple[str, ...]
        if get_origin(member) is not None and get_origin(member) is Sequence:
            item = _typed(get_args(member)[0])
            return tuple[item, ...]  # type: ignore[valid-type]
    return members[0]


def _limits(hint: Any) -> Iterator[Limits]:
    yield from (mark for mark in getattr(hint, "__metadata__", ()) if isinstance(mark, Limits))
    for member in get_args(hint) if get_origin(hint) is not Literal else ():
        yield from _limits(member)


def _placeholder(name: str, hint: Any, said: Any) -> str:
    typed = _typed(hint)
    is_list = get_origin(typed) is tuple
    single = get_args(typed)[0] if is_list else typed
    known = "OWNER/NAME" if name == "repos" else "KEY=VALUE" if name == "settings" else ""
    if get_origin(single) is Literal:
        known = "|".join(map(str, get_args(single)))
    given = (said.type_name if said else None) or known or BY_TYPE.get(single, "")
    return f"{given}..." if is_list and given else given

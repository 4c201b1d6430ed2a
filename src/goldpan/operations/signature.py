"""Reads an operation off its function: the one place that says what its parameters are.

A parameter's type, default and name stand in the signature, its help in the docstring's ``Args:``,
where ``name (PLACEHOLDER): help`` also says how its value is written in help texts. That an option
may be given several times is read off its type. Parameters before ``*`` are arguments of the
command, ``*repos`` is ``--repo``, the others are options.
"""

from __future__ import annotations

import builtins
import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from docstring_parser import DocstringParam
from docstring_parser.google import parse

from goldpan.core.values import About, Limits

F = TypeVar("F", bound=Callable[..., Any])
M = TypeVar("M", About, Limits)
_OPENING, _PROGRESS = "opening", "progress"
REQUIRED = inspect.Parameter.empty
Kind = Literal["argument", "option", "group"]
_OPTIONS = {"repos": "repo", "settings": "set"}
"""The two options that a command line names otherwise than Python does."""
_PLACEHOLDERS = {"repos": "OWNER/NAME", "settings": "KEY=VALUE"}
_HELP = {"repos": "A repository. (default: all that are there)"}
"""Help for parameters that a docstring leaves out."""
JSON_HELP = "Print the result as JSON."
_BY_TYPE = {int: "N", float: "N", Path: "PATH", str: "TEXT"}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an operation."""

    name: str
    """As Python and plans write it."""
    type: Any
    """The type of values in commands and plans: a simple one, a tuple of one, or a dataclass."""
    default: Any
    help: str
    kind: Kind
    placeholder: str
    limits: Limits | None = None
    is_mapping: bool = False
    """True for settings by name, each ``KEY=VALUE`` on the command line."""

    @property
    def option(self) -> str:
        """The name on the command line; ``from_``, a word of Python, is ``from``."""
        return _OPTIONS.get(self.name, self.name).rstrip("_").replace("_", "-")

    @property
    def shown_default(self) -> str:
        """The default as help shows it; empty where there is none to show."""
        if self.default in (None, (), False, True, REQUIRED):
            return ""
        is_list = isinstance(self.default, tuple)
        return ", ".join(map(str, self.default)) if is_list else str(self.default)

    @property
    def about(self) -> str:
        """The text of its help, with the default."""
        return f"{self.help} [default: {shown}]" if (shown := self.shown_default) else self.help

    @property
    def is_flag(self) -> bool:
        """True where it takes no value."""
        return self.type in (bool, bool | None)

    @property
    def is_required(self) -> bool:
        """True where it has no default."""
        return self.default is REQUIRED


_WORKSPACE = "Workspace"
DATASET = "Dataset"
"""The class whose methods' commands take a dataset first."""
_DATASET = Parameter(
    "dataset",
    str,
    REQUIRED,
    "Its name in the workspace, its directory, or OWNER/NAME on the Hugging Face Hub.",
    "argument",
    "DATASET",
)


@dataclass(frozen=True, slots=True)
class Operation:
    """A function with what its signature and its docstring say."""

    function: Callable[..., Any]
    parameters: tuple[Parameter, ...]
    summary: str
    """The docstring's first line."""
    description: str
    """The rest of the docstring, without the parameters."""
    owner: str
    """The class whose methods' first parameter it takes; empty for a function of the package."""
    returns: str = ""
    """The annotation of what it returns."""
    opening: tuple[str, ...] = ()
    """The settings of the workspace that the command takes besides (`opens_with`)."""
    shows_progress: bool = False
    """True with a parameter `progress`, which is no option: --quiet and --json decide it."""

    def call(self, owner: Any, values: Mapping[str, Any]) -> Any:
        """Call it with values by name; `owner` is ignored by a function of the package.

        A method of `Dataset` has the workspace for owner, which opens the dataset that is named.
        """
        given = dict(values)
        if self.owner == DATASET:
            owner = owner.dataset(given.pop("dataset"))
        named = [item.name for item in self.parameters if item.kind == "argument"]
        arguments = [owner] if self.owner else []
        arguments += [given.pop(name) for name in named if name in given]
        arguments += given.pop("repos", ())
        return self.function(*arguments, **given)


@cache
def read_operation(function: Callable[..., Any]) -> Operation:
    """Return an operation; raises `TypeError` for a signature that no command can be made of."""
    text = parse(inspect.getdoc(function) or "")
    about = {item.arg_name: item for item in text.params}
    parameters, owner = [], ""
    signature = inspect.signature(function).parameters
    for parameter in signature.values():
        if parameter.name == _PROGRESS:
            continue
        named = _name_of(parameter.annotation)
        if parameter.name == "self" or named == _WORKSPACE:
            owner = named
            if parameter.annotation is REQUIRED:
                owner = function.__qualname__.rpartition(".")[0]
            if owner == DATASET:
                parameters.append(_DATASET)
            continue
        is_repeated = parameter.kind is parameter.VAR_POSITIONAL
        parameters.append(
            _parameter(
                parameter.name,
                _resolved(parameter.annotation, function.__globals__),
                () if is_repeated else parameter.default,
                about.get(parameter.name),
                "option" if is_repeated or parameter.kind is parameter.KEYWORD_ONLY else "argument",
                is_repeated=is_repeated,
            )
        )
    return Operation(
        function,
        tuple(parameters),
        (text.short_description or "").replace("\n", " "),
        text.long_description or "",
        owner,
        str(inspect.signature(function).return_annotation),
        getattr(function, _OPENING, ()),
        _PROGRESS in signature,
    )


def _name_of(annotation: Any) -> str:
    """Return an annotation's name; a plugin may have written the class, not its name."""
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)


def opens_with(*settings: str) -> Callable[[F], F]:
    """Return a decorator: the command also takes these parameters of `Workspace`.

    With ``path``, the workspace may also be named without ``--workspace``.
    """

    def mark(function: F) -> F:
        setattr(function, _OPENING, settings)
        return function

    return mark


def returns_result(operation: Operation) -> bool:
    """Tell whether the command prints a result, which it can print as JSON."""
    return operation.returns != "None"


@cache
def fields_of(group: type[Any]) -> tuple[Parameter, ...]:
    """Return the parameters that a dataclass of options holds together."""
    about = {item.arg_name: item for item in parse(inspect.getdoc(group) or "").params}
    scope = vars(inspect.getmodule(group))
    return tuple(
        _parameter(
            field.name,
            _resolved(field.type, scope),
            REQUIRED if field.default is MISSING else field.default,
            about.get(field.name),
            "option",
        )
        for field in fields(group)
    )


def title_of(group: type[Any]) -> str:
    """Return what help calls a dataclass of options: the first line of its docstring."""
    return (inspect.getdoc(group) or "").partition("\n")[0].rstrip(".")


def _parameter(
    name: str,
    annotation: Any,
    default: Any,
    said: DocstringParam | None,
    kind: Kind,
    *,
    is_repeated: bool = False,
) -> Parameter:
    simple = _simple(annotation)
    if is_repeated:
        simple = types.GenericAlias(tuple, (simple, ...))
    if is_dataclass(simple):
        kind = "group"
    is_list = get_origin(simple) is tuple
    if is_list and isinstance(default, str):
        default = (default,)
    about = _mark(annotation, About) or About(_PLACEHOLDERS.get(name, ""), _HELP.get(name, ""))
    given = said.type_name if said else None
    text = " ".join((said.description or "").split()) if said else about.help
    is_mapping = _is_mapping(annotation)
    if (is_list or is_mapping) and kind == "option" and "several times" not in text:
        first, _, others = text.partition(". ")
        text = f"{first.removesuffix('.')}; may be given several times. {others}".rstrip()
    return Parameter(
        name,
        simple,
        default,
        text,
        kind,
        given or about.placeholder or _placeholder(simple),
        _mark(annotation, Limits),
        is_mapping,
    )


class _LaterType:
    """Stands for a type that only type checkers import, which no command line can give."""


class _Names(dict[str, Any]):
    def __missing__(self, name: str) -> Any:
        return getattr(builtins, name, _LaterType)


def _resolved(annotation: Any, scope: Mapping[str, Any]) -> Any:
    """Return an annotation as the type that it names."""
    if not isinstance(annotation, str):
        return annotation
    return eval(annotation, {}, _Names(scope))  # noqa: S307 - our own source


def _simple(annotation: Any) -> Any:
    """Return what a command line or a plan gives for a type that Python takes more freely.

    Of a union, the first member decides: ``str | Path`` is a text, ``Path | str`` a path.
    """
    if hasattr(annotation, "__metadata__"):
        annotation = get_args(annotation)[0]
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        members = [member for member in arguments if member is not type(None)]
        several = [member for member in members if get_origin(member) is not None]
        lists = [member for member in several if _is_list(member)]
        simple = _simple((lists or members)[0])
        return simple | None if len(members) < len(arguments) and not lists else simple
    if _is_list(annotation):
        return types.GenericAlias(tuple, (_simple(arguments[0]), ...))
    if _is_mapping(annotation):
        return tuple[str, ...]
    return annotation


def _mark(annotation: Any, kind: type[M]) -> M | None:
    """Return what is annotated to a type, or to the first member of a union that has it."""
    for found in getattr(annotation, "__metadata__", ()):
        if isinstance(found, kind):
            return found
    members = get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else ()
    return next((found for member in members if (found := _mark(member, kind))), None)


def _is_mapping(annotation: Any) -> bool:
    members = get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else ()
    origin = get_origin(annotation)
    is_mapping = isinstance(origin, type) and issubclass(origin, Mapping)
    return is_mapping or any(map(_is_mapping, members))


def _is_list(annotation: Any) -> bool:
    origin = get_origin(annotation)
    if not isinstance(origin, type) or issubclass(origin, Mapping):
        return False
    return issubclass(origin, (Sequence, frozenset, set)) or origin.__name__ == "Iterable"


def _placeholder(simple: Any) -> str:
    members = [member for member in get_args(simple) if member not in (type(None), Ellipsis)]
    if get_origin(simple) is Literal:
        return "|".join(map(str, members))
    if members:
        return _placeholder(members[0])
    return _BY_TYPE.get(simple, "")

"""The options that several methods share, and those of a method, as cyclopts reads them.

A method's signature and its docstring declare a command. Parameters before ``*`` are arguments,
``*repos`` is ``--repo``, a dataclass is a group of options, and in the docstring's ``Args:`` stands
``name (PLACEHOLDER): help``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, wraps
from pathlib import Path
from types import MethodType, NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from cyclopts import App, Parameter
from cyclopts.token import Token
from cyclopts.validators import Number
from docstring_parser.google import parse

from goldpan.core.errors import UsageError
from goldpan.core.values import several
from goldpan.workspace.dataset import Dataset, find_dataset
from goldpan.workspace.opening import OpenWorkspace

if TYPE_CHECKING:  # it takes long to import
    from annotated_types import Interval

_DATASET = "Its name in the workspace, its directory, or OWNER/NAME on the Hugging Face Hub."
FROM_PROGRAM = ("workspace", "progress")
"""Parameters that options of the program give."""
_PLACEHOLDERS = {int: "N", float: "N", Path: "PATH", str: "TEXT"}


def _settings(_: type, tokens: Sequence[Token]) -> dict[str, Any]:
    """Return settings of ``KEY=VALUE``; a value that is JSON is read as such."""
    import orjson  # which help does without

    settings = {}
    for token in tokens:
        name, sign, value = token.value.partition("=")
        if not sign:
            raise UsageError(f"--set {token.value!r} has no value", "Write name=value")
        try:
            settings[name] = orjson.loads(value)
        except orjson.JSONDecodeError:
            settings[name] = value
    return settings


def _paths(_: type, tokens: Sequence[Token]) -> list[Path]:
    return [Path(token.value) for token in tokens]


def shown_default(value: Any) -> str | None:
    """Return a default as help shows it; None where help says it in words, or need not."""
    if value in (None, (), "", False, True):
        return None
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


AS_OPTIONS = Parameter(negative_bool=(), negative_iterable=(), show_default=shown_default)
"""How options are read and shown where nothing else is said of them."""
Names = str | Sequence[str]
"""One name, or several."""
Files = Annotated[
    Path | str | Sequence[Path | str], Parameter(converter=_paths, n_tokens=-1, accepts_keys=False)
]
Repos = Annotated[
    Sequence[str],
    Parameter(
        name="--repo", metavar="OWNER/NAME...", help="A repository. (default: all that are there)"
    ),
]
DatasetName = Annotated[str | Path | Dataset, Parameter(metavar="DATASET", accepts_keys=False)]
DatasetNames = Annotated[
    str | Path | Dataset | Sequence[str | Path | Dataset],
    Parameter(metavar="DATASET...", accepts_keys=False),
]
Changes = Annotated[
    Mapping[str, Any],
    Parameter(
        name="--set", metavar="KEY=VALUE...", converter=_settings, n_tokens=-1, accepts_keys=False
    ),
]
"""Settings by name."""
Profile = Annotated[
    str | Path,
    Parameter(
        metavar="NAME",
        help="The profile whose verdicts count: default, verified, or your own .toml file.",
    ),
]
Rules = Annotated[
    str,
    Parameter(
        metavar="NAME",
        help="The rules whose pairs count: default, unconfirmed, landed, or a plugin's.",
    ),
]
TaskNames = Annotated[Names, Parameter(metavar="NAME", help="A task. (default: all)")]
ModelNames = Annotated[Names, Parameter(metavar="NAME", help="A model. (default: all)")]
Rows = Annotated[
    str | Path | Dataset | None,
    Parameter(
        metavar="DATASET",
        accepts_keys=False,
        help="The rows: a dataset by its name or directory. (default: WORKSPACE/datasets)",
    ),
]
"""The dataset that holds the rows of a task."""
Project = Annotated[str, Parameter(metavar="NAME", help="A name for this round of annotation.")]
Projects = Annotated[str | Sequence[str], Parameter(metavar="NAME", help="A round.")]
StudioUrl = Annotated[
    str | None,
    Parameter(
        metavar="URL",
        help="Label Studio. (default: LABEL_STUDIO_URL, or the one that annotate serve runs)",
    ),
]
_OF_SEEDS = Number(gte=0, lt=2**32)
Seed = Annotated[int, Parameter(validator=_OF_SEEDS)]
Seeds = Annotated[int | Sequence[int], Parameter(validator=_OF_SEEDS)]
Switch = Annotated[bool, Parameter(negative_bool="no-")]
"""A flag that is on, or as a command finds, unless ``--no-NAME`` is given."""


def declared(lab: OpenWorkspace | None, method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method as a function of what a command line gives.

    A method of `Dataset` takes the dataset's name first. What a method returns is left out, as it
    may not be imported yet. Raises `TypeError` for a parameter without a type.
    """
    taken = inspect.signature(method).parameters

    @wraps(method)
    def command(*words: Any, repos: Names = (), **options: Any) -> Any:
        assert lab is not None
        given: list[Any] = [*words, *several(repos)]
        if "self" in taken:
            given[0] = find_dataset(lab, given[0])
        if "workspace" in taken and "workspace" in lab.given:
            options["workspace"] = lab.path
        if "progress" in taken:
            options["progress"] = lab.shows_progress
        return method(*given, **options)

    about = {item.arg_name: item for item in parse(inspect.getdoc(method) or "").params}
    placeholders = [item.type_name for item in about.values() if item.type_name]
    parameters = []
    for item in taken.values():
        said = about.get(item.name)
        told: dict[str, Any] = {"help": " ".join((said.description or "").split())} if said else {}
        if said and said.type_name:
            told["metavar"] = said.type_name
        if item.name in FROM_PROGRAM:
            continue
        if item.name == "self":
            item = item.replace(name="dataset", annotation=DatasetName)
            told["help"] = _DATASET
        if item.annotation is item.empty:
            raise TypeError(f"its parameter {item.name} has no type")
        if item.kind is item.VAR_POSITIONAL:
            item = item.replace(kind=item.KEYWORD_ONLY, default=(), annotation=Repos)
        elif item.kind is item.POSITIONAL_OR_KEYWORD:
            if _takes_several(method, item):
                told["group"] = "Arguments"
            else:
                item = item.replace(kind=item.POSITIONAL_ONLY)
            if placeholders.count(told.get("metavar", "")) == 1:
                told["name"] = told["metavar"]
        parameters.append(item.replace(annotation=Annotated[item.annotation, Parameter(**told)]))
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {item.name: item.annotation for item in parameters}
    return command


def _takes_several(method: Callable[..., Any], item: inspect.Parameter) -> bool:
    """Tell whether an argument is a list, which goes on behind options."""

    def only() -> None: ...

    only.__annotations__ = {item.name: item.annotation}
    function = inspect.unwrap(method)
    names = getattr(function, "__func__", function).__globals__
    return get_origin(_typed(get_type_hints(only, names)[item.name])) is tuple


@dataclass(frozen=True, slots=True)
class Option:
    """An option or argument of a command, and a key of a plan."""

    name: str
    """As Python and plans write it."""
    word: str
    """As the command line writes it."""
    hint: Any
    """Its type, as Python takes it."""
    default: Any
    help: str
    kind: Literal["argument", "option"]
    placeholder: str
    group: str = ""
    """The parameter whose dataclass it is a field of."""
    limits: Interval | None = None
    """The limits of a number."""

    @property
    def typed(self) -> Any:
        """The type of what a command line gives: of a union its list, else its first member."""
        return _typed(self.hint)

    @property
    def is_mapping(self) -> bool:
        """True for settings by name, each ``KEY=VALUE`` on the command line."""
        return any(get_origin(member) is Mapping for member in members_of(self.hint))

    @property
    def is_required(self) -> bool:
        """True where it has no default."""
        return self.default is inspect.Parameter.empty


def options_of(method: Callable[..., Any]) -> tuple[Option, ...]:
    """Return the options of a method or function, as cyclopts reads them.

    Raises `TypeError` for a parameter without a type that a command line can give.
    """
    return read_options_of(getattr(method, "__func__", method), isinstance(method, MethodType))


@cache
def read_options_of(function: Callable[..., Any], is_bound: bool) -> tuple[Option, ...]:
    """Return the options of a function, without its first parameter where it is bound."""
    method = MethodType(function, object()) if is_bound else function
    return tuple(read_options(declared(None, method)))


def read_options(command: Callable[..., Any]) -> Iterator[Option]:
    """Yield the options of a function whose parameters are those of a command line."""
    from annotated_types import Interval

    app, group = App(default_parameter=AS_OPTIONS), ""
    app.default(command)
    for argument in app.assemble_argument_collection(parse_docstring=True):
        info, parameter = argument.field_info, argument.parameter
        if argument.children:
            group = info.name
        if argument.children or parameter.show is False:
            continue
        checks: Any = parameter.validator
        limits = (
            Interval(gt=check.gt, ge=check.gte, lt=check.lt, le=check.lte)
            for check in checks
            if isinstance(check, Number)
        )
        yield Option(
            argument.keys[-1] if argument.keys else info.name,
            argument.names[0].lstrip("-"),
            info.annotation,
            info.default,
            " ".join((parameter.help or "").split()),
            "argument" if argument.index is not None else "option",
            placeholder(info.annotation, parameter.metavar),
            group if argument.keys else "",
            next(limits, None),
        )


def options_of_group(kind: type[Any], name: str = "") -> tuple[Option, ...]:
    """Return the options that are fields of a dataclass, as those of a parameter of a name."""

    def taking(*, group: Any = None) -> None: ...

    taking.__annotations__ = {"group": kind}
    return tuple(replace(option, group=name) for option in read_options(taking))


def call(lab: OpenWorkspace, method: Callable[..., Any], values: Mapping[str, Any]) -> Any:
    """Call a method with values by name, those of a group of options, too."""
    given = dict(values)
    arguments = [option.name for option in options_of(method) if option.kind == "argument"]
    words = [given.pop(name) for name in arguments if name in given]
    return declared(lab, method)(*words, **given)


def summary_of(documented: object) -> str:
    """Return the first line of a docstring."""
    return (inspect.getdoc(documented) or "").partition("\n\n")[0].replace("\n", " ")


def placeholder(hint: Any, metavar: str | None = None) -> str:
    """Return what stands for a value in help; choices are told."""
    single = single_type(hint)
    known = metavar or "|".join(map(str, get_args(single))) or _PLACEHOLDERS.get(single, "")
    is_list = get_origin(_typed(hint)) is tuple
    return f"{known}..." if is_list and not known.endswith("...") else known


def single_type(hint: Any) -> Any:
    """Return the type of one value as a command line gives it."""
    typed = _typed(hint)
    return get_args(typed)[0] if get_origin(typed) is tuple else typed


def members_of(hint: Any) -> list[Any]:
    """Return the types of a union and of the unions in it, or the type itself, without None."""
    if get_origin(hint) is Annotated:
        return members_of(get_args(hint)[0])
    if get_origin(hint) in (Union, UnionType):
        return [inner for member in get_args(hint) for inner in members_of(member)]
    return [] if hint is NoneType else [hint]


def _typed(hint: Any) -> Any:
    members = members_of(hint)
    many = next((one for one in members if get_origin(one) in (Mapping, Sequence)), None)
    if many is None:
        return members[0]
    item = str if get_origin(many) is Mapping else _typed(get_args(many)[0])
    return tuple[item, ...]  # type: ignore[valid-type]

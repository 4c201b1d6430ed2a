"""Hands methods to cyclopts, which parses their options, helps with them and completes them."""

from __future__ import annotations

import inspect
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, get_args

import cyclopts
from cyclopts.validators import Number

from goldpan.core.errors import UnknownNameError, UsageError, choices, question, suggested
from goldpan.core.plugins.loading import names_of, removed
from goldpan.core.plugins.parts import Kind
from goldpan.core.settings.config import CONFIG_FILE, FILE_SETTINGS
from goldpan.workspace.options import BY_TYPE, REQUIRED, Option, options_of, settings_from

if TYPE_CHECKING:
    from cyclopts.help import HelpEntry, HelpPanel

LAST = ("Workspace and output", "Options, before or after the command")
"""What help calls the program's own options, behind a command and alone."""
_WIDEST = 100
_KINDS: dict[str, Kind] = {"form": "annotation form", "protocol": "protocol", "steps": "step order"}
_OF_PAIRS: dict[str, Kind] = {"profile": "profile", "rules": "rules"}
"""The kinds of what options name; a profile is the filters' where rules are asked for, too."""
Perform = Callable[[Callable[..., Any], Mapping[str, Any]], int]


def declare(
    function: Callable[..., Any], perform: Perform, stored: Mapping[str, set[str]] | None = None
) -> Callable[..., int]:
    """Return a function with the options of a method, as cyclopts reads them.

    Called, it has `perform` call the method with values by name. Help also names what is `stored`.
    """
    options = with_what_is_registered(options_of(function), stored)
    arguments = [option for option in options if option.kind == "argument"]
    mappings = [option.name for option in options if option.is_mapping]

    def command(*words: Any, **values: Any) -> int:
        values |= {name: settings_from(values[name]) for name in mappings if name in values}
        for number, option in enumerate(arguments[: len(words)]):
            values[option.name] = words[number:] if option.is_list else words[number]
        return perform(function, values)

    shown = [option.placeholder.rstrip(".") for option in arguments]
    parameters = [_named(option, shown) for option in options]
    parameters.sort(key=lambda item: item.kind)
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {item.name: item.annotation for item in parameters}
    command.__doc__ = (inspect.getdoc(function) or "").partition("\n\nArgs:")[0]
    return command


def _named(option: Option, shown: list[str]) -> inspect.Parameter:
    """Return an option, or an argument by what stands for it unless others have the same name."""
    name = option.placeholder.rstrip(".")
    is_its_own = shown.count(name) == 1 and name not in BY_TYPE.values()
    return parameter_of(option, name=name if is_its_own else "")


def parameter_of(option: Option, *, name: str = "", show: bool = True) -> inspect.Parameter:
    """Return an option, or an argument with a name, as cyclopts reads it."""
    typed = option.typed
    settings: dict[str, Any] = {
        "name": f"--{option.word}" if option.kind == "option" else name or option.name.upper(),
        "help": option.about,
        "metavar": option.placeholder,
        "required": option.default is REQUIRED,
        "show_default": False,
        "show_choices": False,
        "accepts_keys": False,
        "negative": (),
        "show": show,
    }
    if option.panel:
        settings["group"] = panel(option.panel, 3 if option.panel in LAST else 2)
    if option.is_flag and option.default is not False:
        settings["negative"] = f"--no-{option.word}"
    if (limits := option.limits) is not None:
        settings["validator"] = Number(gte=limits.least, lte=limits.most)
    if option.kind == "argument" and option.is_list:  # which takes words wherever options stand
        rest: Any = Annotated[get_args(typed)[0], cyclopts.Parameter(**settings)]
        return inspect.Parameter(option.name, inspect.Parameter.VAR_POSITIONAL, annotation=rest)
    is_argument = option.kind == "argument"
    kind = inspect.Parameter.POSITIONAL_ONLY if is_argument else inspect.Parameter.KEYWORD_ONLY
    typed = typed | None if option.default is None else typed
    default = (
        (option.default,) if option.is_list and isinstance(option.default, str) else option.default
    )
    annotation: Any = Annotated[typed, cyclopts.Parameter(**settings)]
    return inspect.Parameter(option.name, kind, default=default, annotation=annotation)


@cache
def panel(title: str, rank: int) -> cyclopts.Group:
    """Return a panel of help."""
    return cyclopts.Group(title, sort_key=rank)


def with_what_is_registered(
    options: Iterable[Option], stored: Mapping[str, set[str]] | None = None
) -> list[Option]:
    """Return options whose help also names what papers and plugins bring, and what is stored."""
    named = {option.name: option for option in options}
    kinds = _KINDS | (_OF_PAIRS if "rules" in named else {})
    for name in named.keys() & kinds:
        here = {*names_of(kinds[name]), *(stored or {}).get(name, ())}
        told = set(re.findall(r"[\w-]+", named[name].help))
        if others := sorted(here - told):
            about = f"{named[name].help} Also here: {', '.join(others)}."
            named[name] = replace(named[name], help=about)
    return [*named.values()]


def misuse(error: cyclopts.CycloptsError, words: str) -> UsageError:
    """Return what is wrong with the words of a command, and the command that helps."""
    error.verbose = False
    remedy = f"Run goldpan {words} -h for help".replace("  ", " ")
    if isinstance(error, cyclopts.UnknownCommandError):
        return _no_command(error, words)
    if isinstance(error, cyclopts.UnusedCliTokensError) and error.unused_tokens:
        word = error.unused_tokens[0]
        takes_repos = error.target and "repos" in inspect.signature(error.target).parameters
        if takes_repos and word.count("/") == 1:
            remedy = f"Write --repo {word}"
        return UsageError(f"{word!r} is one word too many", remedy)
    if isinstance(error, cyclopts.ValidationError) and isinstance(error.value, tuple):
        error.value = ", ".join(map(str, error.value))
    problem = str(error).rstrip(".")
    if isinstance(error, cyclopts.UnknownOptionError):
        name = (error.token.keyword or "").strip("-").replace("-", "_")
        if name in FILE_SETTINGS:
            problem = f"Unknown option: {error.token.keyword}"
            remedy = f"Set {name} in {CONFIG_FILE}, in the workspace, which holds for all commands"
    if isinstance(error, cyclopts.MissingArgumentError) and error.argument is not None:
        lacks = "requires an argument" if error.keyword else "is missing"
        problem = f"{error.keyword or error.argument.name} {lacks}"
    return UsageError(problem, remedy)


def _no_command(error: cyclopts.UnknownCommandError, group: str) -> UsageError:
    assert error.unused_tokens and error.app is not None
    word = error.unused_tokens[0]
    if group and word.startswith("-"):
        return UsageError(f"Unknown option: {word}", f"Run goldpan {group} -h for help")
    known = [name for name in error.app if not name.startswith("-")]
    if missing := removed("command", f"{group} {word}".strip()):
        return missing
    if not group:
        remedy = question(word, known) or "Run goldpan -h for help"
        if word.startswith("-"):
            remedy = "Options of a command stand behind it; run goldpan -h for help"
        return UsageError(f"There is no command {word!r}", remedy)
    near, remedy = suggested(word, known), f"Choose {choices(known)}"
    if group == "build":
        return UnknownNameError(f"There is no dataset {word!r}{near}", remedy)
    return UsageError(f"There is no command '{group} {word}'{near}", remedy)


class HelpText:
    """Prints help as two columns that fit, in plain words: the formatter of cyclopts' help."""

    def __call__(self, console: object, options: object, panel: HelpPanel) -> None:
        """Print a title and its rows; what is long on the left stands on a line of its own."""
        rows = [(" ".join(_left(entry)), _plain(entry.description)) for entry in panel.entries]
        if rows:
            _write(_panel(str(panel.title), rows))

    def render_usage(self, console: object, options: object, usage: Any) -> None:
        """Print how the command is written."""
        _write(f"Usage: {_plain(usage).strip().removeprefix('Usage: ')}")

    def render_description(self, console: object, options: object, description: Any) -> None:
        """Print what the command says of itself, a paragraph after the other."""
        for text in _plain(description).strip().split("\n\n"):
            _write(textwrap.fill(" ".join(text.replace("`", "").split()), _width()))


def _left(entry: HelpEntry) -> Iterator[str]:
    if entry.positional_label and not entry.all_options:
        yield entry.positional_label if entry.required else f"[{entry.positional_label}]"
        return
    yield ", ".join(entry.all_options)
    if entry.metavar:
        yield entry.metavar


def _plain(text: Any) -> str:
    text = getattr(text, "primary_renderable", text)
    return "" if text is None else str(text)


def _write(text: str) -> None:
    from goldpan.core.sanitize import printable

    sys.stdout.write(f"{printable(text)}\n\n")


def _panel(title: str, rows: Iterable[tuple[str, str]]) -> str:
    rows = list(rows)
    width = max((len(left) for left, _ in rows if len(left) <= 28), default=0)
    lines = [f"\033[1m{title}\033[0m" if sys.stdout.isatty() else title]
    for left, right in rows:
        indent = " " * (width + 4)
        first = f"  {left:<{width}}  " if len(left) <= width else indent
        if len(left) > width:
            lines.append(f"  {left}")
        lines += textwrap.wrap(
            right, _width(), initial_indent=first, subsequent_indent=indent, break_long_words=False
        ) or [first.rstrip()]
    return "\n".join(lines)


def _width() -> int:
    return min(shutil.get_terminal_size().columns, _WIDEST)

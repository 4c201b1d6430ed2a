"""Help, and what is told of misuse: cyclopts' formatter and error texts, in Goldpan's words."""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import cyclopts

from goldpan.core.errors import UnknownNameError, UsageError, ask, choices, question, suggested
from goldpan.core.plugins.loading import names_of, removed
from goldpan.core.plugins.parts import Kind
from goldpan.core.settings.config import CONFIG_FILE, FILE_SETTINGS, repository_name
from goldpan.workspace.options import placeholder, single_type

if TYPE_CHECKING:
    from cyclopts.help import HelpEntry, HelpPanel
    from rich.console import ConsoleOptions

_WIDEST = 100
_ALIKE = 0.78
"""How like an option's name a word has to be that is taken for it."""
_KINDS: Mapping[str, Kind] = {
    "form": "annotation form",
    "protocol": "protocol",
    "steps": "step order",
}
_OF_PAIRS: Mapping[str, Kind] = {"profile": "profile", "rules": "rules"}
"""The kinds of what options name; a profile is the filters' where rules are asked for, too."""
_NUMBERS: Mapping[Any, str] = {int: "a whole number", float: "a number"}
_OF_TYPE = re.compile(r"(STR|INT|FLOAT|PATH|CHOICE)\b")
"""What cyclopts calls values by their types."""


def misuse(
    error: cyclopts.CycloptsError, words: str, every: Iterable[str], options: Iterable[str]
) -> UsageError:
    """Return what is wrong with the words of a command, and the command that helps.

    `every` are the words of all commands, `options` the program's own.
    """
    error.verbose = False
    remedy = f"Run goldpan {words} -h for help".replace("  ", " ")
    if isinstance(error, cyclopts.UnknownCommandError):
        return _no_command(error, words, every)
    if isinstance(error, cyclopts.UnusedCliTokensError) and error.unused_tokens:
        word = error.unused_tokens[0]
        if error.target and "repos" in inspect.signature(error.target).parameters:
            with suppress(UsageError):  # which it is where the word names no repository
                remedy = f"Write --repo {repository_name(word)}"
        return UsageError(f"{word!r} is one word too many", remedy)
    if isinstance(error, cyclopts.ValidationError) and isinstance(error.value, (list, tuple)):
        error.value = ", ".join(map(str, error.value))
    if isinstance(error, cyclopts.CoercionError) and error.argument is not None:
        error.target_type = single_type(error.argument.hint)
        if error.token is not None and error.target_type in _NUMBERS:
            error.msg = f"{error.token.value!r} is not {_NUMBERS[error.target_type]}"
    problem = str(error).rstrip(".")
    if isinstance(error, cyclopts.UnknownOptionError):
        problem = f"Unknown option: {error.token.keyword}"
        name = (error.token.keyword or "").strip("-").replace("-", "_")
        known = [one.lstrip("-") for of in error.argument_collection for one in of.names]
        known += [option.replace("_", "-") for option in options]
        if near := get_close_matches(name.replace("_", "-"), known, n=1, cutoff=_ALIKE):
            remedy = f"{ask([f'--{near[0]}'])} {remedy}"
        elif name in FILE_SETTINGS:
            remedy = f"Set {name} in {CONFIG_FILE}, in the workspace, which holds for all commands"
    if isinstance(error, cyclopts.MissingArgumentError) and error.argument is not None:
        lacks = "requires an argument" if error.keyword else "is missing"
        problem = f"{error.keyword or error.argument.name} {lacks}"
    return UsageError(problem, remedy)


def _no_command(
    error: cyclopts.UnknownCommandError, group: str, every: Iterable[str]
) -> UsageError:
    assert error.unused_tokens and error.app is not None
    word = error.unused_tokens[0]
    if group and word.startswith("-"):
        return UsageError(f"Unknown option: {word}", f"Run goldpan {group} -h for help")
    known = [name for name in error.app if not name.startswith("-")]
    if missing := removed("command", f"{group} {word}".strip()):
        return missing
    if not group:
        within = [f"goldpan {name}" for name in every if name.endswith(f" {word}")]
        offered = ask(within) if within else question(word, known)
        remedy = offered or "Run goldpan -h for help"
        if word.startswith("-"):
            return UsageError(
                f"Unknown option: {word}",
                "Options of a command stand behind it; run goldpan -h for help",
            )
        return UsageError(f"There is no command {word!r}", remedy)
    near, remedy = suggested(word, known), f"Choose {choices(known)}"
    if group == "build":
        return UnknownNameError(f"There is no dataset {word!r}{near}", remedy)
    return UsageError(f"There is no command '{group} {word}'{near}", remedy)


def with_names(helps: Mapping[str, str], stored: Mapping[str, set[str]]) -> dict[str, str]:
    """Return the help of options by name, with what plugins bring and the workspace stores."""
    kinds = {**_KINDS, **(_OF_PAIRS if "rules" in helps else {})}
    found = dict(helps)
    for name in found.keys() & kinds:
        here = {*names_of(kinds[name]), *stored.get(name, ())}
        if others := sorted(here - set(re.findall(r"[\w-]+", found[name]))):
            found[name] += f" Also here: {', '.join(others)}."
    return found


@dataclass(frozen=True, slots=True)
class HelpText:
    """Prints help as two columns that fit, in plain words: the formatter of cyclopts' help."""

    without: str = ""
    """The title of a panel that is left out."""
    stored: Mapping[str, set[str]] = field(default_factory=dict)
    """Names by option that the workspace knows."""

    def __call__(self, console: object, options: ConsoleOptions, panel: HelpPanel) -> None:
        """Print a title and its rows; what is long on the left stands on a line of its own."""
        if not panel.entries or panel.title == self.without:
            return
        names = [(*entry.all_options, entry.positional_label or "")[0] for entry in panel.entries]
        told = [_plain(entry.description) for entry in panel.entries]
        by_name = {name.lstrip("-"): text for name, text in zip(names, told, strict=True)}
        rows = [
            (" ".join(_left(entry)), _with_default(text, entry.default))
            for entry, text in zip(
                panel.entries, with_names(by_name, self.stored).values(), strict=True
            )
        ]
        _write(_panel(str(panel.title), rows, _width(options)))

    def render_usage(self, console: object, options: object, usage: Any) -> None:
        """Print how the command is written."""
        _write(f"Usage: {_plain(usage).strip().removeprefix('Usage: ')}")

    def render_description(
        self, console: object, options: ConsoleOptions, description: Any
    ) -> None:
        """Print what the command says of itself, a paragraph after the other."""
        for text in _plain(description).strip().split("\n\n"):
            _write(textwrap.fill(" ".join(text.replace("`", "").split()), _width(options)))


def _left(entry: HelpEntry) -> Iterator[str]:
    if entry.positional_label:
        yield entry.positional_label if entry.required else f"[{entry.positional_label}]"
        return
    yield ", ".join(entry.all_options)
    if entry.metavar:
        yield placeholder(entry.type, None if _OF_TYPE.match(entry.metavar) else entry.metavar)


def _with_default(text: str, default: str | None) -> str:
    return text if default is None else f"{text} [default: {default}]"


def _plain(text: Any) -> str:
    text = getattr(text, "primary_renderable", text)
    return "" if text is None else str(text)


def _write(text: str) -> None:
    from goldpan.core.sanitize import printable

    sys.stdout.write(f"{printable(text)}\n\n")


def _panel(title: str, rows: Iterable[tuple[str, str]], widest: int) -> str:
    rows = list(rows)
    width = max((len(left) for left, _ in rows if len(left) <= 28), default=0)
    lines = [f"\033[1m{title}\033[0m" if sys.stdout.isatty() else title]
    for left, right in rows:
        indent = " " * (width + 4)
        first = f"  {left:<{width}}  " if len(left) <= width else indent
        if len(left) > width:
            lines.append(f"  {left}")
        lines += textwrap.wrap(
            right, widest, initial_indent=first, subsequent_indent=indent, break_long_words=False
        ) or [first.rstrip()]
    return "\n".join(lines)


def _width(options: ConsoleOptions) -> int:
    return min(options.max_width, _WIDEST)

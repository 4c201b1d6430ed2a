"""Help, and what is told of misuse: cyclopts' formatter and error texts, in Goldpan's words."""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cyclopts

from goldpan.core.errors import UnknownNameError, UsageError, ask, choices, question, suggested
from goldpan.core.settings.config import CONFIG_FILE, FILE_SETTINGS, repository_name
from goldpan.workspace.options import members_of, placeholder, single_type

if TYPE_CHECKING:
    from cyclopts.help import HelpEntry, HelpPanel
    from rich.console import ConsoleOptions

_WIDEST, _LEFT = 100, 28
"""Columns of help, and of what stands on its left."""
_DASHES = ("\u2013", "\u2014", "\u2212")
"""What programs for texts make of two hyphens."""
_ALIKE = 0.78
"""How like an option's name a word has to be that is taken for it."""

_NUMBERS: Mapping[Any, str] = {int: "a whole number", float: "a number"}
_OF_TYPE = re.compile(r"(STR|INT|FLOAT|PATH|CHOICE)\b")
"""What cyclopts calls values by their types."""


def misuse(
    error: cyclopts.CycloptsError, every: Iterable[str], options: Iterable[str]
) -> UsageError:
    """Return what is wrong with the words of a command, and the command that helps.

    `every` are the words of all commands, `options` the program's own.
    """
    error.verbose = False
    words = error.command_chain or ()
    remedy = f"Run {' '.join(('goldpan', *words, '-h'))} for help"
    match error:
        case cyclopts.UnknownCommandError():
            return _no_command(error, " ".join(words), every, options)
        case cyclopts.UnusedCliTokensError(unused_tokens=[word, *_]):
            if word.startswith(_DASHES):
                written = f"--{word.lstrip(''.join(_DASHES))}"
                return UsageError(f"{word!r} begins with no hyphen", f"Write {written}")
            takes = inspect.signature(error.target).parameters if error.target else ()
            if "repos" in takes:
                with suppress(UsageError):  # which it is where the word names no repository
                    remedy = f"Write --repo {repository_name(word)}"
            elif "task" in takes and "." not in word:
                remedy = f"Write --task {word}"
            return UsageError(f"{word!r} is one word too many", remedy)
        case cyclopts.UnknownOptionError():
            word = error.token.keyword or error.token.value.partition("=")[0]
            name = word.strip("-").replace("_", "-")
            known = [one.lstrip("-") for of in error.argument_collection for one in of.names]
            known += [option.replace("_", "-") for option in options]
            from difflib import get_close_matches  # which help does without

            if near := get_close_matches(name, known, n=1, cutoff=_ALIKE):
                remedy = f"{ask([f'--{near[0]}'])} {remedy}"
            elif (setting := name.replace("-", "_")) in FILE_SETTINGS:
                remedy = f"Set {setting} in {CONFIG_FILE}, in the workspace, for all commands"
            elif "set" in known:
                setting = name if "." in name else setting
                remedy = f"{remedy}; a setting is written as --set {setting}=VALUE"
            return UsageError(f"Unknown option: {word}", remedy)
        case cyclopts.MissingArgumentError() if error.argument is not None:
            lacks = "requires an argument" if error.keyword else "is missing"
            return UsageError(f"{error.keyword or error.argument.name} {lacks}", remedy)
        case cyclopts.CoercionError() if error.argument is not None:
            error.target_type = single_type(error.argument.hint)
            if error.token is not None and error.target_type in _NUMBERS:
                error.msg = f"{error.token.value!r} is not {_NUMBERS[error.target_type]}"
        case cyclopts.ValidationError() if isinstance(error.value, (list, tuple)):
            error.value = ", ".join(map(str, error.value))
    return UsageError(str(error).rstrip("."), remedy)


def refuse_empty_paths(
    _app: cyclopts.App, _words: Sequence[str], arguments: Iterable[cyclopts.Argument]
) -> None:
    """Raise `UsageError` for an empty path, of a variable that is not set: it is no folder."""
    for argument in arguments:
        if Path in members_of(argument.hint) and any(not token.value for token in argument.tokens):
            raise UsageError(f"{argument.name} is empty", "Give a path, or leave it out")


def _no_command(
    error: cyclopts.UnknownCommandError, group: str, every: Iterable[str], options: Iterable[str]
) -> UsageError:
    assert error.unused_tokens and error.app is not None
    word = error.unused_tokens[0]
    if word.startswith("-"):
        remedy = f"Run goldpan {group} -h for help"
        if not group:
            remedy = "Put the options of a command after it; run goldpan -h for help"
            remedy = question(word, [f"--{name.replace('_', '-')}" for name in options]) or remedy
        return UsageError(f"Unknown option: {word}", remedy)
    known = [name for name in error.app if not name.startswith("-")]
    if not group:
        within = [f"goldpan {name}" for name in every if name.endswith(f" {word}")]
        remedy = (ask(within) if within else question(word, known)) or "Run goldpan -h for help"
        return UsageError(f"There is no command {word!r}", remedy)
    near, remedy = suggested(word, known), f"Choose {choices(known)}"
    if group == "build":
        return UnknownNameError(f"There is no dataset {word!r}{near}", remedy)
    return UsageError(f"There is no command '{group} {word}'{near}", remedy)


@dataclass(frozen=True, slots=True)
class HelpText:
    """Prints help as two columns that fit, in plain words; cyclopts' own takes longer."""

    without: str = ""
    """The title of a panel that is left out."""

    def __call__(self, console: object, options: ConsoleOptions, panel: HelpPanel) -> None:
        """Print a title and its rows; what is long on the left stands on a line of its own."""
        if not panel.entries or panel.title == self.without:
            return
        rows = [(_left(entry), _right(entry)) for entry in panel.entries]
        width = max((len(left) for left, _ in rows if len(left) <= _LEFT), default=0)
        lines = [f"\033[1m{panel.title}\033[0m" if sys.stdout.isatty() else str(panel.title)]
        for left, right in rows:
            indent = " " * (width + 4)
            if len(left) > width:
                lines.append(f"  {left}")
            lines += textwrap.wrap(
                right,
                min(options.max_width, _WIDEST),
                initial_indent=indent if len(left) > width else f"  {left:<{width}}  ",
                subsequent_indent=indent,
                break_long_words=False,
            )
        _write("\n".join(lines))

    def render_usage(self, console: object, options: object, usage: Any) -> None:
        """Print how the command is written."""
        _write(f"Usage: {_plain(usage).strip().removeprefix('Usage: ')}")

    def render_description(
        self, console: object, options: ConsoleOptions, description: Any
    ) -> None:
        """Print what the command says of itself, a paragraph after the other."""
        for text in _plain(description).strip().split("\n\n"):
            line = " ".join(text.replace("`", "").split())
            _write(textwrap.fill(line, min(options.max_width, _WIDEST)))


def _left(entry: HelpEntry) -> str:
    if label := entry.positional_label:
        return label if entry.required else f"[{label}]"
    named = None if _OF_TYPE.match(entry.metavar or "") else entry.metavar
    takes = f" {placeholder(entry.type, named)}" if entry.metavar else ""
    return f"{', '.join(entry.all_options)}{takes}"


def _right(entry: HelpEntry) -> str:
    default = "" if entry.default is None else f" [default: {entry.default}]"
    return f"{_plain(entry.description)}{default}"


def _plain(text: Any) -> str:
    text = getattr(text, "primary_renderable", text)
    return "" if text is None else str(text)


def _write(text: str) -> None:
    from goldpan.core.sanitize import printable

    sys.stdout.write(f"{printable(text)}\n\n")

"""The program `goldpan`: its own options, then the command that the words name."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from goldpan._version import __version__
from goldpan.core.errors import UnknownNameError, UsageError, choices, question, suggested
from goldpan.core.log import LogFormat, start_log
from goldpan.core.plugins import removed, use
from goldpan.operations.help import command_help, named_workspace, program_help
from goldpan.operations.signature import read_operation
from goldpan.operations.table import (
    OWN,
    children,
    first_words,
    function_of,
    is_group,
    summary_of,
)

if TYPE_CHECKING:
    import cyclopts

_WITH_VALUE = ("--log-file", "--log-format", "--plugin")
_HELP = ("-h", "--help")
_EXTENDED = ("build",)
"""Groups of which plugins of a workspace are asked."""
GLOBAL_OPTIONS = (
    *_WITH_VALUE,
    "--install-completion",
    "--quiet",
    "--show-completion",
    "--verbose",
    "--version",
)
"""The options of `goldpan` itself, which stand before or after the command."""


def program(
    *,
    version: bool = False,
    verbose: bool = False,
    quiet: bool = False,
    log_format: LogFormat = "plain",
    log_file: Path | None = None,
    plugin: tuple[Path, ...] = (),
    install_completion: bool = False,
    show_completion: bool = False,
) -> None:
    """Turn GitHub history into curated, published, evaluated datasets.

    Args:
        version: Print the version and stop.
        verbose: Also print each request with its status.
        quiet: Print no progress.
        log_format: Progress and errors as plain lines, or as one JSON object per line.
        log_file: Append messages and requests to this file, with secrets masked.
        plugin: A Python file or folder that registers parts (docs/plugins.md); may be
            given several times.
        install_completion: Install completion for the current shell, and stop.
        show_completion: Print the script that completes in the current shell, and stop.
    """
    if version:
        sys.stdout.write(f"goldpan {__version__}\n")
    elif install_completion:
        sys.stdout.write(f"Installed in {whole().install_completion()}\n")
    elif show_completion:
        sys.stdout.write(whole().generate_completion())
    if version or install_completion or show_completion:
        raise SystemExit
    start_log(log_file, verbose=verbose, as_json=log_format == "json")
    for file in plugin:
        use(file)


def run_words(words: Sequence[str]) -> int:
    """Run what a command line names and return its exit code; raises what it raises."""
    first, others = split_words(words)
    if first:
        from goldpan.operations.command import PROGRAM, make_command, run_command

        run_command(make_command(read_operation(program), PROGRAM), first)
    if not others or others[0] in _HELP:
        from goldpan.core.config import use_plugins

        use_plugins(named_workspace(others))
        sys.stdout.write(program_help(read_operation(program)))
        return 0
    _check_names(others)
    before_end = others[: others.index("--")] if "--" in others else others
    if is_group(" ".join(others)) or any(word in before_end for word in _HELP):
        sys.stdout.write(command_help(others))
        return 0
    from goldpan.operations.command import run_command

    return run_command(branch(others), others)


def whole() -> cyclopts.App:
    """Return the program with all its commands."""
    from goldpan.core.config import use_plugins
    from goldpan.operations.command import PROGRAM, make_group

    app = make_group(PROGRAM, read_operation(program).summary)
    use_plugins(None)
    for name in first_words():
        _add(app, name)
    return app


def branch(words: Sequence[str]) -> cyclopts.App:
    """Return the program with the commands that the first words lead to, and only names besides."""
    from goldpan.operations.command import PROGRAM, make_group

    app = make_group(PROGRAM, read_operation(program).summary)
    _add(app, words[0], list(words[1:]))
    return app


def _add(above: cyclopts.App, name: str, words: list[str] | None = None) -> None:
    """Add a command or a group; those of its commands that no word leads to are only names.

    Without words, all commands are added whole.
    """
    from goldpan.operations.command import make_command, make_group

    last = name.rpartition(" ")[2]
    if is_group(name):
        app = make_group(last, summary_of(name))
    else:
        app = make_command(read_operation(function_of(name)), last)
    above.command(app)
    for other in children(name):
        last = other.rpartition(" ")[2]
        if words is None or words[:1] == [last]:
            _add(app, other, words and words[1:])
        else:
            app.command(make_group(last, summary_of(other)))


def _check_names(words: Sequence[str]) -> None:
    """Load the plugins that may bring a command; raises `UsageError` where none has such a name."""
    if words[0] not in OWN or words[0] in _EXTENDED:
        from goldpan.core.config import use_plugins

        use_plugins(named_workspace(words))
    commands = first_words()
    if words[0] not in commands:
        if missing := removed("command", words[0]):
            raise missing
        remedy = question(words[0], commands) or "Run goldpan -h for help"
        if words[0].startswith("-"):
            remedy = "Options of a command stand behind it; run goldpan -h for help"
        raise UsageError(f"There is no command {words[0]!r}", remedy)
    name = words[0]
    for word in words[1:]:
        if not is_group(name) or word.startswith("-"):
            return
        known = [child.rpartition(" ")[2] for child in children(name)]
        if word not in known:
            if missing := removed("command", f"{name} {word}"):
                raise missing
            near, remedy = suggested(word, known), f"Choose {choices(known)}"
            if name in _EXTENDED:
                raise UnknownNameError(f"There is no dataset {word!r}{near}", remedy)
            raise UsageError(f"There is no command '{name} {word}'{near}", remedy)
        name = f"{name} {word}"


def split_words(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the options of `goldpan` itself, which people write anywhere, and the other words.

    What follows `--` stays.
    """
    end = words.index("--") if "--" in words else len(words)
    first: list[str] = []
    others: list[str] = []
    left = iter(words[:end])
    for word in left:
        name, has_value, _ = word.partition("=")
        if name not in GLOBAL_OPTIONS:
            others.append(word)
            continue
        first.append(word)
        if name in _WITH_VALUE and not has_value:
            first += [value for value in [next(left, None)] if value is not None]
    return first, [*others, *words[end:]]

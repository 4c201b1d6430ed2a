"""The program's own options, which stand before or after the command."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Group, Parameter

from goldpan.core.log import LogFormat

EVERYWHERE = Group("Workspace and output", sort_key=98)
OF_PROGRAM = Group("The program, before or after the command", sort_key=99)
"""The program's own options: those that the help of each command names, and the others."""


@Parameter(name="*", group=OF_PROGRAM)
@dataclass(frozen=True, slots=True)
class Launch:
    """What the program's own options say.

    Args:
        workspace: A directory or s3://BUCKET/NAME. (default: goldpan-workspace)
        tasks: A directory with your own tasks. (default: WORKSPACE/tasks)
        json: Print the result as JSON.
        version: Print the version and stop.
        verbose: Also print each request with its status.
        quiet: Print no progress.
        log_format: Progress and errors as plain lines, or as one JSON object per line.
        log_file: Append messages and requests to this file, with secrets masked.
        plugin: A Python file or folder that registers parts (docs/plugins.md).
        install_completion: Install completion for the current shell, and stop.
        show_completion: Print the script that completes in the current shell, and stop.
    """

    workspace: Annotated[Path | None, Parameter(group=EVERYWHERE)] = None
    tasks: Annotated[Path | None, Parameter(group=EVERYWHERE)] = None
    json: Annotated[bool, Parameter(group=EVERYWHERE)] = False
    version: bool = False
    verbose: bool = False
    quiet: bool = False
    log_format: LogFormat = "plain"
    log_file: Path | None = None
    plugin: Sequence[Path] = ()
    install_completion: bool = False
    show_completion: bool = False


AS_SET = Launch()

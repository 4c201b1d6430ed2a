"""Goldpan's command line in processes that can be killed, at a pace for tests."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import fields
from pathlib import Path

from goldpan import cli
from goldpan.miners.github.limits import Pace
from tests import program
from tests.mining import PACE, TOKEN
from tests.openai_server import KEY
from tests.program import Done, Running

_MAIN = "from tests.chaos.commands import main; main()"


def start(
    arguments: Sequence[str], directory: Path, api: str, *, room: int | None = None, place: str = ""
) -> AbstractContextManager[Running]:
    """Start a command in a directory; with `room` no file may grow beyond so many bytes."""
    secrets = {"GITHUB_TOKEN": TOKEN, "OPENAI_API_KEY": KEY}
    environment = {**os.environ, **secrets, "GOLDPAN_API_URL": api, "COLUMNS": "200"}
    return program.start(
        *arguments, folder=directory, environment=environment, program=_MAIN, room=room, place=place
    )


def run(arguments: Sequence[str], directory: Path, api: str, *, room: int | None = None) -> Done:
    """Run a command to its end."""
    with start(arguments, directory, api, room=room) as running:
        return running.wait(sweep=True)


def main() -> None:
    """Be the command."""
    pace = tuple(getattr(PACE, part.name) for part in fields(Pace))
    setattr(Pace.__init__, "__defaults__", pace)  # noqa: B010 - mypy knows no such name
    cli.main()

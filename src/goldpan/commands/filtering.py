"""Options of commands that typer still parses."""

from __future__ import annotations

from typing import Annotated

import typer

ProfileName = Annotated[
    str, typer.Option("--profile", help="default, faun-eval, or the path of your own .toml file.")
]
RulesName = Annotated[
    str, typer.Option("--rules", help="The rules whose pairs to use: default, faun-eval...")
]

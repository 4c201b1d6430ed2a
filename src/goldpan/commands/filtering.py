"""Commands that judge issues and fix pairs, and explain the verdicts."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from goldpan.commands.shared import Directory, Json, print_result, settings_of
from goldpan.explain import explain
from goldpan.show import explaining
from goldpan.workspace import Workspace


def why(
    subject: Annotated[str, typer.Argument(help="OWNER/NAME#NUMBER")],
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Explain one issue or pull request: references, signals, pairs, and the raw replies."""
    place = Workspace(settings_of(workspace=workspace).workspace)
    found = explain(place, subject)
    print_result(json, asdict(found), lambda: explaining.explanation(found))

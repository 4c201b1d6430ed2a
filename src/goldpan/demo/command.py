"""The command that runs the whole pipeline offline."""

from __future__ import annotations

from pathlib import Path

from goldpan.commands.shared import Directory, reporting, settings_of


def demo(workspace: Directory = None) -> None:
    """Run the whole pipeline offline on a small repository that ships with Goldpan."""
    from goldpan.demo.pipeline import run_demo

    settings = settings_of(workspace=workspace or Path("demo-workspace"))
    with reporting(False) as reporter:
        run_demo(settings, reporter)

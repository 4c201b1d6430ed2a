"""`goldpan demo`, which imports what it needs when it is called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from goldpan.workspace.workspace import Workspace

if TYPE_CHECKING:
    from goldpan.demo.pipeline import DemoResult


def demo(lab: Workspace) -> DemoResult:
    """Run the whole pipeline offline on two small repositories that ship with Goldpan.

    Without --workspace it is demo-workspace.

    Example: goldpan demo
    """
    from goldpan.demo.pipeline import run_demo

    return run_demo(lab if "workspace" in lab.given else lab.opened("demo-workspace"))

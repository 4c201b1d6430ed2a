"""Circles of imports between files: `python -m tests.file_circles`, which `make check` runs.

An import counts in whatever block it stands: within a function, and for type checkers alone.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from tests.places import ROOT

SOURCE = ROOT / "src" / "goldpan"


def find_circle(folder: Path = SOURCE) -> list[str]:
    """Return the modules of a circle, the first of them once more at its end; none is empty."""
    modules = _modules(folder)
    try:
        TopologicalSorter({name: _imported(name, modules) for name in modules}).prepare()
    except CycleError as error:
        circle: list[str] = error.args[1]
        return circle[::-1]
    return []


def _modules(folder: Path) -> dict[str, Path]:
    paths = {path.relative_to(folder.parent).with_suffix(""): path for path in folder.rglob("*.py")}
    return {".".join(name.parts).removesuffix(".__init__"): path for name, path in paths.items()}


def _imported(name: str, modules: Mapping[str, Path]) -> set[str]:
    """Return the modules of the package that a module imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(modules[name].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            below = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (below & modules.keys()) or {node.module}
    return found & modules.keys() - {name}


if __name__ == "__main__":
    sys.exit(" -> ".join(find_circle()) or 0)

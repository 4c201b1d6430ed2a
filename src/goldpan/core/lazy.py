"""Names of a module that are imported when they are first used, as its stub file tells them."""

from __future__ import annotations

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def lazily(module: dict[str, Any]) -> Callable[[str], object]:
    """Return the `__getattr__` of a module, given its `globals()`.

    Its names are those that the stub beside it, the same file as ``.pyi``, imports; type checkers
    read the same stub.
    """
    stub = Path(module["__file__"]).with_suffix(".pyi")
    places = {
        alias.asname or alias.name: (str(node.module), alias.name)
        for node in ast.parse(stub.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    def get(name: str) -> object:
        if name not in places:
            raise AttributeError(f"module {module['__name__']!r} has no attribute {name!r}")
        place, there = places[name]
        module[name] = getattr(import_module(place), there)
        return module[name]

    module["__all__"] = sorted(places)
    return get

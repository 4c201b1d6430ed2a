"""Ways to obtain the cells of a table, by the names that recipes use.

Each is a module here with a function `compute(context, table, settings)` that yields outcomes
(`context.Compute`); its name in recipes has hyphens in place of underscores.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from importlib import import_module

from goldpan.core.registry import Registry
from goldpan.reproduce.context import Compute


def _own() -> Mapping[str, Compute]:
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return {name.replace("_", "-"): import_module(f"{__name__}.{name}").compute for name in names}


COMPUTATIONS = Registry("computation", _own, "computation", lambda item: item[0])
find_computation = COMPUTATIONS.find
"""Return the computation of that name; raises `UsageError` that lists those there are."""

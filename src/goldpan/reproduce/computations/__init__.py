"""Ways to obtain the cells of a table, by the names that recipes use.

Each is a module here with a function `compute(context, table, settings)` that yields outcomes
(`context.Compute`); its name in recipes has hyphens in place of underscores.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module

from goldpan.core.errors import UsageError
from goldpan.core.suggest import question
from goldpan.reproduce.context import Compute


def computations() -> list[str]:
    """Return the names of all computations, sorted."""
    return sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__))


def find_computation(name: str) -> Compute:
    """Return the computation of that name; raises `UsageError` that lists those there are."""
    available = computations()
    if name not in available:
        raise UsageError(
            f"A recipe asks for the computation {name!r}, which does not exist",
            f"{question(name, available)} Choose {', '.join(available)}".lstrip(),
        )
    module = import_module(f"{__name__}.{name.replace('-', '_')}")
    compute: Compute = module.compute
    return compute

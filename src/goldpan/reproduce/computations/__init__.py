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

_OF_PAPERS = {
    "comment-competition": "goldpan.papers.nlbse.comment_competition:score",
    "comment-forests": "goldpan.papers.nlbse.comment_competition:forests",
}


def _modules() -> Mapping[str, str]:
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    shipped = {name.replace("_", "-"): f"{__name__}.{name}:compute" for name in names}
    return {**shipped, **_OF_PAPERS}


COMPUTATIONS = Registry("computation", _modules)


def find_computation(name: str) -> Compute:
    """Return the computation of that name; raises `UsageError` that lists those there are."""
    module, _, function = COMPUTATIONS.find(name).partition(":")
    compute: Compute = getattr(import_module(module), function)
    return compute

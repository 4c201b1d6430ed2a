"""Finds the criteria: each module in `issues/`, `discussions/` and `pairs/` has one `CRITERION`.

Plugins register others.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from goldpan.core.registry import Registry
from goldpan.filters import discussions, issues, pairs
from goldpan.filters.criterion import KEYS, AnyCriterion


@cache
def _shipped() -> dict[str, AnyCriterion]:
    criteria = [
        import_module(f"{package.__name__}.{module.name}").CRITERION
        for package in (issues, discussions, pairs)
        for module in iter_modules(package.__path__)
    ]
    return {criterion.name: criterion for criterion in criteria}


CRITERIA = Registry(
    "criterion",
    _shipped,
    "criterion",
    order=lambda item: list(KEYS).index(item[1].subject),
    remedy="Run goldpan filter --list to see all criteria",
)
"""Those that judge issues come first."""
criteria = CRITERIA.entries

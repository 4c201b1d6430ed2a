"""Finds the criteria: each module in `issues/` and `pairs/` holds one, called `CRITERION`."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from goldpan.filters import issues, pairs
from goldpan.filters.criterion import AnyCriterion


@cache
def criteria() -> dict[str, AnyCriterion]:
    """Return all criteria by name, those that judge issues first."""
    found = [
        import_module(f"{package.__name__}.{module.name}").CRITERION
        for package in (issues, pairs)
        for module in iter_modules(package.__path__)
    ]
    return {criterion.name: criterion for criterion in found}

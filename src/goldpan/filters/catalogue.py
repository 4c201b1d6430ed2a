"""Finds the criteria: each module in `issues/` and `pairs/` holds one, called `CRITERION`.

Plugins register others.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from goldpan.core.plugins import with_plugins
from goldpan.filters import issues, pairs
from goldpan.filters.criterion import AnyCriterion


def criteria() -> dict[str, AnyCriterion]:
    """Return all criteria by name, those that judge issues first."""
    criteria_by_name = with_plugins(_shipped(), "criterion")
    return dict(sorted(criteria_by_name.items(), key=lambda item: item[1].subject))


@cache
def _shipped() -> dict[str, AnyCriterion]:
    criteria = [
        import_module(f"{package.__name__}.{module.name}").CRITERION
        for package in (issues, pairs)
        for module in iter_modules(package.__path__)
    ]
    return {criterion.name: criterion for criterion in criteria}

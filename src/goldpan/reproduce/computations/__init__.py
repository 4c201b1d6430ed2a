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
    "built-datasets": "goldpan.papers.faun_eval.built_datasets",
    "ecser-steps": "goldpan.papers.ecser.steps",
    "issue-solving-runs": "goldpan.papers.faun_eval.issue_solving_runs",
    "requirement-sets": "goldpan.papers.ecser.requirement_sets",
}


def _modules() -> Mapping[str, str]:
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return {**{name.replace("_", "-"): f"{__name__}.{name}" for name in names}, **_OF_PAPERS}


COMPUTATIONS = Registry("computation", _modules)


def find_computation(name: str) -> Compute:
    """Return the computation of that name; raises `UsageError` that lists those there are."""
    compute: Compute = import_module(COMPUTATIONS.find(name)).compute
    return compute

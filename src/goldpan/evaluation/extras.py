"""Loads the packages that models need, which extras install."""

from __future__ import annotations

from typing import Any

from goldpan.core import extras
from goldpan.core.errors import EvaluationError


def load(module: str) -> Any:
    """Return a module of an extra; raises `EvaluationError` that names what to install."""
    return extras.load(module, "This model", EvaluationError)

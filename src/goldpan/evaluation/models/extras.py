"""Loads packages that an extra installs: mining must not pay for them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from goldpan.core.errors import EvaluationError

_EXTRAS = {
    "sklearn": "evaluation",
    "scipy": "evaluation",
    "xgboost": "evaluation",
    "deepspeed": "training",
    "peft": "training",
    "torch": "training",
    "transformers": "training",
}


def load(module: str) -> Any:
    """Return a module of an extra; raises `EvaluationError` that names what to install.

    These packages have no types that a strict check accepts, hence `Any`.
    """
    try:
        return import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise EvaluationError(
            f"This model needs {package}, which is not installed",
            f'Run pip install "goldpan[{_EXTRAS[package]}]"',
        ) from None

"""Packages that an extra installs: most work must not pay for them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from goldpan.core.errors import GoldpanError, UsageError

DISTRIBUTION = "goldpan-mining"
"""What package indexes call Goldpan; `goldpan` is somebody else's package there."""
EXTRAS = {
    "deepspeed": "training",
    "matplotlib": "plots",
    "obstore": "remote",
    "openai": "review",
    "openpyxl": "xlsx",
    "peft": "training",
    "ray": "ray",
    "scipy": "statistics",
    "sklearn": "evaluation",
    "spacy": "nlp",
    "torch": "training",
    "transformers": "training",
    "tree_sitter_julia": "languages",
    "tree_sitter_kotlin": "languages",
    "tree_sitter_lua": "languages",
    "tree_sitter_scala": "languages",
    "tree_sitter_swift": "languages",
    "uv": "verify",
    "xgboost": "evaluation",
    "xlrd": "xlsx",
}
"""The extra that installs a package, by the name under which it is imported."""


def install_remedy(package: str) -> str:
    """Return what to do where a package of an extra is missing."""
    return f'Run pip install "{DISTRIBUTION}[{EXTRAS[package]}]"'


def load(module: str, user: str, error: type[GoldpanError] = UsageError) -> Any:
    """Return a module of an extra; raises `error`, which names who needs it and what to install.

    Most of these packages have no types that a strict check accepts, hence `Any`.
    """
    try:
        return import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        if package not in EXTRAS:
            raise
        raise error(
            f"{user} needs {package}, which is not installed", install_remedy(package)
        ) from None

"""Checks settings of models before anything runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from goldpan.core.errors import UsageError


def require_choice(
    model: str, settings: Mapping[str, Any], name: str, choices: Collection[str]
) -> None:
    """Raise `UsageError` where a setting is none of those that are known."""
    if settings[name] not in choices:
        raise UsageError(
            f"{name} of the model {model} cannot be {settings[name]!r}",
            f"Choose {', '.join(choices)}",
        )


def require_least(model: str, settings: Mapping[str, Any], **least: int) -> None:
    """Raise `UsageError` where a number is below what makes sense."""
    for name, value in least.items():
        if settings[name] < value:
            raise UsageError(
                f"{name} of the model {model} cannot be {settings[name]}", f"Give {value} or more"
            )

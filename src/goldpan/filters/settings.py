"""Checks settings whose values are words from a short list."""

from __future__ import annotations

from goldpan.core.errors import UsageError


def require(setting: str, value: str, choices: tuple[str, ...]) -> None:
    """Raise `UsageError` if a setting's value is none of its choices."""
    if value not in choices:
        raise UsageError(
            f"The filter setting {setting} = {value!r} is unknown", f"Choose {' or '.join(choices)}"
        )

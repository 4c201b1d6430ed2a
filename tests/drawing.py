"""How many examples a property test draws."""

from __future__ import annotations

from hypothesis import settings

_USUAL = 100


def examples(count: int) -> settings:
    """Draw so many examples in `make test`, and as many times more as others in `make nightly`."""
    return settings(max_examples=max(1, count * settings().max_examples // _USUAL))

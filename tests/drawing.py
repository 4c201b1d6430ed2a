"""How many examples a property test draws, and which cases of a test are run daily."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import settings

_USUAL = 100


def examples(count: int) -> settings:
    """Draw so many examples in `make test`, and as many times more as others in `make nightly`."""
    return settings(max_examples=max(1, count * settings().max_examples // _USUAL))


def daily(chosen: Iterable[object], others: Iterable[object]) -> list[object]:
    """Return cases for `parametrize`: those chosen, and others that `make nightly` alone runs."""
    return [*chosen, *(pytest.param(case, marks=pytest.mark.nightly) for case in others)]

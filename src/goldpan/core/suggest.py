"""What a mistyped name was probably meant to be."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def suggested(name: str, known: Iterable[str], most: int = 1) -> str:
    """Return `` (did you mean NAME?)`` with the known names nearest to `name`, or nothing."""
    asked = question(name, known, most)
    return f" ({asked[0].lower()}{asked[1:]})" if asked else ""


def question(name: str, known: Iterable[str], most: int = 1, cutoff: float = 0.6) -> str:
    """Return ``Did you mean NAME?`` with the known names nearest to `name`, or nothing.

    Case does not count, nor do hyphens for underscores; at most so many names are offered, of at
    least this likeness.
    """
    by_name = {_folded(one): one for one in known}
    near = get_close_matches(_folded(name), by_name, n=most, cutoff=cutoff)
    return f"Did you mean {choices(by_name[key] for key in near)}?" if near else ""


def _folded(name: str) -> str:
    return name.casefold().replace("_", "-")


def choices(names: Iterable[str]) -> str:
    """Return names as a choice between them: ``a, b or c``."""
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last

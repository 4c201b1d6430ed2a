"""What a mistyped name was probably meant to be."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def suggested(name: str, known: Iterable[str]) -> str:
    """Return `` (did you mean NAME?)`` with the known name nearest to `name`, or nothing."""
    near = get_close_matches(name, list(known), n=1)
    return f" (did you mean {near[0]}?)" if near else ""


def question(name: str, known: Iterable[str], most: int = 1, cutoff: float = 0.6) -> str:
    """Return ``Did you mean NAME?`` with the known names nearest to `name`, or nothing.

    Case is ignored; at most so many names are offered, of at least this likeness.
    """
    by_name = {one.casefold(): one for one in known}
    near = get_close_matches(name.casefold(), by_name, n=most, cutoff=cutoff)
    return f"Did you mean {choices(by_name[key] for key in near)}?" if near else ""


def choices(names: Iterable[str]) -> str:
    """Return names as a choice between them: ``a, b or c``."""
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last

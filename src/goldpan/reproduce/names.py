"""Names that users write: of tables, tasks and models of a recipe."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from goldpan.core.errors import UsageError


def split_names(arguments: Sequence[str]) -> tuple[str, ...]:
    """Return the names in arguments such as `a,b` and `c`, each once, in order."""
    names = (name.strip() for argument in arguments for name in argument.split(","))
    return tuple(dict.fromkeys(name for name in names if name))


def unknown_name(recipe: str, noun: str, name: str, choices: Sequence[str]) -> UsageError:
    """Return the error for a name that a recipe has not, with the nearest that it has."""
    lower = {entry.lower(): entry for entry in choices}
    near = get_close_matches(name.lower(), list(lower), n=1)
    hint = f"Did you mean {lower[near[0]]}? " if near else ""
    choice = f"Choose {', '.join(choices)}" if choices else "Leave it out"
    return UsageError(f"The recipe {recipe} has no {noun} {name!r}", f"{hint}{choice}")

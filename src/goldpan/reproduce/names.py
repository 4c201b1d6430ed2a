"""Names that users write: of tables, tasks and models of a recipe."""

from __future__ import annotations

from collections.abc import Sequence

from goldpan.core.errors import UsageError
from goldpan.core.suggest import question


def split_names(arguments: Sequence[str]) -> tuple[str, ...]:
    """Return the names in arguments such as `a,b` and `c`, each once, in order."""
    names = (name.strip() for argument in arguments for name in argument.split(","))
    return tuple(dict.fromkeys(name for name in names if name))


def unknown_name(recipe: str, noun: str, name: str, choices: Sequence[str]) -> UsageError:
    """Return the error for a name that a recipe has not, with the nearest that it has."""
    choice = f"Choose {', '.join(choices)}" if choices else "Leave it out"
    return UsageError(
        f"The recipe {recipe} has no {noun} {name!r}",
        f"{question(name, choices)} {choice}".lstrip(),
    )

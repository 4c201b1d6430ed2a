"""Names that users write: of tables, tasks and models of a recipe."""

from __future__ import annotations

from collections.abc import Sequence


def split_names(arguments: Sequence[str]) -> tuple[str, ...]:
    """Return the names in arguments such as `a,b` and `c`, each once, in order."""
    names = (name.strip() for argument in arguments for name in argument.split(","))
    return tuple(dict.fromkeys(name for name in names if name))

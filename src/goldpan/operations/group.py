"""Operations of a workspace that are called by two words, such as `Workspace.annotate.push`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from goldpan.core.plugin_parts import imported
from goldpan.operations.table import every_command

if TYPE_CHECKING:
    from goldpan.operations.signature import Operation
    from goldpan.operations.workspace import Workspace


class Group:
    """Operations of one workspace; a subclass has them as methods.

    Commands that papers and plugins add to its words are methods, too.
    """

    words: ClassVar[str] = ""
    """Of the group, on the command line."""

    def __init__(self, lab: Workspace) -> None:
        self.lab = lab

    def __getattr__(self, name: str) -> Any:
        return added_method(self.lab, f"{self.words} {name}", self)


def added_method(lab: Workspace, words: str, owner: object) -> Any:
    """Return the operation, or the group, that was registered under the words of a command.

    Raises `AttributeError` where there is none.
    """
    name = words.strip().rstrip("_").replace("_", "-")
    command = None if name.rpartition(" ")[2].startswith("-") else every_command().get(name)
    if command is None:
        last = words.rpartition(" ")[2]
        raise AttributeError(f"{type(owner).__name__!r} object has no attribute {last!r}")
    return imported(command.group)(lab) if command.group else partial(command.function, lab)


def owner_of(operation: Operation, lab: Workspace) -> object:
    """Return the workspace, or the group of it that has the operation as a method.

    A method of `Dataset` has the workspace, too: it opens the dataset.
    """
    if operation.owner in ("Workspace", "Dataset"):
        return lab
    (kind,) = (kind for kind in every_group() if kind.__name__ == operation.owner)
    return kind(lab)


def every_group(kind: type[Group] = Group) -> Iterator[type[Group]]:
    """Yield the groups of operations that are loaded."""
    yield kind
    for below in kind.__subclasses__():
        yield from every_group(below)

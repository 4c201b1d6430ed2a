"""Changes to the files of a repository, told as texts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Tree = dict[str, bytes]
Change = Callable[[Tree], None]


@dataclass(frozen=True, slots=True)
class Work:
    """What a pull request changes, one change for each of its commits.

    `behind` is how many commits its base branch had gained since the work branched off.
    """

    commits: tuple[Change, ...]
    squash: bool = False
    behind: int = 0


def files(text: str) -> Tree:
    """Return the files that a text holds; ``@ PATH`` begins each."""
    parts = text.lstrip().removeprefix("@ ").split("\n@ ")
    named = (part.partition("\n") for part in parts)
    return {path: body.rstrip().encode() + b"\n" for path, _, body in named}


def diff(text: str) -> Change:
    """Return the change that a diff without line numbers tells; ``@ PATH`` begins a file."""
    edits = []
    for section in text.lstrip().removeprefix("@ ").split("\n@ "):
        path, _, body = section.rstrip("\n").partition("\n")
        lines = [(line[:1] or " ", line[1:] + "\n") for line in body.split("\n")]
        old = "".join(line for mark, line in lines if mark != "+")
        new = "".join(line for mark, line in lines if mark != "-")
        edits.append(edit(path, old, new) if old else write(path, new.encode()))
    return together(*edits)


def edit(path: str, old: str, new: str) -> Change:
    """Return the change of a passage that stands exactly once in a file."""

    def change(tree: Tree) -> None:
        text = tree[path].decode()
        if text.count(old) != 1:
            raise ValueError(f"{path} holds {text.count(old)} times {old!r}")
        tree[path] = text.replace(old, new).encode()

    return change


def write(path: str, content: bytes) -> Change:
    """Return the change that adds a file."""
    return lambda tree: tree.update({path: content})


def remove(path: str) -> Change:
    """Return the change that deletes a file."""
    return lambda tree: tree.__delitem__(path)


def move(old: str, new: str) -> Change:
    """Return the change that renames a file."""
    return lambda tree: tree.update({new: tree.pop(old)})


def together(*changes: Change) -> Change:
    """Return several changes as one."""

    def change(tree: Tree) -> None:
        for step in changes:
            step(tree)

    return change

"""The code of a made-up library: its first version, and what its pull requests change in it.

Both are texts: ``@ PATH`` begins a file. A change is a diff without line numbers below
``=== TITLE``, where ``squash`` and ``behind N`` may stand; ``@ PATH -> NEW`` renames a file,
``@ - PATH`` deletes it, and ``---`` begins another commit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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


@dataclass(frozen=True, slots=True)
class Code:
    """The files of the first commit by path, and what is done under each title."""

    first: Tree
    works: Mapping[str, Work]

    def work_on(self, title: str, number: int, commits: int) -> Work:
        """Return what is done under a title; where nothing is told, a note with each commit."""
        if title in self.works:
            return self.works[title]
        names = (f"docs/notes/{number}-{index}.md" for index in range(commits))
        return Work(tuple(write(name, f"# {title}\n".encode()) for name in names))


def files(text: str) -> Tree:
    """Return the files that a text holds."""
    parts = (part.partition("\n") for part in _sections(text))
    return {path: body.rstrip().encode() + b"\n" for path, _, body in parts}


def _sections(text: str) -> list[str]:
    return text.lstrip().removeprefix("@ ").split("\n@ ")


def read_works(text: str) -> dict[str, Work]:
    """Return what a text does under each title."""
    works = {}
    for part in text.removeprefix("=== ").split("\n=== "):
        title, _, body = part.partition("\n")
        options, mark, changes = body.partition("@ ")
        commits = tuple(map(diff, (mark + changes).split("\n---\n")))
        _, _, behind = options.partition("behind ")
        works[title] = Work(commits, "squash" in options, int(behind or 0))
    return works


def diff(text: str) -> Change:
    """Return the change that a diff tells."""
    edits = []
    for section in _sections(text):
        path, _, body = section.rstrip("\n").partition("\n")
        old_path, _, path = path.rpartition(" -> ")
        if old_path:
            edits.append(move(old_path, path))
        if path.startswith("- "):
            edits.append(remove(path.removeprefix("- ")))
            continue
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
    """Return the change that writes a file."""
    return lambda tree: tree.update({path: content})


def remove(path: str) -> Change:
    """Return the change that deletes a file."""
    return lambda tree: tree.__delitem__(path)


def move(old: str, new: str) -> Change:
    """Return the change that renames a file."""
    return lambda tree: tree.update({new: tree.pop(old)})


def together(*changes: Change) -> Change:
    """Return all changes as one."""

    def change(tree: Tree) -> None:
        for step in changes:
            step(tree)

    return change

"""The code of the made-up library `sluice`, and what its pull requests change in it.

Both are texts in `sluice_texts/`: ``@ PATH`` begins a file. A change is a diff without line numbers
below ``=== TITLE``, where ``squash`` and ``behind N`` may stand; ``@ PATH -> NEW`` renames a file,
``@ - PATH`` deletes it, and ``---`` begins another commit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

Tree = dict[str, bytes]
Change = Callable[[Tree], None]

_TEXTS = Path(__file__).parent / "sluice_texts"
_PARTS = [f"src/sluice/part_{index:03}.py" for index in range(120)]
_LICENCE = "# Copyright the sluice authors\n# SPDX-License-Identifier: MIT\n"


@dataclass(frozen=True, slots=True)
class Work:
    """What a pull request changes, one change for each of its commits.

    `behind` is how many commits its base branch had gained since the work branched off.
    """

    commits: tuple[Change, ...]
    squash: bool = False
    behind: int = 0


def work_on(title: str, number: int, commits: int) -> Work:
    """Return what is done under a title; where nothing is told, a note with each commit."""
    if title in _WORKS:
        return _WORKS[title]
    names = (f"docs/notes/{number}-{index}.md" for index in range(commits))
    return Work(tuple(_write(name, f"# {title}\n".encode()) for name in names))


def first_version() -> Tree:
    """Return the files of the first commit by path."""
    text = (_TEXTS / "first_version.txt").read_text(encoding="utf-8")
    tree = files(text)
    tree["src/sluice/console.py"] = tree["src/sluice/console.py"].replace(b"\n", b"\r\n")
    tree["src/sluice/units.py"] = tree["src/sluice/units.py"].rstrip()
    return {
        **tree,
        **{path: f"PART = {index}\n".encode() for index, path in enumerate(_PARTS)},
        "docs/changes.txt": b"0.3 Sieves\n0.2 Readers\n0.1 Nothing",
        "scripts/sieve.bat": b"@echo off\r\npython -m sluice %1\r\nexit /b\r\n",
    }


def files(text: str) -> Tree:
    """Return the files that a text holds."""
    parts = (part.partition("\n") for part in _sections(text))
    return {path: body.rstrip().encode() + b"\n" for path, _, body in parts}


def _sections(text: str) -> list[str]:
    return text.lstrip().removeprefix("@ ").split("\n@ ")


def diff(text: str) -> Change:
    """Return the change that a diff tells."""
    edits = []
    for section in _sections(text):
        path, _, body = section.rstrip("\n").partition("\n")
        old_path, _, path = path.rpartition(" -> ")
        if old_path:
            edits.append(_move(old_path, path))
        if path.startswith("- "):
            edits.append(_remove(path.removeprefix("- ")))
            continue
        lines = [(line[:1] or " ", line[1:] + "\n") for line in body.split("\n")]
        old = "".join(line for mark, line in lines if mark != "+")
        new = "".join(line for mark, line in lines if mark != "-")
        edits.append(_edit(path, old, new) if old else _write(path, new.encode()))
    return _together(*edits)


def _edit(path: str, old: str, new: str) -> Change:
    """Return the change of a passage that stands exactly once in a file."""

    def change(tree: Tree) -> None:
        text = tree[path].decode()
        if text.count(old) != 1:
            raise ValueError(f"{path} holds {text.count(old)} times {old!r}")
        tree[path] = text.replace(old, new).encode()

    return change


def _write(path: str, content: bytes) -> Change:
    return lambda tree: tree.update({path: content})


def _remove(path: str) -> Change:
    return lambda tree: tree.__delitem__(path)


def _move(old: str, new: str) -> Change:
    return lambda tree: tree.update({new: tree.pop(old)})


def _together(*changes: Change) -> Change:
    def change(tree: Tree) -> None:
        for step in changes:
            step(tree)

    return change


def _read_works() -> dict[str, Work]:
    works = {}
    text = (_TEXTS / "changes.txt").read_text(encoding="utf-8")
    for part in text.removeprefix("=== ").split("\n=== "):
        title, _, body = part.partition("\n")
        options, mark, changes = body.partition("@ ")
        commits = tuple(map(diff, (mark + changes).split("\n---\n")))
        _, _, behind = options.partition("behind ")
        works[title] = Work(commits, "squash" in options, int(behind or 0))
    logo = _write("docs/logo.png", b"\x89PNG\r\n\x1a\n" + bytes(range(64)))
    moved = works["Rearrange the files"]
    works["Rearrange the files"] = Work((_together(*moved.commits, logo),))
    return works


_WORKS: Mapping[str, Work] = {
    **_read_works(),
    "Add licence headers": Work(
        tuple(
            _together(
                *(_edit(path, "PART", _LICENCE + "PART") for path in _PARTS[start : start + 40])
            )
            for start in (0, 40, 80)
        )
    ),
    "Draw the rule as wide as the table": Work(
        (
            _edit(
                "src/sluice/console.py",
                '"-" * sum(widths)',
                '"-+-".join("-" * width for width in widths)',
            ),
        )
    ),
    "Read sizes without a unit": Work(
        (
            _edit(
                "src/sluice/units.py",
                "    number, unit = text[:-1], text[-1]\n    return int(number) << _BITS[unit]",
                "    if text[-1:].isdigit():\n        return int(text)\n"
                "    return int(text[:-1]) << _BITS[text[-1]]",
            ),
        )
    ),
    "Spring cleaning": Work(
        (
            _together(
                _edit("docs/changes.txt", "Nothing", "Almost nothing"),
                _edit("scripts/sieve.bat", "sluice %1\r\n", "sluice %*\r\n"),
                _edit("src/sluice/corner.py", "if row is not None", "if row"),
                _remove("src/sluice/legacy.py"),
                _move("src/sluice/util.py", "src/sluice/text.py"),
                _write("tests/data/dust.gz", b"\x1f\x8b\x08" + bytes(7) + b"\x03" + bytes(9)),
            ),
        ),
        behind=1,
    ),
}
"""What is done under each title; a stale version is mended without a pull request."""

"""Draws the folders around a file, as a tree."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Branch:
    """One line of a drawn tree."""

    lines: str
    """The lines that lead to the name."""
    name: str
    changed: bool = False


@dataclass(frozen=True, slots=True)
class _Entry:
    name: str
    folder: bool

    @property
    def label(self) -> str:
        return f"{self.name}/" if self.folder else self.name


def draw_around(paths: Iterable[str], changed: str, others: int = 5) -> list[Branch]:
    """Draw the folders that lead to a file, each with at most `others` of its other entries."""
    above: list[Branch] = []
    below: list[Branch] = []
    inside, indent = list(paths), ""
    way = changed.split("/")
    for depth, ours in enumerate(way):
        entries = _entries(inside)
        at = entries.index(_Entry(ours, depth < len(way) - 1))
        # Neighbours of the way tell more than the first entries of a long folder.
        start = max(0, min(at - others // 2, len(entries) - others - 1))
        end = min(len(entries), start + others + 1)
        branches = [Branch(f"{indent}├── ", f"… {start:,} more")] if start else []
        branches += [Branch(f"{indent}├── ", entry.label) for entry in entries[start:end]]
        if end < len(entries):
            branches.append(Branch(f"{indent}├── ", f"… {len(entries) - end:,} more"))
        branches[-1] = replace(branches[-1], lines=f"{indent}└── ")
        ours_at = at - start + bool(start)
        if depth == len(way) - 1:
            branches[ours_at] = replace(branches[ours_at], changed=True)
        above += branches[: ours_at + 1]
        below = branches[ours_at + 1 :] + below
        inside = [path[len(ours) + 1 :] for path in inside if path.startswith(f"{ours}/")]
        indent += "│   " if branches[ours_at + 1 :] else "    "
    return above + below


def _entries(paths: Iterable[str]) -> list[_Entry]:
    """Return what a folder holds, in the order of dataset trees: folders among files."""
    entries = {_Entry(path.split("/", 1)[0], "/" in path) for path in paths}
    return sorted(entries, key=lambda entry: (entry.name, entry.folder))

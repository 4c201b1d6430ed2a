"""Workspaces of Goldpan that hold what a paper's tables are computed from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from goldpan.core.workspace import Workspace
from goldpan.reproduce.context import Context

_SIGNS = ("datasets", "runs", "tables")


def workspaces(context: Context) -> Iterator[Workspace]:
    """Yield the folders that are workspaces: of the data, of this paper, and the user's own.

    The first two count with the folders in them, as the plan of a paper makes its workspace beside
    itself.
    """
    folders: list[Path] = []
    for root in (context.data.root, context.directory):
        if root.is_dir():
            folders += [root, *sorted(path for path in root.iterdir() if path.is_dir())]
    seen: set[Path] = set()
    for folder in (*folders, context.workspace.root):
        if (resolved := folder.resolve()) in seen:
            continue
        seen.add(resolved)
        if any((folder / sign).is_dir() for sign in _SIGNS):
            yield Workspace(folder)

"""Workspaces of Goldpan that hold what a paper's tables are computed from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from goldpan.core.workspace import Workspace
from goldpan.reproduce.context import Context

_SIGNS = ("datasets", "runs", "tables")


def workspaces(context: Context) -> Iterator[Workspace]:
    """Yield the data folder, the folders in it and the user's workspace, where they are one."""
    folders = [context.data.root]
    if context.data.root.is_dir():
        folders += sorted(path for path in context.data.root.iterdir() if path.is_dir())
    seen: set[Path] = set()
    for folder in (*folders, context.workspace.root):
        if (resolved := folder.resolve()) in seen:
            continue
        seen.add(resolved)
        if any((folder / sign).is_dir() for sign in _SIGNS):
            yield Workspace(folder)

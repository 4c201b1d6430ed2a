"""Which workspace, and which of its repositories, a stage is to work on."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from goldpan.core.config import repository_name
from goldpan.core.errors import UsageError, WorkspaceError
from goldpan.core.workspace import Workspace as Layout


def known_repositories(layout: Layout, repos: Iterable[str] | None, below: str) -> list[str]:
    """Return the named repositories, else all of the workspace; `below` is raw or tables.

    Raises `UsageError` for a name that is none, `WorkspaceError` for one that is not there.
    """
    there = layout.repositories(below)
    names = list(dict.fromkeys(map(repository_name, repos or ()))) or there
    if not names:
        raise WorkspaceError(
            f"{layout.root} holds no repository", "Run goldpan mine --repo OWNER/NAME"
        )
    for name in names:
        if name.lower() not in there:
            raise WorkspaceError(f"{layout.root} does not hold {name}", _how_to_get(name, there))
    return names


def existing_layout(layout: Layout) -> Layout:
    """Return the layout of a workspace that is there; raises `UsageError` where there is none."""
    if not layout.root.is_dir():
        raise UsageError(f"There is no workspace {layout.root}", "Give its directory")
    return layout


def _how_to_get(name: str, there: list[str]) -> str:
    near = get_close_matches(name.lower(), there, n=1)
    return f"Did you mean {near[0]}" if near else f"Run goldpan mine --repo {name}"

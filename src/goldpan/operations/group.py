"""Operations of a workspace that are called by two words, such as `Workspace.annotate.push`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from goldpan.operations.workspace import Workspace


class Group:
    """Operations of one workspace; a subclass has them as methods."""

    def __init__(self, lab: Workspace) -> None:
        self.lab = lab

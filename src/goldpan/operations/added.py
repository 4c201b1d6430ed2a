"""Builders that papers add to `Build`, for type checkers; `python -m docs.generate` writes this.

When the program runs, `Group` finds what is registered, and nothing of a paper is imported here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

if TYPE_CHECKING:
    from goldpan.operations.workspace import Workspace
    from goldpan.papers.crosscodebench.operations import Crosscode
    from goldpan.papers.nlbse.operations import code_comments as _code_comments
    from goldpan.papers.nlbse.operations import issue_type as _issue_type

    P = ParamSpec("P")
    R = TypeVar("R")

    def _method(function: Callable[Concatenate[Workspace, P], R]) -> Callable[P, R]:
        raise NotImplementedError

    class AddedToBuild:
        """Methods and groups of methods, by their names."""

        code_comments = staticmethod(_method(_code_comments))
        crosscode: Crosscode
        issue_type = staticmethod(_method(_issue_type))

else:

    class AddedToBuild:
        """Nothing."""

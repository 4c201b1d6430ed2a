"""The independent units of a test set: what intervals and tests of differences draw from.

Rows of one project are alike, and so are rows of one document. Projects are the units where there
are enough of them for an interval that covers (`python -m benchmarks.intervals`); with fewer, what
is said holds on new rows of these projects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Unit = Literal["projects", "documents", "rows"]
MANY_PROJECTS = 10
"""Fewest projects that are units."""


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """The independent units of a test set."""

    kind: Unit
    names: tuple[str, ...]
    """Unit of each row."""
    projects: int
    """How many projects the rows name."""


def units_of(
    ids: Sequence[str], repos: Sequence[str | None], documents: Sequence[str | None]
) -> Units:
    """Return the units of rows: projects where there are ten, else documents, else rows.

    A row without a project or a document is a unit of its own.
    """
    projects = len({repo for repo in repos if repo})
    if projects >= MANY_PROJECTS:
        names = (repo or f"\0{row}" for row, repo in zip(ids, repos, strict=True))
        return Units("projects", tuple(names), projects)
    named = tuple(
        f"{repo or ''}\0{document}" if document else f"\0\0{row}"
        for row, repo, document in zip(ids, repos, documents, strict=True)
    )
    if any(documents) and len(set(named)) < len(named):
        return Units("documents", named, projects)
    return Units("rows", tuple(ids), projects)


def counted(number: int, plural: str) -> str:
    """Return a number with its noun: 1 row, 2 rows."""
    return f"{number:,} {plural.removesuffix('s') if number == 1 else plural}"

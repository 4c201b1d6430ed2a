"""Adds the references that the API itself tells of."""

from __future__ import annotations

from typing import Any, NamedTuple

from goldpan.miners.tables.columns import Unreadable, inner
from goldpan.miners.tables.rows import Rows


class End(NamedTuple):
    """One end of a link: an entry, or only a repository where the number is null."""

    repo: Any
    number: Any = None


def add_link(
    rows: Rows,
    observed_on: int,
    signal: str,
    source: End,
    target: End,
    *,
    at: str | None = None,
    sha: str | None = None,
    part: str = "timeline",
) -> None:
    """Add a reference from `source` to `target` that the data of `observed_on` shows.

    `part` says what supersedes it: "timeline" a timeline that any path reads, "links" only an
    entry read over GraphQL, for what REST cannot tell, "entry" the entry itself; "sub_issues",
    "blocked_by" and "blocking" are lists of their own.
    """
    rows.facets["links"].append(
        (
            source.repo,
            source.number,
            target.repo,
            target.number,
            sha,
            signal,
            observed_on,
            at,
            None,
            None,
            None,
            part,
            None,
            None,
            None,
            None,
            part,
            rows.sequence,
        )
    )


def add_relation(rows: Rows, number: int, part: str, other: End) -> None:
    """Add what a list of an issue's relations tells: its parts, what blocks it, what it blocks."""
    own = End(rows.repo, number)
    source, target = (other, own) if part == "blocking" else (own, other)
    signal = "sub_issue" if part == "sub_issues" else "blocked_by"
    add_link(rows, number, signal, source, target, part=part)


def subject_of(data: Any) -> End:
    """Return the entry that GraphQL names, or an end without one."""
    if not isinstance(data, dict):
        return End(None if data is None else Unreadable(data))
    if "number" not in data:
        return End(None)
    return End(inner(data.get("repository"), "nameWithOwner"), data["number"])

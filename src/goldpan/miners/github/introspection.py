"""What a server's GraphQL schema offers of what Goldpan's documents name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from goldpan.miners.github.connections import CONNECTIONS
from goldpan.miners.github.dialect import Dialect, needs
from goldpan.miners.github.queries import (
    KINDS,
    RATE,
    REPOSITORY,
    continuations_document,
    entries_document,
    sweep_document,
)

COLUMNS: dict[tuple[str, str], tuple[str, ...]] = {
    ("Issue", "issueType"): ("entries.issue_type",),
    ("Issue", "parent"): ("entries.parent_repo", "entries.parent_number"),
    ("Issue", "subIssuesSummary"): ("entries.sub_issues",),
    ("Issue", "issueDependenciesSummary"): ("entries.blocked_by", "entries.blocking"),
    ("Issue", "pinnedIssueComment"): ("entries.pinned_comment_id",),
    ("Issue", "duplicateOf"): ("entries.duplicate_of_repo", "entries.duplicate_of_number"),
    ("Issue", "stateReason"): ("entries.state_reason",),
    ("Issue", "assignees"): ("entries.assignees",),
    ("Issue", "milestone"): ("entries.milestone",),
    ("PullRequest", "isDraft"): ("entries.draft",),
    ("Discussion", "stateReason"): ("entries.state_reason",),
}
NEEDS = frozenset().union(
    *(
        needs(document)
        for document in (
            REPOSITORY,
            *(ask(kind) for kind in KINDS for ask in (sweep_document, entries_document)),
            continuations_document(list(CONNECTIONS.values())),
        )
    )
)
_KINDS = sorted({kind for kind, _ in NEEDS if "." not in kind})
INTROSPECTION = (
    "query Dialect {\n"
    + "".join(f'  {kind}: __type(name: "{kind}") {{ ...shape }}\n' for kind in _KINDS)
    + (
        f"  {RATE}\n}}\nfragment shape on __Type {{ fields(includeDeprecated: true) "
        "{ name args { name } } enumValues(includeDeprecated: true) { name } }\n"
    )
)
"""One request that asks for all of a server's schema that Goldpan's documents name."""


def dialect_of(data: Mapping[str, Any]) -> Dialect:
    """Return what a server lacks, given its answer to `INTROSPECTION`."""
    offered: set[tuple[str, str]] = set()
    for kind in _KINDS:
        shape = data.get(kind)
        if shape:
            offered.add((kind, "__typename"))
            for field in shape["fields"] or ():
                offered.add((kind, field["name"]))
                offered.update(
                    (f"{kind}.{field['name']}", argument["name"]) for argument in field["args"]
                )
            offered.update((kind, value["name"]) for value in shape["enumValues"] or ())
    return Dialect(frozenset(need for need in NEEDS - offered if not _implied(need)))


def _implied(need: tuple[str, str]) -> bool:
    return "." in need[0] and need[1] == "__typename"


def lacking_columns(dialect: Dialect) -> list[str]:
    """Return the columns that stay null where a server's schema is so."""
    return sorted({column for need in dialect.lacks for column in COLUMNS.get(need, ())})

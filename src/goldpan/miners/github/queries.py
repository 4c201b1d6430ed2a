"""The GraphQL documents that Goldpan sends, and the cost of each.

GitHub prices a query by connection requests: one for the query's own connection plus, for
each nested connection, one for every parent node. The points are that sum / 100, rounded,
at least 1. Batches below are sized so that one batch stays at one point.

The crawl never pages through full entries. It sweeps a repository for light fingerprints
(`sweep_document`), then asks for the entries that are new or changed by node id
(`entries_document`), then for the pages after the first (`continuations_document`).
An entry that is too heavy to be fetched whole is asked for bare, its lists as continuations.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from goldpan.miners.connections import (
    CONNECTIONS,
    DISCUSSION_CONNECTIONS,
    ISSUE_CONNECTIONS,
    ISSUE_EVENTS,
    LIGHT,
    LINKED,
    PAGE,
    PULL_CONNECTIONS,
    Connection,
    fragments,
)
from goldpan.miners.github.dialect import NEWEST, Dialect, adapt, needs

Kind = Literal["issue", "pull", "discussion"]
KINDS: tuple[Kind, ...] = ("issue", "pull", "discussion")


_ENTRY_FIELDS = (
    "__typename id number title body state createdAt updatedAt lastEditedAt closedAt locked "
    "authorAssociation author { ...actor } repository { nameWithOwner } milestone { title }"
)
_ISSUE_FIELDS = (
    f"{_ENTRY_FIELDS} "
    f"stateReason(enableDuplicate: true) issueType {{ name }} parent {{ {LINKED} }} "
    "duplicateOf { ...duplicate } pinnedIssueComment { issueComment { fullDatabaseId } } "
    "subIssuesSummary { total } issueDependenciesSummary { totalBlockedBy totalBlocking }"
)
_PULL_FIELDS = (
    f"{_ENTRY_FIELDS} merged mergedAt isDraft baseRefName baseRefOid headRefName headRefOid "
    "headRepository { nameWithOwner } mergeCommit { oid } additions deletions changedFiles"
)
_DISCUSSION_FIELDS = (
    "__typename id number title body closed stateReason createdAt updatedAt lastEditedAt closedAt "
    "locked authorAssociation author { ...actor } repository { nameWithOwner } upvoteCount "
    "category { id name slug isAnswerable } isAnswered answer { databaseId } answerChosenAt "
    "answerChosenBy { ...actor }"
)

RATE = "rateLimit { cost limit remaining resetAt nodeCount }"

REPOSITORY = f"""
query Repository($owner: String!, $name: String!) {{
  repository(owner: $owner, name: $name) {{
    nameWithOwner description isPrivate isFork isArchived createdAt pushedAt
    stargazerCount forkCount
    defaultBranchRef {{ name }}
    primaryLanguage {{ name }}
    licenseInfo {{ spdxId }}
    issues {{ totalCount }}
    pullRequests {{ totalCount }}
  }}
  {RATE}
}}
"""


@dataclass(frozen=True, slots=True)
class _Listing:
    """The list of all entries of a kind, and the fields of each."""

    field: str
    order: str
    parent: str
    fields: str
    connections: tuple[Connection, ...]
    beside: str = ""
    """Fields of the repository that are requested beside the list."""


_LISTINGS: Mapping[Kind, _Listing] = {
    "issue": _Listing("issues", "IssueOrderField", "Issue", _ISSUE_FIELDS, ISSUE_CONNECTIONS),
    "pull": _Listing(
        "pullRequests", "IssueOrderField", "PullRequest", _PULL_FIELDS, PULL_CONNECTIONS
    ),
    "discussion": _Listing(
        "discussions",
        "DiscussionOrderField",
        "Discussion",
        _DISCUSSION_FIELDS,
        DISCUSSION_CONNECTIONS,
        "hasDiscussionsEnabled",
    ),
}


def _swept(kind: Kind) -> str:
    """Return the selection that shows additions to an entry whose `updatedAt` did not change.

    Cross references never change it, and a review comment not always. The answer to one makes a
    review that the timeline does not show.
    """
    if kind == "discussion":
        return "answerChosenAt comments { totalCount }"
    types = (*ISSUE_EVENTS, "ISSUE_COMMENT", *(("PULL_REQUEST_REVIEW",) if kind == "pull" else ()))
    names = ("".join(map(str.title, name.split("_"))) for name in types)
    moments = " ".join(f"... on {name} {{ createdAt }}" for name in names)
    reviews = "reviews { totalCount }" if kind == "pull" else ""
    return f"""
        timelineItems(last: 1, itemTypes: [{", ".join(types)}]) {{
          filteredCount
          nodes {{ __typename {moments} }}
        }}
        {reviews}
"""


PROBE = f"""
query Probe($owner: String!, $name: String!) {{
  repository(owner: $owner, name: $name) {{ issues(first: 1) {{ nodes {{ id }} }} }}
  {RATE}
}}
"""
"""Small, and answered whenever GitHub answers anything of the repository."""


def _operation(kind: Kind) -> str:
    return f"{kind.title()}s"


def list_field(kind: Kind) -> str:
    """Return the repository's field that lists all entries of a kind."""
    return _LISTINGS[kind].field


_SWEPT_PAGE = "first: $first, after: $after, orderBy: {field: $field, direction: $direction}"


def sweep_document(kind: Kind, dialect: Dialect = NEWEST, *, light: bool = False) -> str:
    """Return the document that pages through light fingerprints of all entries of one kind.

    A `light` one leaves out the timelines, for pages that fail with them.
    """
    listing = _LISTINGS[kind]
    timeline = "" if light else _swept(kind)
    document = f"""
query Sweep{_operation(kind)}($owner: String!, $name: String!, $first: Int!, $after: String,
                  $field: {listing.order}!, $direction: OrderDirection!) {{
  repository(owner: $owner, name: $name) {{{listing.beside and f" {listing.beside}"}
    {listing.field}({_SWEPT_PAGE}) {{
      totalCount {PAGE}
      nodes {{
        id number updatedAt {timeline}
      }}
    }}
  }}
  {RATE}
}}
"""
    return adapt(document, dialect)


def first_lists(
    kind: Kind, dialect: Dialect = NEWEST, connections: Collection[str] | None = None
) -> tuple[Connection, ...]:
    """Return the lists whose first page `entries_document` asks for, given the same arguments."""
    supported = [
        connection
        for connection in _LISTINGS[kind].connections
        if (connection.parent, connection.name) not in dialect
    ]
    # The older list of people repeats the newer one, which holds bots too.
    newer = any(connection.name == "assignedActors" for connection in supported)
    return tuple(
        connection
        for connection in supported
        if (connections is None or connection.name in connections)
        and not (newer and connection.name == "assignees")
    )


def entries_document(
    kind: Kind, dialect: Dialect = NEWEST, connections: Collection[str] | None = None
) -> str:
    """Return the document that fetches entries of one kind by node id (`$ids`).

    With the first page of every list, or only of those named in `connections`, and there no more
    than `LIGHT` says: none for ``()``.
    """
    listing = _LISTINGS[kind]
    light = {} if connections is None else LIGHT
    lists = "\n      ".join(
        list_.select(light.get(list_.name, list_.first))
        for list_ in first_lists(kind, dialect, connections)
    )
    body = f"{listing.fields}\n      {lists}"
    return adapt(
        f"""
query {_operation(kind)}($ids: [ID!]!) {{
  nodes(ids: $ids) {{
    ... on {listing.parent} {{
      {body}
    }}
  }}
  {RATE}
}}
{fragments(body)}""",
        dialect,
    )


A_POINT = 149
"""How many connections a query may ask for at the price of a single point."""
FURTHER = A_POINT - 1
"""How many further pages a single point buys."""


def entries_batch(kind: Kind) -> int:
    """Return how many entries of one kind a single point buys."""
    lists = first_lists(kind)
    counts = sum(list_.parent_fields.count("totalCount") for list_ in lists)
    nested = sum(list_.first * list_.per_item for list_ in lists)
    return A_POINT // (len(lists) + counts + nested)


def sweep_page(kind: Kind) -> int:
    """Return how many entries of one kind a single point lists, but a hundred at most."""
    lists = _swept(kind).count("(last:") + _swept(kind).count("totalCount")
    return min(100, (A_POINT - 1) // lists)


def continuations_document(
    connections: Sequence[Connection], dialect: Dialect = NEWEST, first: int = 100
) -> str:
    """Return a document that continues `connections[i]` of node `$i{i}` after cursor `$a{i}`.

    The alias of the answer to the i-th request is `n{i}`; a null cursor asks for a first page.
    Each page holds up to `first` items.
    """
    variables = ", ".join(f"$i{i}: ID!, $a{i}: String" for i in range(len(connections)))
    nodes = "\n".join(
        f"  n{i}: node(id: $i{i}) {{ __typename ... on {connection.parent} "
        f"{{ id {connection.select(first, after=f'a{i}')} }} }}"
        for i, connection in enumerate(connections)
    )
    document = f"query Continuations({variables}) {{\n{nodes}\n  {RATE}\n}}\n{fragments(nodes)}"
    return adapt(document, dialect)


def lists_by_summary(node: Mapping[str, Any]) -> list[str]:
    """Return which relations an issue has, so that their lists are to be asked for."""
    parts = node.get("subIssuesSummary") or {}
    ties = node.get("issueDependenciesSummary") or {}
    counts = {
        "subIssues": parts.get("total"),
        "blockedBy": ties.get("totalBlockedBy"),
        "blocking": ties.get("totalBlocking"),
    }
    return [name for name, count in counts.items() if count]


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
"""One request for the part of a server's schema that Goldpan's documents name."""


def dialect_of(data: Mapping[str, Any]) -> Dialect:
    """Return a server's dialect, given its answer to `INTROSPECTION`."""
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
    return frozenset(
        need for need in NEEDS - offered if not ("." in need[0] and need[1] == "__typename")
    )

"""The GraphQL documents: what Goldpan asks GitHub for, and what each question costs.

GitHub prices a query by connection requests: one for the query's own connection plus, for
each nested connection, one for every parent node. The points are that sum / 100, rounded,
at least 1. Batches below are sized so that one batch stays at one point.

The crawl never pages through full entries. It sweeps a repository for light fingerprints
(`sweep_document`), then asks for the entries that are new or changed by node id
(`entries_document`), then for whatever a first page did not hold (`continuations_document`).
An entry that is too heavy to be had whole is asked for bare, its lists as continuations.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from goldpan.miners.github.dialect import NEWEST as NEWEST
from goldpan.miners.github.dialect import Dialect as Dialect
from goldpan.miners.github.dialect import adapt, needs

Kind = Literal["issue", "pull"]

# What may come to an entry without changing its `updatedAt`, so that a sweep must look.
SWEPT_EVENTS = (
    "CROSS_REFERENCED_EVENT",
    "CONNECTED_EVENT",
    "DISCONNECTED_EVENT",
    "CLOSED_EVENT",
    "MARKED_AS_DUPLICATE_EVENT",
    "UNMARKED_AS_DUPLICATE_EVENT",
    "TRANSFERRED_EVENT",
)
ISSUE_EVENTS = (
    *SWEPT_EVENTS,
    "LABELED_EVENT",
    "UNLABELED_EVENT",
    "MILESTONED_EVENT",
    "DEMILESTONED_EVENT",
    "ASSIGNED_EVENT",
    "UNASSIGNED_EVENT",
    "REOPENED_EVENT",
    "RENAMED_TITLE_EVENT",
)
PULL_EVENTS = (*ISSUE_EVENTS, "PULL_REQUEST_COMMIT")

_ACTOR = """
fragment actor on Actor {
  __typename
  login
  ... on User { databaseId }
  ... on Bot { databaseId }
  ... on Mannequin { databaseId }
  ... on Organization { databaseId }
}
"""

_SUBJECT = """
fragment subject on ReferencedSubject {
  __typename
  ... on Issue { number repository { nameWithOwner } }
  ... on PullRequest { number repository { nameWithOwner } }
}
"""

_EVENT_FIELDS = """
      __typename
      ... on CrossReferencedEvent { createdAt willCloseTarget source { ...subject } }
      ... on ConnectedEvent { createdAt source { ...subject } subject { ...subject } }
      ... on DisconnectedEvent { createdAt source { ...subject } subject { ...subject } }
      ... on ClosedEvent {
        createdAt actor { ...actor }
        closer {
          __typename
          ... on Commit { oid }
          ... on PullRequest { number repository { nameWithOwner } }
        }
      }
      ... on MarkedAsDuplicateEvent {
        createdAt canonical { ...duplicate } duplicate { ...duplicate }
      }
      ... on UnmarkedAsDuplicateEvent {
        createdAt canonical { ...duplicate } duplicate { ...duplicate }
      }
      ... on TransferredEvent { createdAt fromRepository { nameWithOwner } }
      ... on LabeledEvent { createdAt actor { ...actor } label { name } }
      ... on UnlabeledEvent { createdAt actor { ...actor } label { name } }
      ... on MilestonedEvent { createdAt actor { ...actor } milestoneTitle }
      ... on DemilestonedEvent { createdAt actor { ...actor } milestoneTitle }
      ... on AssignedEvent { createdAt actor { ...actor } assignee { ...actor } }
      ... on UnassignedEvent { createdAt actor { ...actor } assignee { ...actor } }
      ... on ReopenedEvent { createdAt actor { ...actor } }
      ... on RenamedTitleEvent { createdAt actor { ...actor } previousTitle currentTitle }
"""

_DUPLICATE = """
fragment duplicate on IssueOrPullRequest {
  __typename
  ... on Issue { number repository { nameWithOwner } }
  ... on PullRequest { number repository { nameWithOwner } }
}
"""

_COMMIT = "... on PullRequestCommit { commit { oid message authoredDate committedDate } }"
_COMMENT = "id fullDatabaseId author { ...actor } authorAssociation createdAt updatedAt body"
_PAGE = "pageInfo { hasNextPage endCursor }"
_LINKED = "number repository { nameWithOwner }"


@dataclass(frozen=True, slots=True)
class Connection:
    """One nested list of an entry (or of a review) that may need further pages."""

    name: str
    parent: str
    first: int
    arguments: str
    body: str
    beside: str = ""
    """What is asked of the parent together with a page of the list."""

    def select(self, first: int, after: str | None = None) -> str:
        """Return the selection of one page, `after` naming the cursor's variable."""
        cursor = f", after: ${after}" if after else ""
        arguments = f", {self.arguments}" if self.arguments else ""
        page = f"{self.name}(first: {first}{cursor}{arguments}) {{ {self.body} }}"
        return f"{self.beside} {page}" if self.beside else page


def _timeline(parent: str, events: Sequence[str], extra: str, counts: str) -> Connection:
    return Connection(
        "timelineItems",
        parent,
        100,
        f"itemTypes: [{', '.join(events)}]",
        f"filteredCount {_PAGE} nodes {{ {_EVENT_FIELDS} {extra} }}",
        counts,
    )


def _list(name: str, parent: str, first: int, item: str, arguments: str = "") -> Connection:
    return Connection(name, parent, first, arguments, f"totalCount {_PAGE} nodes {{ {item} }}")


# The whole timeline's length; the page itself only counts what it asks for.
_LENGTH = "timeline: timelineItems { totalCount }"

ISSUE_CONNECTIONS = (
    _list("comments", "Issue", 50, _COMMENT),
    _list("labels", "Issue", 100, "name"),
    _list("assignedActors", "Issue", 10, "...actor"),
    _list("assignees", "Issue", 10, "...actor"),
    _timeline("Issue", ISSUE_EVENTS, "", _LENGTH),
    _list("closedByPullRequestsReferences", "Issue", 20, _LINKED, "includeClosedPrs: true"),
)
PULL_CONNECTIONS = (
    _list("comments", "PullRequest", 50, _COMMENT),
    _list("labels", "PullRequest", 100, "name"),
    _list("assignedActors", "PullRequest", 10, "...actor"),
    _list("assignees", "PullRequest", 10, "...actor"),
    _timeline("PullRequest", PULL_EVENTS, _COMMIT, f"{_LENGTH} commits {{ totalCount }}"),
    _list("closingIssuesReferences", "PullRequest", 20, _LINKED),
    _list("files", "PullRequest", 100, "path changeType additions deletions"),
    _list("reviews", "PullRequest", 50, f"{_COMMENT} state submittedAt"),
    _list("reviewThreads", "PullRequest", 100, "id"),
)
LIGHT = {"labels": 100, "assignedActors": 10, "assignees": 10, "comments": 1}
"""The lists that an entry is never read without if it can be helped, and how much of each.

They are short, and the entry's own columns come from them.
"""

# Few issues have any of these, so a first page of them would be paid for in vain.
RELATIONS = tuple(
    _list(name, "Issue", 100, _LINKED) for name in ("subIssues", "blockedBy", "blocking")
)
# Through threads, not reviews: comments from before GitHub had reviews belong to none.
REVIEW_COMMENTS = _list(
    "comments",
    "PullRequestReviewThread",
    100,
    f"{_COMMENT} path replyTo {{ fullDatabaseId }} pullRequestReview {{ fullDatabaseId }}",
)

CONNECTIONS: dict[tuple[str, str], Connection] = {
    (connection.parent, connection.name): connection
    for connection in (*ISSUE_CONNECTIONS, *PULL_CONNECTIONS, *RELATIONS, REVIEW_COMMENTS)
}
"""Every list that there is, by its parent's type and its name."""

_ENTRY_FIELDS = (
    "__typename id number title body state createdAt updatedAt closedAt locked "
    "authorAssociation author { ...actor } repository { nameWithOwner } milestone { title }"
)
_ISSUE_FIELDS = (
    f"stateReason(enableDuplicate: true) issueType {{ name }} parent {{ {_LINKED} }} "
    "duplicateOf { ...duplicate } pinnedIssueComment { issueComment { fullDatabaseId } } "
    "subIssuesSummary { total } issueDependenciesSummary { totalBlockedBy totalBlocking }"
)
_PULL_FIELDS = (
    "merged mergedAt isDraft baseRefName baseRefOid headRefName headRefOid "
    "headRepository { nameWithOwner } mergeCommit { oid } additions deletions changedFiles"
)

_RATE = "rateLimit { cost limit remaining resetAt nodeCount }"

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
  {_RATE}
}}
"""


_SWEPT_TIMELINE = """
        timelineItems(last: 1, itemTypes: [EVENTS]) {
          filteredCount
          nodes {
            __typename
            ... on CrossReferencedEvent { createdAt }
            ... on ConnectedEvent { createdAt }
            ... on DisconnectedEvent { createdAt }
            ... on ClosedEvent { createdAt }
            ... on MarkedAsDuplicateEvent { createdAt }
            ... on UnmarkedAsDuplicateEvent { createdAt }
            ... on TransferredEvent { createdAt }
          }
        }
""".replace("EVENTS", ", ".join(SWEPT_EVENTS))

PROBE = f"""
query Probe($owner: String!, $name: String!) {{
  repository(owner: $owner, name: $name) {{ issues(first: 1) {{ nodes {{ id }} }} }}
  {_RATE}
}}
"""
"""Small, and answered whenever GitHub answers anything of the repository."""


def repository_document(dialect: Dialect = NEWEST) -> str:
    """Return the document that asks for a repository's facts."""
    return adapt(REPOSITORY, dialect)


def sweep_document(kind: Kind, dialect: Dialect = NEWEST, *, light: bool = False) -> str:
    """Return the document that pages through light fingerprints of all entries of one kind.

    A `light` one leaves out the timelines, for pages that cannot be had with them.
    """
    field, operation = (
        ("issues", "SweepIssues") if kind == "issue" else ("pullRequests", "SweepPulls")
    )
    timeline = "" if light else _SWEPT_TIMELINE
    document = f"""
query {operation}($owner: String!, $name: String!, $first: Int!, $after: String,
                  $field: IssueOrderField!, $direction: OrderDirection!) {{
  repository(owner: $owner, name: $name) {{
    {field}(first: $first, after: $after, orderBy: {{field: $field, direction: $direction}}) {{
      totalCount {_PAGE}
      nodes {{
        id number updatedAt {timeline}
      }}
    }}
  }}
  {_RATE}
}}
"""
    return adapt(document, dialect)


def first_lists(
    kind: Kind, dialect: Dialect = NEWEST, connections: Collection[str] | None = None
) -> tuple[Connection, ...]:
    """Return the lists whose first page `entries_document` asks for, given the same arguments."""
    there = [
        connection
        for connection in (ISSUE_CONNECTIONS if kind == "issue" else PULL_CONNECTIONS)
        if (connection.parent, connection.name) not in dialect.lacks
    ]
    # What was there before anybody but people could be assigned repeats what came after it.
    newer = any(connection.name == "assignedActors" for connection in there)
    return tuple(
        connection
        for connection in there
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
    parent, operation, fields = (
        ("Issue", "Issues", _ISSUE_FIELDS)
        if kind == "issue"
        else ("PullRequest", "Pulls", _PULL_FIELDS)
    )
    light = {} if connections is None else LIGHT
    lists = "\n      ".join(
        list_.select(light.get(list_.name, list_.first))
        for list_ in first_lists(kind, dialect, connections)
    )
    body = f"{_ENTRY_FIELDS} {fields}\n      {lists}"
    return adapt(
        f"""
query {operation}($ids: [ID!]!) {{
  nodes(ids: $ids) {{
    ... on {parent} {{
      {body}
    }}
  }}
  {_RATE}
}}
{_fragments(body)}""",
        dialect,
    )


def entries_batch(kind: Kind) -> int:
    """Return how many entries of one kind a single point buys."""
    lists = first_lists(kind)
    counts = sum(list_.beside.count("totalCount") for list_ in lists)
    return 149 // (len(lists) + counts)


def continuations_document(
    wanted: Sequence[Connection], dialect: Dialect = NEWEST, first: int = 100
) -> str:
    """Return a document that continues `wanted[i]` of node `$i{i}` after cursor `$a{i}`.

    The alias of the answer to the i-th request is `n{i}`; a null cursor asks for a first page.
    Each page holds up to `first` items.
    """
    variables = ", ".join(f"$i{i}: ID!, $a{i}: String" for i in range(len(wanted)))
    nodes = "\n".join(
        f"  n{i}: node(id: $i{i}) {{ __typename ... on {connection.parent} "
        f"{{ id {connection.select(first, after=f'a{i}')} }} }}"
        for i, connection in enumerate(wanted)
    )
    document = f"query Continuations({variables}) {{\n{nodes}\n  {_RATE}\n}}\n{_fragments(nodes)}"
    return adapt(document, dialect)


def _fragments(body: str) -> str:
    known = {"actor": _ACTOR, "subject": _SUBJECT, "duplicate": _DUPLICATE}
    return "".join(text for name, text in known.items() if f"...{name}" in body)


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
            *(
                ask(kind)
                for kind in ("issue", "pull")
                for ask in (sweep_document, entries_document)
            ),
            continuations_document(list(CONNECTIONS.values())),
        )
    )
)
_KINDS = sorted({kind for kind, _ in NEEDS if "." not in kind})

INTROSPECTION = (
    "query Dialect {\n"
    + "".join(f'  {kind}: __type(name: "{kind}") {{ ...shape }}\n' for kind in _KINDS)
    + (
        f"  {_RATE}\n}}\nfragment shape on __Type {{ fields(includeDeprecated: true) "
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
}


def lacking_columns(dialect: Dialect) -> list[str]:
    """Return the columns that stay null where a server's schema is so."""
    return sorted({column for need in dialect.lacks for column in COLUMNS.get(need, ())})

"""The GraphQL documents: what Goldpan asks GitHub for, and what each question costs.

GitHub prices a query by connection requests: one for the query's own connection plus, for
each nested connection, one for every parent node. The points are that sum / 100, rounded,
at least 1. Batches below are sized so that one batch stays at one point.

The crawl never pages through full entries. It sweeps a repository for light fingerprints
(`SWEEP_ISSUES`, `SWEEP_PULLS`), then asks for the entries that are new or changed by node id
(`entries_document`), then for whatever a first page did not hold (`continuations_document`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["issue", "pull"]

ISSUE_EVENTS = (
    "CROSS_REFERENCED_EVENT",
    "CONNECTED_EVENT",
    "DISCONNECTED_EVENT",
    "CLOSED_EVENT",
    "MARKED_AS_DUPLICATE_EVENT",
    "UNMARKED_AS_DUPLICATE_EVENT",
    "TRANSFERRED_EVENT",
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
        createdAt
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

    def select(self, first: int, after: str | None = None) -> str:
        """Return the selection of one page, `after` naming the cursor's variable."""
        cursor = f", after: ${after}" if after else ""
        arguments = f", {self.arguments}" if self.arguments else ""
        return f"{self.name}(first: {first}{cursor}{arguments}) {{ {self.body} }}"


def _timeline(parent: str, events: Sequence[str], extra: str) -> Connection:
    return Connection(
        "timelineItems",
        parent,
        50,
        f"itemTypes: [{', '.join(events)}]",
        f"filteredCount {_PAGE} nodes {{ {_EVENT_FIELDS} {extra} }}",
    )


def _comments(parent: str) -> Connection:
    return Connection("comments", parent, 50, "", f"totalCount {_PAGE} nodes {{ {_COMMENT} }}")


def _labels(parent: str) -> Connection:
    # GitHub allows 100 labels an entry, so the first page is the only one.
    return Connection("labels", parent, 100, "", "totalCount nodes { name }")


ISSUE_CONNECTIONS = (
    _comments("Issue"),
    _labels("Issue"),
    _timeline("Issue", ISSUE_EVENTS, ""),
    Connection(
        "closedByPullRequestsReferences",
        "Issue",
        20,
        "includeClosedPrs: true",
        f"totalCount {_PAGE} nodes {{ {_LINKED} }}",
    ),
)
PULL_CONNECTIONS = (
    _comments("PullRequest"),
    _labels("PullRequest"),
    _timeline("PullRequest", PULL_EVENTS, _COMMIT),
    Connection(
        "closingIssuesReferences",
        "PullRequest",
        20,
        "",
        f"totalCount {_PAGE} nodes {{ {_LINKED} }}",
    ),
    Connection(
        "files",
        "PullRequest",
        100,
        "",
        f"totalCount {_PAGE} nodes {{ path changeType additions deletions }}",
    ),
    Connection(
        "reviews",
        "PullRequest",
        50,
        "",
        f"totalCount {_PAGE} nodes {{ {_COMMENT} state submittedAt }}",
    ),
    Connection("reviewThreads", "PullRequest", 100, "", f"totalCount {_PAGE} nodes {{ id }}"),
)
# Through threads, not reviews: comments from before GitHub had reviews belong to none.
REVIEW_COMMENTS = Connection(
    "comments",
    "PullRequestReviewThread",
    100,
    "",
    f"totalCount {_PAGE} nodes {{ {_COMMENT} path replyTo {{ fullDatabaseId }} "
    "pullRequestReview { fullDatabaseId } }",
)

CONNECTIONS: dict[tuple[str, str], Connection] = {
    (connection.parent, connection.name): connection
    for connection in (*ISSUE_CONNECTIONS, *PULL_CONNECTIONS, REVIEW_COMMENTS)
}

_ENTRY_FIELDS = (
    "__typename id number title body state createdAt updatedAt closedAt locked "
    "authorAssociation author { ...actor } repository { nameWithOwner } "
    "timeline: timelineItems { totalCount }"
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
    oldest: pullRequests(first: 25) {{ nodes {{ reviewThreads {{ totalCount }} }} }}
    newest: pullRequests(last: 25) {{ nodes {{ reviewThreads {{ totalCount }} }} }}
  }}
  {_RATE}
}}
"""


def _sweep(kind: Kind) -> str:
    field, operation = (
        ("issues", "SweepIssues") if kind == "issue" else ("pullRequests", "SweepPulls")
    )
    events = ", ".join(ISSUE_EVENTS)
    return f"""
query {operation}($owner: String!, $name: String!, $first: Int!, $after: String,
                  $field: IssueOrderField!, $direction: OrderDirection!) {{
  repository(owner: $owner, name: $name) {{
    {field}(first: $first, after: $after, orderBy: {{field: $field, direction: $direction}}) {{
      totalCount {_PAGE}
      nodes {{
        id number updatedAt
        timelineItems(last: 1, itemTypes: [{events}]) {{
          filteredCount
          nodes {{
            __typename
            ... on CrossReferencedEvent {{ createdAt }}
            ... on ConnectedEvent {{ createdAt }}
            ... on DisconnectedEvent {{ createdAt }}
            ... on ClosedEvent {{ createdAt }}
            ... on MarkedAsDuplicateEvent {{ createdAt }}
            ... on UnmarkedAsDuplicateEvent {{ createdAt }}
            ... on TransferredEvent {{ createdAt }}
          }}
        }}
      }}
    }}
  }}
  {_RATE}
}}
"""


SWEEP_ISSUES = _sweep("issue")
SWEEP_PULLS = _sweep("pull")


def entries_document(kind: Kind) -> str:
    """Return the document that fetches whole entries of one kind by node id (`$ids`)."""
    connections: tuple[Connection, ...]
    if kind == "issue":
        parent, operation, connections = "Issue", "Issues", ISSUE_CONNECTIONS
        fields = f"{_ENTRY_FIELDS} stateReason(enableDuplicate: true)"
    else:
        parent, operation, connections = "PullRequest", "Pulls", PULL_CONNECTIONS
        fields = f"{_ENTRY_FIELDS} {_PULL_FIELDS}"
    lists = "\n      ".join(connection.select(connection.first) for connection in connections)
    return f"""
query {operation}($ids: [ID!]!) {{
  nodes(ids: $ids) {{
    ... on {parent} {{
      {fields}
      {lists}
    }}
  }}
  {_RATE}
}}
{_ACTOR}{_SUBJECT}{_DUPLICATE}"""


def entries_batch(kind: Kind) -> int:
    """Return how many entries of one kind a single point buys."""
    nested = 1 + len(ISSUE_CONNECTIONS if kind == "issue" else PULL_CONNECTIONS)
    return 149 // nested


def continuations_document(wanted: Sequence[Connection]) -> str:
    """Return a document that continues `wanted[i]` of node `$i{i}` after cursor `$a{i}`.

    The alias of the answer to the i-th request is `n{i}`; a null cursor asks for a first page.
    """
    variables = ", ".join(f"$i{i}: ID!, $a{i}: String" for i in range(len(wanted)))
    nodes = "\n".join(
        f"  n{i}: node(id: $i{i}) {{ __typename ... on {connection.parent} "
        f"{{ id {connection.select(100, after=f'a{i}')} }} }}"
        for i, connection in enumerate(wanted)
    )
    timeline = any(connection.name == "timelineItems" for connection in wanted)
    actor = any("...actor" in connection.body for connection in wanted)
    fragments = (_ACTOR if actor else "") + (_SUBJECT + _DUPLICATE if timeline else "")
    return f"query Continuations({variables}) {{\n{nodes}\n  {_RATE}\n}}\n{fragments}"

"""The twin's schema, errors and limits: a part of GitHub's, and older on other servers."""

from __future__ import annotations

import lzma
import re
import time
from dataclasses import replace
from typing import Any

import httpx
import pytest
from graphql import (
    GraphQLEnumType,
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLUnionType,
    build_schema,
    graphql_sync,
    parse,
    validate,
)

from goldpan.miners.connections import CONNECTIONS
from goldpan.miners.github import queries
from goldpan.miners.github.dialect import NEWEST, Dialect, adapt
from goldpan.miners.github.queries import INTROSPECTION, NEEDS, dialect_of
from tests.twin import Fault, Faults, Limits, Twin, World, synthetic_world
from tests.twin.asking import SLUICE, ask, client, real_data, sluice
from tests.twin.schema import SDL


def introspect(schema: GraphQLSchema) -> dict[str, Any]:
    only_types = re.sub(r"rateLimit \{[^}]*\}", "", INTROSPECTION)
    return graphql_sync(schema, only_types).data or {}


def documents(dialect: Dialect = NEWEST) -> list[str]:
    lists = [connection for key, connection in CONNECTIONS.items() if key not in dialect.lacks]
    return [
        adapt(queries.REPOSITORY, dialect),
        *(
            document
            for kind in queries.KINDS
            for document in (
                queries.sweep_document(kind, dialect),
                queries.entries_document(kind, dialect),
                queries.entries_document(kind, dialect, ()),
                queries.entries_document(kind, dialect, ("labels", "timelineItems")),
            )
        ),
        *(queries.continuations_document([connection], dialect) for connection in lists),
        queries.continuations_document(lists, dialect),
    ]


def test_our_documents_are_valid() -> None:
    schema = build_schema(SDL)
    assert dialect_of(introspect(schema)) == NEWEST
    for document in documents():
        assert validate(schema, parse(document)) == []


@pytest.mark.parametrize(
    "lacking",
    [
        ("Issue", "parent"),
        ("Issue", "issueType"),
        ("Issue", "assignedActors"),
        ("Issue", "closedByPullRequestsReferences"),
        ("Issue.closedByPullRequestsReferences", "includeClosedPrs"),
        ("Issue.stateReason", "enableDuplicate"),
        ("Discussion", "stateReason"),
        ("DiscussionComment", "deletedAt"),
        ("IssueComment", "fullDatabaseId"),
        ("IssueDependenciesSummary", "totalBlocking"),
        ("IssueTimelineItemsItemType", "MARKED_AS_DUPLICATE_EVENT"),
        ("MarkedAsDuplicateEvent", "canonical"),
        ("PullRequest", "closingIssuesReferences"),
        ("PullRequest", "isDraft"),
    ],
)
def test_documents_do_without_what_a_server_lacks(lacking: tuple[str, str]) -> None:
    schema = build_schema(SDL)
    owner, name = lacking
    assert lacking in NEEDS
    if "." in owner:
        parent: Any = schema.type_map[owner.partition(".")[0]]
        del parent.fields[owner.partition(".")[2]].args[name]
    else:
        kind: Any = schema.type_map[owner]
        del (kind.values if isinstance(kind, GraphQLEnumType) else kind.fields)[name]
    dialect = dialect_of(introspect(schema))
    assert lacking in dialect.lacks
    for document in documents(dialect):
        assert validate(schema, parse(document)) == [], document


NEWER = {
    ("Issue", "assignedActors"),
    ("Issue", "blockedBy"),
    ("Issue", "blocking"),
    ("Issue", "duplicateOf"),
    ("Issue", "issueDependenciesSummary"),
    ("Issue", "issueType"),
    ("Issue", "pinnedIssueComment"),
    ("PullRequest", "assignedActors"),
}
NEWER_TYPES = {"AssigneeConnection", "IssueDependenciesSummary", "IssueType", "PinnedIssueComment"}
"""What GitHub documents and the published schema does not have yet."""


@pytest.mark.real_data
def test_the_schema_is_part_of_githubs() -> None:
    text = lzma.decompress(real_data("api/schema.graphql.xz").read_bytes()).decode()
    github = build_schema(text, assume_valid=True, assume_valid_sdl=True)
    ours = build_schema(SDL)
    kind: Any
    for name, kind in ours.type_map.items():
        if name.startswith("__") or name in NEWER_TYPES:
            assert name not in github.type_map or name.startswith("__")
            continue
        theirs: Any = github.type_map[name]
        assert type(kind) is type(theirs)
        if isinstance(kind, GraphQLUnionType):
            assert {member.name for member in kind.types} <= {
                member.name for member in theirs.types
            }
        elif isinstance(kind, GraphQLObjectType | GraphQLInterfaceType):
            for field_name, field in kind.fields.items():
                if (name, field_name) in NEWER:
                    assert field_name not in theirs.fields
                    continue
                other = theirs.fields[field_name]
                assert str(field.type) == str(other.type), f"{name}.{field_name}"
                own = {(key, str(argument.type)) for key, argument in field.args.items()}
                assert own <= {(key, str(argument.type)) for key, argument in other.args.items()}
        elif hasattr(kind, "values"):
            assert set(kind.values) == set(theirs.values)
    dialect = dialect_of(introspect(github))
    assert {need for need in dialect.lacks if need in NEWER} == NEWER
    for document in documents(dialect):
        assert validate(github, parse(document)) == []


LACKS = [
    ("Issue.stateReason", "enableDuplicate"),
    ("Issue", "closedByPullRequestsReferences"),
    ("IssueStateReason", "DUPLICATE"),
    ("UnmarkedAsDuplicateEvent", "__typename"),
]


@pytest.mark.parametrize(
    "selection",
    [
        "closedByPullRequestsReferences(first: 1) { totalCount }",
        "stateReason(enableDuplicate: true)",
        "timelineItems(first: 1, itemTypes: [UNMARKED_AS_DUPLICATE_EVENT]) { totalCount }",
        "timelineItems(first: 1) { nodes { ... on UnmarkedAsDuplicateEvent { id } } }",
    ],
)
def test_what_an_older_server_lacks_is_refused(selection: str) -> None:
    query = sluice(f"issue(number: 1) {{ {selection} }}")
    for lacks in (LACKS, []):
        with Twin(synthetic_world(), lacks=lacks) as twin:
            assert ("errors" in ask(twin, query)) == bool(lacks)


TIMELINE = f"{SLUICE}/issues/1/timeline"


def issues(http: httpx.Client, world: World) -> httpx.Response:
    variables = {"ids": [world.main.entries[1].node_id]}
    query = queries.entries_document("issue")
    return http.post("/graphql", json={"query": query, "variables": variables})


@pytest.mark.parametrize("name", ["cut", "truncated", "unexpected EOF", "half", "late"])
def test_deliveries_that_break(name: str) -> None:
    world = synthetic_world()
    with Twin(world) as twin, client(twin) as http:
        assert issues(http, world).status_code == 200  # later ones are quicker
        twin.faults = Faults(chosen=[Fault(name, wait=3, times=2)])
        http.timeout = httpx.Timeout(1.5 if name == "late" else 300.0)
        expected = ValueError if name == "half" else httpx.TransportError
        with pytest.raises(expected):
            http.get(TIMELINE).json()
        with pytest.raises(expected):
            issues(http, world).json()
        http.timeout = httpx.Timeout(300.0)
        assert issues(http, world).json()["data"]["nodes"][0]["number"] == 1


def test_refuses_strangers() -> None:
    with Twin(synthetic_world(), limits=Limits(tokens=frozenset({"good"}), anonymous=2)) as twin:
        with client(twin, "bad") as http:
            assert http.get(SLUICE).status_code == 401
        with client(twin, "good") as http:
            assert http.get(SLUICE).status_code == 200
            del http.headers["User-Agent"]
            assert http.get(SLUICE).status_code == 403
        with httpx.Client(base_url=twin.url, timeout=300) as http:
            statuses = [http.get(SLUICE).status_code for _ in range(3)]
            assert http.post("/graphql", json={"query": "{ __typename }"}).status_code == 401
            free = http.get("/rate_limit").json()["resources"]["core"]
        assert statuses == [200, 200, 403]
        assert free["remaining"] == 0


@pytest.mark.parametrize(("graphql_status", "rest_status"), [(200, 403), (403, 429)])
def test_budgets_run_out_and_come_back(graphql_status: int, rest_status: int) -> None:
    limits = Limits(core=1, graphql=1, window=1, clock_skew=90)
    limits = replace(limits, graphql_status=graphql_status, rest_status=rest_status)
    with Twin(synthetic_world(), limits=limits) as twin, client(twin) as http:

        def query() -> httpx.Response:
            return http.post("/graphql", json={"query": sluice("id")})

        begun = time.time()
        fresh = query()
        while fresh.headers["x-ratelimit-used"] != "1":
            fresh = query()
        assert http.get(SLUICE).status_code == 200
        spent, refused = query(), http.get(SLUICE)
        assert spent.status_code == graphql_status
        if graphql_status == 200:
            assert spent.json()["errors"][0]["type"] == "RATE_LIMITED"
        assert refused.status_code == rest_status
        for reply in (spent, refused):
            assert reply.headers["x-ratelimit-remaining"] == "0"
        reset = int(refused.headers["x-ratelimit-reset"])
        assert begun + 60 < reset < time.time() + 93
        time.sleep(max(0.0, reset - 90 - time.time()) + 0.01)
        assert http.get(SLUICE).status_code == 200
        assert "data" in query().json()
        with client(twin, "another") as other:
            assert other.get(SLUICE).status_code == 200


def test_no_tag_of_one_token_serves_another() -> None:
    with Twin(synthetic_world()) as twin:
        with client(twin, "one") as http:
            tag = http.get(SLUICE).headers["etag"]
            assert http.get(SLUICE, headers={"If-None-Match": tag}).status_code == 304
        with client(twin, "other") as http:
            assert http.get(SLUICE, headers={"If-None-Match": tag}).status_code == 200

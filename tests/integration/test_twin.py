"""The twin against GitHub's documented behavior: strictness, costs, cursors, the schema."""

from __future__ import annotations

import lzma
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from graphql import (
    GraphQLEnumType,
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLUnionType,
    build_schema,
    get_named_type,
    graphql_sync,
    is_leaf_type,
    parse,
    validate,
)

from goldpan.miners.github import queries
from goldpan.miners.github.connections import CONNECTIONS
from goldpan.miners.github.dialect import NEWEST, Dialect, adapt
from goldpan.miners.github.queries import INTROSPECTION, NEEDS, dialect_of, lacking_columns
from tests.places import DATA
from tests.twin import (
    ERRORS,
    Editor,
    Fault,
    Faults,
    Twin,
    load_backup,
    nullable_fields,
    synthetic_world,
    workload_world,
)
from tests.twin.asking import RATE, SLUICE, ask, follow, get, sluice, titled
from tests.twin.schema import SDL
from tests.twin.world import Event


@pytest.fixture(scope="module")
def twin() -> Iterator[Twin]:
    with Twin(synthetic_world()) as running:
        yield running


@pytest.mark.parametrize(
    ("selection", "kind"),
    [
        ("issues { nodes { id } }", "MISSING_PAGINATION_BOUNDARIES"),
        ("issues { ...f } } } fragment f on IssueConnection { pageInfo { endCursor }", None),
        ("issues(first: 101) { nodes { id } }", "EXCESSIVE_PAGINATION"),
        ("issues(last: 0) { nodes { id } }", "EXCESSIVE_PAGINATION"),
        ("issues(first: 1, last: 1) { nodes { id } }", "ARGUMENT_CONFLICT"),
        (
            'issues(first: 1, after: "Y3Vyc29yOnYyOlsxXQ==") { nodes { id } }',
            "INVALID_CURSOR_ARGUMENTS",
        ),
        (
            "pullRequests(first: 100) { nodes { reviews(first: 100) { nodes "
            "{ comments(first: 100) { nodes { id } } } } } }",
            "MAX_NODE_LIMIT_EXCEEDED",
        ),
        ("issue(number: 999) { id }", "NOT_FOUND"),
        ("issue(number: 2) { id }", "NOT_FOUND"),
        ("nonsense", None),
    ],
)
def test_refuses_what_github_refuses(twin: Twin, selection: str, kind: str | None) -> None:
    errors = ask(twin, sluice(selection))["errors"]
    assert errors[0].get("type") == kind
    assert errors[0]["message"]


def test_counts_without_bounds_are_allowed(twin: Twin) -> None:
    reply = ask(twin, sluice("issues { totalCount } pullRequests { totalCount }"))
    entries = twin.world.main.entries.values()
    pulls = sum(entry.pull is not None for entry in entries)
    assert "errors" not in reply
    assert reply["data"]["repository"]["pullRequests"]["totalCount"] == pulls
    assert reply["data"]["repository"]["issues"]["totalCount"] == len(entries) - pulls


@pytest.mark.parametrize(
    ("selection", "points", "nodes"),
    [
        ("nameWithOwner", 1, 0),
        ("issues(first: 100) { nodes { id } }", 1, 100),
        # GitHub's own example: 1 + 50 + 50 x 10 requests = 5.51 points.
        (
            "pullRequests(first: 50) { nodes { reviews(first: 10) { nodes "
            "{ comments(first: 10) { nodes { id } } } } } }",
            6,
            50 + 500 + 5000,
        ),
        ("issues(first: 100) { nodes { comments { totalCount } labels { totalCount } } }", 2, 100),
        # The same connection selected twice is one.
        ("issues(first: 100) { nodes { labels { totalCount } labels { totalCount } } }", 1, 100),
        ("issues(first: 100) { nodes { labels { totalCount } } }", 1, 100),
    ],
)
def test_costs_are_githubs(twin: Twin, selection: str, points: int, nodes: int) -> None:
    rate = ask(twin, sluice(selection))["data"]["rateLimit"]
    assert (rate["cost"], rate["nodeCount"]) == (points, nodes)
    assert twin.requests[-1].points == points


def test_ids_multiply_what_is_below_them(twin: Twin) -> None:
    ids = [entry.node_id for entry in twin.world.main.entries.values()][:30]
    below = "... on Issue { a: comments { totalCount } b: labels { totalCount } }"
    query = f"query($ids: [ID!]!) {{ nodes(ids: $ids) {{ {below} {below} }} {RATE} }}"
    for count, points in ((1, 1), (25, 1), (30, 1)):
        assert ask(twin, query, ids=ids[:count])["data"]["rateLimit"]["cost"] == points
    wide = query.replace("totalCount", "totalCount ").replace("b: labels", "b: comments")
    wide = wide.replace(
        "... on Issue {",
        "... on Issue { c: labels { totalCount } d: labels { totalCount } e: labels { totalCount }",
    )
    assert ask(twin, wide, ids=ids)["data"]["rateLimit"]["cost"] == 2
    assert ask(twin, query, ids=["x"] * 101)["errors"][0]["type"] == "ARGUMENT_LIMIT"


def test_unknown_nodes_are_null_beside_errors(twin: Twin) -> None:
    node_id = twin.world.main.entries[1].node_id
    reply = ask(twin, "query($ids: [ID!]!) { nodes(ids: $ids) { id } }", ids=[node_id, "I_none"])
    assert reply["data"]["nodes"] == [{"id": node_id}, None]
    assert reply["errors"][0]["type"] == "NOT_FOUND"
    assert reply["errors"][0]["path"] == ["nodes", 1]


@pytest.mark.parametrize("parent", ["Issue", "PullRequest"])
def test_timeline_counts(twin: Twin, parent: str) -> None:
    world = twin.world
    filtered = "CROSS_REFERENCED_EVENT"
    for entry in world.main.entries.values():
        if (parent == "PullRequest") is (entry.pull is None):
            continue
        timeline = ask(
            twin,
            f"query($id: ID!) {{ node(id: $id) {{ ... on {parent} {{ all: timelineItems "
            f"{{ totalCount }} some: timelineItems(itemTypes: [{filtered}]) "
            "{ totalCount filteredCount } } } }",
            id=entry.node_id,
        )["data"]["node"]
        rest = follow(twin, f"{SLUICE}/issues/{entry.number}/timeline?per_page=100")
        count = sum(event["event"] == "cross-referenced" for event in rest)
        assert timeline["all"]["totalCount"] == len(rest)
        assert timeline["some"]["filteredCount"] == count
        total = len(rest) if parent == "PullRequest" else count
        assert timeline["some"]["totalCount"] == total


def test_cursors_page_through_and_stay_in_their_connection(twin: Twin) -> None:
    query = """query($n: Int!, $after: String) { repository(owner: "prospector", name: "sluice") {
      issue(number: $n) { comments(first: 50, after: $after) {
        totalCount pageInfo { hasNextPage endCursor } nodes { id } } } } }"""
    number = titled(twin.world, "What should 1.0 contain?")
    seen, after = [], None
    while True:
        reply = ask(twin, query, n=number, after=after)
        page = reply["data"]["repository"]["issue"]["comments"]
        seen += [node["id"] for node in page["nodes"]]
        after = page["pageInfo"]["endCursor"]
        if not page["pageInfo"]["hasNextPage"]:
            break
    assert len(set(seen)) == len(seen) == page["totalCount"] == 120
    assert ask(twin, query, n=1, after=after)["errors"][0]["type"] == "INVALID_CURSOR_ARGUMENTS"


def test_sweeps_go_on_where_they_were_after_a_change() -> None:
    world = workload_world(6, 0, comments=1)
    variables: dict[str, Any] = {
        "owner": "workload",
        "name": "mill",
        "first": 3,
        "field": "UPDATED_AT",
        "direction": "ASC",
    }
    with Twin(world) as twin:
        first = ask(twin, queries.sweep_document("issue"), **variables)["data"]["repository"][
            "issues"
        ]
        Editor(world).comment(2, "bump")
        after = first["pageInfo"]["endCursor"]
        rest = ask(twin, queries.sweep_document("issue"), after=after, **{**variables, "first": 10})
    assert [node["number"] for node in first["nodes"]] == [1, 2, 3]
    numbers = [node["number"] for node in rest["data"]["repository"]["issues"]["nodes"]]
    assert numbers == [4, 5, 6, 2]


def everything(schema: GraphQLSchema, kind: Any, depth: int) -> str:
    """Return a selection of all fields of a type, each under a name of its own."""
    parts = ["__typename"]
    if isinstance(kind, GraphQLUnionType | GraphQLInterfaceType):
        for member in schema.get_possible_types(kind):
            parts.append(f"... on {member.name} {{ {everything(schema, member, depth)} }}")
        return " ".join(parts)
    for name, field in kind.fields.items():
        inner = get_named_type(field.type)
        text = f"{kind.name}_{name}: {name}"
        if "number" in field.args:
            continue
        if "first" in field.args:
            text += "(first: 1)"
        if is_leaf_type(inner):
            parts.append(text)
        elif depth or inner.name == "PageInfo":
            parts.append(f"{text} {{ {everything(schema, inner, depth - 1)} }}")
    return " ".join(parts)


@pytest.mark.parametrize(
    "kind",
    [
        "Issue",
        "PullRequest",
        "Repository",
        "IssueComment",
        "PullRequestReview",
        "PullRequestReviewComment",
    ],
)
def test_every_field_of_the_schema_has_an_answer(twin: Twin, kind: str) -> None:
    schema = build_schema(SDL)
    selection = everything(schema, schema.type_map[kind], 3)
    query = f"query($id: ID!) {{ node(id: $id) {{ ... on {kind} {{ {selection} }} }} }}"
    ids = ask(
        twin,
        sluice(
            "id issues(last: 8) { nodes { id comments(last: 1) { nodes { id } } } } "
            "pullRequests(last: 9) { nodes { id reviews(last: 2) { nodes { id comments(first: 1) "
            "{ nodes { id } } } } } }"
        ),
    )
    count = 0
    for identity in set(re.findall(r"'id': '([^']+)'", str(ids))):
        reply = ask(twin, query, id=identity)
        assert "errors" not in reply, reply["errors"][:2]
        count += len(reply["data"]["node"]) > 0
    assert count


def test_nullable_fields_answer_null_when_told() -> None:
    world = synthetic_world()
    ids = [entry.node_id for entry in world.main.entries.values() if entry.pull][:3]
    used = [pair for pair in nullable_fields() if pair[0] == "PullRequest"]
    assert ("PullRequest", "author") in used
    for pair in used:
        with Twin(world, null_fields={pair}) as twin:
            reply = ask(twin, queries.entries_document("pull"), ids=ids)
        assert "errors" not in reply
        answers = [node[pair[1]] for node in reply["data"]["nodes"] if pair[1] in node]
        assert answers == [None] * len(answers)
    with pytest.raises(ValueError, match="not nullable"):
        Twin(world, null_fields={("Issue", "title")})


def test_history_agrees_with_itself() -> None:
    worlds = [synthetic_world(), synthetic_world()]
    assert worlds[0].main.entries == worlds[1].main.entries
    for world in (worlds[0], workload_world(20, 20)):
        for entry in world.main.entries.values():
            for item in entry.timeline:
                if not isinstance(item, Event):
                    continue
                for ref in (item.source, item.subject, item.canonical, item.duplicate):
                    assert ref is None or world.entry(ref) is not None
            if entry.pull:
                assert sum(file.additions for file in entry.pull.files) == entry.pull.additions


def real_data(path: str) -> Path:
    file = DATA / "github" / path
    if not file.exists():
        pytest.skip(f"real data is missing: {file.name}")
    return file


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


def test_lacking_columns_are_named() -> None:
    lacks = frozenset({("Issue", "issueType"), ("IssueType", "__typename")})
    assert lacking_columns(Dialect(lacks)) == ["entries.issue_type"]


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
                assert {key: str(argument.type) for key, argument in field.args.items()} == {
                    key: str(argument.type) for key, argument in other.args.items()
                }, f"{name}.{field_name}"
        elif hasattr(kind, "values"):
            assert set(kind.values) == set(theirs.values)
    dialect = dialect_of(introspect(github))
    assert {need for need in dialect.lacks if need in NEWER} == NEWER
    for document in documents(dialect):
        assert validate(github, parse(document)) == []


@pytest.mark.nightly
@pytest.mark.real_data
def test_a_backup_is_served_whole() -> None:
    path = real_data("bitcoin-core__secp256k1/entries.jsonl.xz")
    name = "bitcoin-core/secp256k1"
    world = load_backup(path, name)
    entries = world.main.entries.values()
    assert len(entries) == 1825
    assert sum(len(entry.comments) for entry in entries) == 9372
    assert sum(1 for entry in entries for _ in entry.review_comments()) == 6018
    with Twin(world) as twin:
        assert len(follow(twin, f"/repos/{name}/issues?state=all&per_page=100")) == 1825
        for kind in ("issue", "pull"):
            expected = [
                entry.node_id for entry in entries if (entry.pull is None) is (kind == "issue")
            ]
            for start in range(0, 500, 25):
                ids = expected[start : start + 25]
                reply = ask(twin, queries.entries_document(kind), ids=ids)
                assert "errors" not in reply
                for node in reply["data"]["nodes"]:
                    assert node["timeline"]["totalCount"] == len(
                        world.main.entries[node["number"]].timeline
                    )


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("recorded", "name", "headers"),
    [
        ("Exceptions.testNonJsonDataReturnedByGithub", "503 html", {"content-type"}),
        ("SpecificExceptions.testAuthenticatedRateLimitExceeded", "abuse", {"retry-after"}),
        ("Retry.testReturnsRepoAfter1Retry", "500", {"x-ratelimit-limit", "content-type"}),
        ("Authentication.testAuthorizationHeaderWithLogin", "401", {"content-type"}),
        ("GitRelease.testDelete", "404", {"x-ratelimit-limit", "content-type"}),
    ],
)
def test_errors_are_those_recorded(recorded: str, name: str, headers: set[str]) -> None:
    lines = lzma.decompress(real_data("recorded/exchanges.jsonl.xz").read_bytes()).splitlines()
    exchanges = [orjson.loads(line) for line in lines]
    exchange = next(
        exchange
        for exchange in exchanges
        if exchange["name"] == recorded and exchange["status"] == ERRORS[name].status
    )
    with Twin(synthetic_world(), Faults(chosen=[Fault(name, wait=60)])) as twin:
        reply = get(twin, SLUICE)
    for header in headers:
        assert reply.headers[header] == exchange["headers"][header]
    limited = {"x-ratelimit-limit", "retry-after"}
    assert limited & set(reply.headers) == limited & set(exchange["headers"])
    if exchange["body"].startswith("<"):
        assert reply.text == exchange["body"]
        return
    refusal, body = orjson.loads(exchange["body"]), reply.json()
    assert body.get("message") == refusal.get("message")
    assert body.get("error") == refusal.get("error")


@pytest.mark.real_data
def test_redirects_are_those_recorded() -> None:
    lines = lzma.decompress(real_data("recorded/exchanges.jsonl.xz").read_bytes()).splitlines()
    exchange = next(
        exchange
        for exchange in map(orjson.loads, lines)
        if exchange["status"] == 301 and exchange["body"]
    )
    world = synthetic_world()
    Editor(world).rename("prospector/rocker")
    with Twin(world) as twin:
        reply = get(twin, SLUICE)
    refusal = orjson.loads(exchange["body"])
    assert reply.json().items() >= {"message": refusal["message"]}.items()
    assert set(refusal) <= set(reply.json())
    assert reply.json()["url"] == reply.headers["location"]
    assert refusal["url"] == exchange["headers"]["location"]

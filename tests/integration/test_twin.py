"""The twin against GitHub's documented behavior: strictness, costs, cursors, what it tells."""

from __future__ import annotations

import lzma
import re
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from graphql import (
    GraphQLInterfaceType,
    GraphQLSchema,
    GraphQLUnionType,
    build_schema,
    get_named_type,
    is_leaf_type,
)

from goldpan.miners.github import queries
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
from tests.twin.asking import RATE, SLUICE, ask, follow, get, real_data, sluice
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


def test_sweeps_go_on_where_they_were_after_a_change() -> None:
    world = workload_world(6, 0, comments=1)
    order = {"owner": "workload", "name": "mill", "field": "UPDATED_AT", "direction": "ASC"}

    def sweep(first: int, **more: Any) -> Any:
        reply = ask(mill, queries.sweep_document("issue"), first=first, **order, **more)
        return reply["data"]["repository"]["issues"]

    with Twin(world) as mill:
        begun = sweep(3)
        Editor(world).comment(2, "bump")
        rest = sweep(10, after=begun["pageInfo"]["endCursor"])
    assert [node["number"] for node in begun["nodes"]] == [1, 2, 3]
    assert [node["number"] for node in rest["nodes"]] == [4, 5, 6, 2]


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


REVIEWED = ("PullRequestReview", "PullRequestReviewComment")


@pytest.mark.parametrize("kind", ["Issue", "PullRequest", "Repository", "IssueComment", *REVIEWED])
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


@pytest.fixture(scope="module")
def exchanges() -> list[dict[str, Any]]:
    """Return what was recorded of GitHub itself."""
    lines = lzma.decompress(real_data("recorded/exchanges.jsonl.xz").read_bytes()).splitlines()
    return [orjson.loads(line) for line in lines]


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
def test_errors_are_those_recorded(
    exchanges: list[dict[str, Any]], recorded: str, name: str, headers: set[str]
) -> None:
    (exchange, *_) = (
        exchange
        for exchange in exchanges
        if (exchange["name"], exchange["status"]) == (recorded, ERRORS[name].status)
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
def test_redirects_are_those_recorded(exchanges: list[dict[str, Any]]) -> None:
    exchange = next(
        exchange for exchange in exchanges if exchange["status"] == 301 and exchange["body"]
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

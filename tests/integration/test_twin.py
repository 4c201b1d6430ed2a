"""The twin against GitHub's documented behavior: strictness, costs, cursors, what it tells."""

from __future__ import annotations

import lzma
from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from goldpan.miners.github import queries
from tests.twin import ERRORS, Editor, Fault, Faults, Twin, synthetic_world, workload_world
from tests.twin.asking import RATE, SLUICE, ask, follow, get, real_data, sluice


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
    lists = " ".join(f"l{at}: labels {{ totalCount }}" for at in range(5))
    query = f"query($ids: [ID!]!) {{ nodes(ids: $ids) {{ ... on Issue {{ {lists} }} }} {RATE} }}"
    for count, points in ((1, 1), (20, 1), (30, 2)):
        assert ask(twin, query, ids=ids[:count])["data"]["rateLimit"]["cost"] == points
    assert ask(twin, query, ids=["x"] * 101)["errors"][0]["type"] == "ARGUMENT_LIMIT"


def test_unknown_nodes_are_null_beside_errors(twin: Twin) -> None:
    node_id = twin.world.main.entries[1].node_id
    reply = ask(twin, "query($ids: [ID!]!) { nodes(ids: $ids) { id } }", ids=[node_id, "I_none"])
    assert reply["data"]["nodes"] == [{"id": node_id}, None]
    assert reply["errors"][0]["type"] == "NOT_FOUND"
    assert reply["errors"][0]["path"] == ["nodes", 1]


@pytest.mark.parametrize("parent", ["Issue", "PullRequest"])
def test_timeline_counts(twin: Twin, parent: str) -> None:
    query = f"""query($id: ID!) {{ node(id: $id) {{ ... on {parent} {{
        all: timelineItems {{ totalCount }}
        some: timelineItems(itemTypes: [CROSS_REFERENCED_EVENT]) {{ totalCount filteredCount }}
    }} }} }}"""
    for entry in twin.world.main.entries.values():
        if (parent == "PullRequest") is (entry.pull is None):
            continue
        timeline = ask(twin, query, id=entry.node_id)["data"]["node"]
        rest = follow(twin, f"{SLUICE}/issues/{entry.number}/timeline?per_page=100")
        count = sum(event["event"] == "cross-referenced" for event in rest)
        total = len(rest) if parent == "PullRequest" else count
        assert timeline["all"]["totalCount"] == len(rest)
        assert timeline["some"] == {"totalCount": total, "filteredCount": count}


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

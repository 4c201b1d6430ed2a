"""The twin against GitHub's documented behavior: strictness, costs, cursors, lists, redirects."""

from __future__ import annotations

import lzma
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import orjson
import pytest

from goldpan.miners.github import queries
from tests.twin import ERRORS, Editor, Fault, Faults, Paging, Twin, synthetic_world, workload_world
from tests.twin.asking import RATE, SLUICE, ask, client, follow, get, real_data, sluice
from tests.twin.world import Ref


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


CURSORS = Paging()
NUMBERS = Paging({})
ISSUES = f"{SLUICE}/issues?state=all&per_page=20"


def walk(http: httpx.Client, url: str) -> list[httpx.Response]:
    """Follow the links to the end or to the first page that is refused."""
    pages = [http.get(url)]
    while "next" in pages[-1].links:
        pages.append(http.get(pages[-1].links["next"]["url"]))
    return pages


def numbers(pages: list[httpx.Response]) -> list[int]:
    return [row["number"] for page in pages for row in page.json()]


def query(url: str) -> dict[str, list[str]]:
    return parse_qs(urlsplit(url).query)


def test_rest_pages_are_reached_by_link_only(twin: Twin) -> None:
    everything = follow(twin, f"{SLUICE}/issues?state=all&per_page=7&sort=updated&direction=asc")
    assert sorted(row["number"] for row in everything) == sorted(twin.world.main.entries)
    times = [row["updated_at"] for row in everything]
    assert times == sorted(times)
    assert get(twin, f"{SLUICE}/issues?state=all&page=2").status_code == 422
    pulls = [row for row in everything if "pull_request" in row]
    counting = get(twin, f"{SLUICE}/pulls?state=all&per_page=1")
    assert f"&page={len(pulls)}&" in counting.links["last"]["url"]
    assert len(get(twin, f"{SLUICE}/issues?state=all&per_page=500").json()) == len(everything)
    since = times[len(times) // 2]
    later = follow(twin, f"{SLUICE}/issues?state=all&since={since}")
    assert len(later) == sum(moment >= since for moment in times)


def test_renames_redirect_deletions_are_gone_blocks_are_451() -> None:
    world = synthetic_world()
    editor = Editor(world)
    with Twin(world) as twin:
        editor.rename("prospector/rocker")
        editor.delete_entry(1)
        moved = get(twin, f"{SLUICE}/issues/3?x=1")
        assert moved.status_code == 301
        assert moved.headers["location"] == f"{twin.url}/repositories/61000001/issues/3?x=1"
        repository = get(twin, moved.headers["location"]).json()
        assert repository["repository_url"].endswith("/repos/prospector/rocker")
        name = ask(twin, sluice("nameWithOwner"))["data"]["repository"]["nameWithOwner"]
        assert name == "prospector/rocker"
        for path, status in (("rocker/issues/1", 410), ("rocker/issues/999", 404), ("none", 404)):
            assert get(twin, f"/repos/prospector/{path}").status_code == status
        editor.transfer_out(3, Ref("prospector/pan", 1))
        away = get(twin, "/repos/prospector/rocker/issues/3").headers["location"]
        assert get(twin, away).json()["number"] == 1
        editor.block()
        assert get(twin, "/repos/prospector/rocker").status_code == 451


@pytest.mark.parametrize("sort", ["created", "updated", "comments"])
@pytest.mark.parametrize("direction", ["asc", "desc"])
def test_cursors_lead_to_every_entry(sort: str, direction: str) -> None:
    with Twin(synthetic_world(), paging=CURSORS) as twin, client(twin) as http:
        ordered = f"{ISSUES}&sort={sort}&direction={direction}"
        pages = walk(http, ordered)
        whole = http.get(ordered.replace("per_page=20", "per_page=100")).json()
        assert numbers(pages) == [row["number"] for row in whole]
        following = pages[0].links["next"]["url"]
        assert re.match(rf"{twin.url}/repositories/61000001/issues\?state=all&", following)
        assert query(following)["page"] == ["2"]
        assert query(following)["after"][0].startswith("Y3Vyc29yOnYyO")
        assert [set(page.links) for page in pages] == [{"next"}, {"next"}, set()]


def test_deletions_do_not_shift_pages_by_cursor() -> None:
    def listed(paging: Paging) -> list[int]:
        world = synthetic_world()
        with Twin(world, paging=paging) as twin, client(twin) as http:
            first = http.get(f"{ISSUES}&direction=asc")
            for row in first.json()[:3]:
                Editor(world).delete_entry(row["number"])
            return numbers([first, *walk(http, first.links["next"]["url"])])

    assert len(listed(CURSORS)) == 60
    assert len(listed(NUMBERS)) == 57

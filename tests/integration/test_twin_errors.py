"""Named errors of the twin: each as GitHub sends it, where and as often as it was chosen."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from goldpan.miners.connections import CONNECTIONS, REVIEW_COMMENTS
from goldpan.miners.github import queries
from tests.twin import ERRORS, Fault, Faults, Twin, World, synthetic_world
from tests.twin.asking import SLUICE, client, titled

TIMELINE = f"{SLUICE}/issues/1/timeline"


def post(http: httpx.Client, document: str, **variables: Any) -> httpx.Response:
    return http.post("/graphql", json={"query": document, "variables": variables})


def issues(http: httpx.Client, world: World, numbers: Sequence[int]) -> httpx.Response:
    ids = [world.main.entries[number].node_id for number in numbers]
    return post(http, queries.entries_document("issue"), ids=ids)


def outcome(reply: httpx.Response) -> tuple[int, str]:
    """Return the status, and what stands in the body: a few words of it."""
    kind = reply.headers["content-type"].partition(";")[0]
    text = reply.json() if kind == "application/json" and reply.text[:1] == "{" else reply.text
    return reply.status_code, str(text)


@pytest.mark.parametrize(
    ("name", "status", "words", "headers"),
    [
        ("500", 500, "Server Error", {"x-ratelimit-limit": "5000"}),
        ("500 diff", 500, "diff is taking too long to generate", {}),
        ("422 diff", 422, "'code': 'not_available'", {}),
        ("502", 502, "{'message': 'Server Error'}", {}),
        ("502 html", 502, "502 Bad Gateway", {"x-ratelimit-limit": None}),
        ("503 html", 503, "No server is available", {"content-type": "application/json"}),
        ("504", 504, "couldn't respond to your request in time", {}),
        ("504 html", 504, "504 Gateway Time-out", {"content-type": "text/html"}),
        ("unicorn", 502, "Unicorn! &middot; GitHub", {"content-type": "text/html"}),
        ("200 html", 200, "Unicorn! &middot; GitHub", {"content-type": "text/html"}),
        ("secondary 403", 403, "secondary rate limit", {"retry-after": "7"}),
        ("secondary 403 without Retry-After", 403, "secondary rate", {"retry-after": None}),
        ("secondary 429", 429, "secondary rate limit", {"retry-after": "7"}),
        ("secondary 429 without Retry-After", 429, "secondary rate", {"retry-after": None}),
        ("secondary 200", 200, "secondary rate limit", {"retry-after": "7"}),
        ("secondary 200 without Retry-After", 200, "secondary rate", {"retry-after": None}),
        ("whoa 429", 429, "Whoa there!", {"retry-after": "7", "content-type": "text/html"}),
        ("whoa 403", 403, "Whoa there!", {"retry-after": None, "x-ratelimit-limit": None}),
        ("abuse", 403, "abuse detection", {"retry-after": "7", "x-ratelimit-limit": None}),
        ("primary 403", 403, "API rate limit exceeded", {"x-ratelimit-remaining": "0"}),
        ("primary 429", 429, "API rate limit exceeded", {"x-ratelimit-remaining": "0"}),
        (
            "primary 403 with points left",
            403,
            "API rate limit exceeded",
            {"x-ratelimit-remaining": "5000"},
        ),
        ("401", 401, "Bad credentials", {"x-ratelimit-limit": None}),
        ("suspended", 403, "Your account was suspended", {}),
        ("IP allow list", 403, "has an IP allow list enabled", {}),
        ("SAML", 403, "organization SAML enforcement", {"x-github-sso": "required; "}),
        ("fine-grained token", 403, "not accessible by personal access token", {}),
        ("404", 404, "Not Found", {}),
        ("405", 405, "405 Not Allowed", {"content-type": "text/html"}),
        ("410", 410, "This issue was deleted", {}),
        ("451", 451, "'reason': 'dmca'", {}),
    ],
)
def test_errors_of_both_apis(
    name: str, status: int, words: str, headers: dict[str, str | None]
) -> None:
    faults = Faults(chosen=[Fault(name, wait=7)])
    with Twin(synthetic_world(), faults) as twin, client(twin) as http:
        for reply in (http.get(TIMELINE), issues(http, twin.world, [1])):
            actual, text = outcome(reply)
            assert actual == status
            assert words in text
            for header, value in headers.items():
                header_value = reply.headers.get(header)
                assert (header_value or "").startswith(value or "") and (header_value is None) == (
                    value is None
                )
        assert [request.fault for request in twin.requests] == [name, name]
        free = ERRORS[name].kind in ("secondary", "primary", "token")
        assert [request.points for request in twin.requests] == [0, 0] if free else [1, 1]


@pytest.mark.parametrize(
    ("name", "status", "words"),
    [
        ("graphql 500", 500, "'data': None, 'errors': [{'message': 'Something went wrong"),
        ("graphql 502", 502, "This may be the result of a timeout"),
        ("graphql 200", 200, "{'errors': [{'message': 'Something went wrong"),
        ("secondary in errors", 200, "[{'message': 'You have exceeded a secondary rate limit"),
        ("RATE_LIMITED", 200, "'type': 'RATE_LIMITED'"),
        ("RATE_LIMIT", 200, "'type': 'RATE_LIMIT'"),
    ],
)
def test_errors_of_graphql(name: str, status: int, words: str) -> None:
    with Twin(synthetic_world(), Faults(chosen=[Fault(name)])) as twin, client(twin) as http:
        actual, text = outcome(issues(http, twin.world, [1]))
        assert actual == status
        assert words in text
        assert http.get(TIMELINE).status_code == 200


@pytest.mark.parametrize("name", ["cut", "truncated", "unexpected EOF", "half", "late"])
def test_deliveries_that_break(name: str) -> None:
    world = synthetic_world()
    with Twin(world) as twin, client(twin) as http:
        assert issues(http, world, [1]).status_code == 200  # later ones are quicker
        twin.faults = Faults(chosen=[Fault(name, wait=3, times=2)])
        http.timeout = httpx.Timeout(1.5 if name == "late" else 300.0)
        expected = ValueError if name == "half" else httpx.TransportError
        with pytest.raises(expected):
            http.get(TIMELINE).json()
        with pytest.raises(expected):
            issues(http, world, [1]).json()
        http.timeout = httpx.Timeout(300.0)
        assert http.get(TIMELINE).json() != []
        assert issues(http, world, [1]).json()["data"]["nodes"][0]["number"] == 1


def test_every_error_is_tried_here() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    assert [name for name in ERRORS if f'"{name}"' not in text] == []


def test_parts_that_lack_of_one_entry() -> None:
    world = synthetic_world()
    number = titled(world, "Streams over HTTP")

    def outcome_of(fault: Fault) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the entry's node and the error."""
        with Twin(world, Faults(chosen=[fault])) as twin, client(twin) as http:
            reply = issues(http, world, [1, number, 3]).json()
        assert reply["data"]["nodes"][0]["number"] == 1
        assert reply["data"]["nodes"][2]["number"] == 3
        [error] = reply["errors"]
        return reply["data"]["nodes"][1], error

    node, error = outcome_of(Fault("NOT_FOUND", "Entries", number))
    assert node is None
    assert (error["type"], error["path"]) == ("NOT_FOUND", ["nodes", 1])
    assert world.main.entries[number].node_id in error["message"]
    node, error = outcome_of(Fault("FORBIDDEN", "Entries", number, "timelineItems"))
    *others, last = node["timelineItems"]["nodes"]
    assert last is None and all(others)
    assert error["path"] == ["nodes", 1, "timelineItems", "nodes", len(others)]
    assert error["extensions"] == {"saml_failure": False}
    node, error = outcome_of(Fault("FORBIDDEN by SAML", "Entries", number))
    assert (node, error["extensions"]) == (None, {"saml_failure": True})
    node, error = outcome_of(Fault("RESOURCE_LIMITS_EXCEEDED", "Issues", number))
    assert node is None
    assert error["path"] == ["nodes", 1, "comments"]
    node, error = outcome_of(Fault("SOMETHING_WENT_WRONG", "GraphQL", number))
    assert (node, error["path"]) == (None, ["nodes", 1])
    node, error = outcome_of(Fault("path to nowhere", "Entries", number))
    assert node["number"] == number
    assert error["path"] == ["nodes", 1_000, "timelineItems"]
    node, error = outcome_of(Fault("no path", "Entries", number))
    assert node["number"] == number
    assert "path" not in error


def test_a_list_of_one_entry_can_be_left_out() -> None:
    world = synthetic_world()
    heavy = Fault("502", "GraphQL", 1, "timelineItems")
    with Twin(world, Faults(chosen=[heavy])) as twin, client(twin) as http:
        ids = [world.main.entries[1].node_id]
        assert issues(http, world, [1, 3]).status_code == 502
        assert issues(http, world, [3]).status_code == 200
        bare = (
            "query Issues($ids: [ID!]!) { nodes(ids: $ids) { ... on Issue "
            "{ number timelineItems { totalCount } comments(first: 5) { nodes { id } } } } }"
        )
        assert post(http, bare, ids=ids).json()["data"]["nodes"][0]["number"] == 1
        rest = queries.continuations_document(
            [CONNECTIONS["Issue", "comments"], CONNECTIONS["Issue", "timelineItems"]]
        )
        other, same = world.main.entries[3].node_id, ids[0]
        assert post(http, rest, i0=same, i1=other).status_code == 200
        assert post(http, rest, i0=other, i1=same).status_code == 502


def test_faults_of_threads_belong_to_their_pull_request() -> None:
    world = synthetic_world()
    document = queries.continuations_document([REVIEW_COMMENTS])
    pulls = [entry for entry in world.main.entries.values() if list(entry.review_comments())]
    with Twin(world) as twin, client(twin) as http:
        threads = post(
            http, queries.entries_document("pull"), ids=[pull.node_id for pull in pulls[:2]]
        ).json()["data"]["nodes"]
        first, second = (node["reviewThreads"]["nodes"][0]["id"] for node in threads)
        lists = (None, "PullRequestReviewThread.comments")
        for name in lists:
            twin.faults = Faults(chosen=[Fault("500", "Continuations", pulls[0].number, name)])
            assert post(http, document, i0=first).status_code == 500
            assert post(http, document, i0=second).status_code == 200


def test_faults_are_chosen_by_route_entry_token_and_turn() -> None:
    def statuses(fault: Fault, paths: Sequence[str], token: str = "t0") -> list[int]:
        with Twin(synthetic_world(), Faults(chosen=[fault])) as twin, client(twin, token) as http:
            return [http.get(f"{SLUICE}{path}").status_code for path in paths]

    timelines = ["/issues/1/timeline", "/issues/2/timeline", "/issues/1/timeline", "/issues/1"]
    assert statuses(Fault("502", "timeline", 1), timelines) == [502, 200, 502, 200]
    assert statuses(Fault("502", "timeline", 1, times=1), timelines) == [502, 200, 200, 200]
    assert statuses(Fault("502", "timeline", after=1, times=1), timelines) == [200, 502, 200, 200]
    assert statuses(Fault("502", "REST", seconds=0.0), timelines[:2]) == [502, 200]
    assert statuses(Fault("401", token="t1"), timelines, "t0") == [200] * 4
    assert statuses(Fault("401", token="t1", times=2), timelines, "t1") == [401, 401, 200, 200]
    assert statuses(Fault("404", "issue", 3), ["/issues/3", "/issues/3/timeline"]) == [404, 200]
    assert statuses(Fault("500 diff", "files"), ["/pulls/2/files", "/pulls/2"]) == [500, 200]
    lists = ["/issues", "/pulls", "/issues/comments", "/pulls/comments", ""]
    assert statuses(Fault("500", "all_comments"), lists) == [200, 200, 500, 200, 200]
    assert statuses(Fault("500", "repository"), lists) == [200, 200, 200, 200, 500]


def test_sweeps_fail_too() -> None:
    variables = {"owner": "prospector", "name": "sluice", "first": 5, "after": None}
    order = {"field": "CREATED_AT", "direction": "ASC"}
    with Twin(synthetic_world()) as twin, client(twin) as http:

        def sweep() -> httpx.Response:
            return post(http, queries.sweep_document("issue"), **variables, **order)

        twin.faults = Faults(chosen=[Fault("502", "Sweep")])
        assert sweep().status_code == 502
        twin.faults = Faults(chosen=[Fault("FORBIDDEN", "Sweep")])
        reply = sweep().json()
        assert reply["data"]["repository"]["issues"]["nodes"][4] is None
        assert reply["errors"][0]["path"] == ["repository", "issues", "nodes", 4]
        twin.faults = Faults(chosen=[Fault("502", "Continuations")])
        assert sweep().status_code == 200


@pytest.mark.parametrize(
    "arguments",
    [("typo",), ("502", "typo"), ("NOT_FOUND", "timeline"), ("502", "timeline", 1, "comments")],
)
def test_faults_that_make_no_sense_are_refused(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError, match=r"unknown|befalls only"):
        Fault(*arguments)

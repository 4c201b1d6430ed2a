"""The twin's limits, tokens and faults: they come as announced, and end."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace

import httpx
import pytest

from goldpan.miners.github import queries
from tests.twin import Fault, Faults, Limits, Twin, heavier_than, synthetic_world
from tests.twin.asking import SLUICE, client, get, sluice
from tests.twin.faults import KINDS


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


def test_secondary_limits() -> None:
    limits = Limits(secondary_status=429, retry_after=7, concurrency=0)
    with Twin(synthetic_world(), limits=limits) as crowded:
        reply = get(crowded, SLUICE)
        assert reply.status_code == 429
        assert reply.headers["retry-after"] == "7"
        assert "secondary rate limit" in reply.json()["message"]
    with Twin(synthetic_world(), limits=Limits(retry_after=None)) as twin:
        twin.trip_secondary()
        reply = get(twin, SLUICE)
        assert reply.status_code == 403
        assert "retry-after" not in reply.headers
        assert get(twin, SLUICE).status_code == 200


@pytest.mark.parametrize("kind", KINDS)
def test_faults_end_after_the_most_in_a_row(kind: str) -> None:
    faults, world = Faults(rate=1.0, kinds=(kind,)), synthetic_world()
    ids = [entry.node_id for entry in world.main.entries.values()][:4]
    with Twin(world, faults) as twin, client(twin) as http:
        document = {"query": queries.entries_document("issue"), "variables": {"ids": ids}}
        for _ in range(3):
            with suppress(httpx.TransportError):
                http.post("/graphql", json=document)
        assert "errors" not in http.post("/graphql", json=document).json()
        assert [request.fault for request in twin.requests] == [kind, kind, kind, None]


def test_fault_rate_is_kept_and_repeatable() -> None:
    def run() -> list[str | None]:
        faults = Faults(rate=0.3, kinds=("502", "504"), seed=4, only=r"^GET .*/issues/\d")
        with Twin(synthetic_world(), faults) as twin, client(twin) as http:
            for number in range(1, 61):
                http.get(f"{SLUICE}/issues/{number}")
                http.get(f"{SLUICE}/pulls/{number}")
            return [request.fault for request in twin.requests]

    first = run()
    assert first == run()
    assert not any(first[1::2])
    assert 8 <= sum(fault is not None for fault in first) <= 28


def test_queries_fail_that_are_heavy_or_name_an_entry() -> None:
    world = synthetic_world()
    ids = [entry.node_id for entry in world.main.entries.values() if not entry.pull][:6]
    query = queries.entries_document("issue")
    numbers = [entry.number for entry in world.main.entries.values() if not entry.pull]
    faults = [
        Fault("502", when=heavier_than(4)),
        Fault("502", number=numbers[0]),
        Fault("SOMETHING_WENT_WRONG", number=numbers[1]),
    ]
    with Twin(world, Faults(chosen=faults)) as twin, client(twin) as http:

        def status(ids: list[str]) -> httpx.Response:
            return http.post("/graphql", json={"query": query, "variables": {"ids": ids}})

        assert status(ids[1:6]).status_code == 502
        assert status(ids[0:1]).status_code == 502
        partial = status(ids[1:3]).json()
        assert partial["data"]["nodes"][0] is None
        assert partial["data"]["nodes"][1]["number"]
        assert partial["errors"][0]["path"] == ["nodes", 0]
        assert "errors" not in status(ids[2:6]).json()


def statuses(twin: Twin, token: str, times: int = 3) -> list[int]:
    """Return the statuses of some requests to both APIs and of the free one."""
    codes = []
    with client(twin, token) as http:
        for _ in range(times):
            codes.append(http.get(SLUICE).status_code)
        codes.append(http.post("/graphql", json={"query": "{ __typename }"}).status_code)
        codes.append(http.get("/rate_limit").status_code)
    return codes


def test_a_token_is_refused_a_few_times_or_for_good() -> None:
    refused = [
        Fault("401", token="bogus", times=2),
        Fault("suspended", token="suspended"),
        Fault("IP allow list", token="abroad"),
        Fault("401", token="spent", after=1),
    ]
    with Twin(synthetic_world(), Faults(chosen=refused)) as twin:
        assert statuses(twin, "bogus") == [401, 401, 200, 200, 200]
        assert statuses(twin, "suspended") == [403] * 5
        assert statuses(twin, "abroad") == [403] * 5
        assert statuses(twin, "spent") == [200, 401, 401, 401, 401]
        assert statuses(twin, "good") == [200] * 5


def test_a_token_expires() -> None:
    limits = Limits(expires={"ghs_old": time.time() - 1, "ghs_new": time.time() + 3_600})
    with Twin(synthetic_world(), limits=limits) as twin:
        assert statuses(twin, "ghs_old") == [401] * 5
        assert statuses(twin, "ghs_new") == [200] * 5


def test_tokens_have_budgets_of_their_own() -> None:
    limits = Limits(of_token={"actions": 1_000, "enterprise": 15_000})
    with Twin(synthetic_world(), limits=limits) as twin:
        for token, limit in (("actions", 1_000), ("enterprise", 15_000), ("usual", 5_000)):
            with client(twin, token) as http:
                graphql = http.post("/graphql", json={"query": "{ __typename }"})
                replies = [http.get(SLUICE), graphql]
            assert [reply.headers["x-ratelimit-limit"] for reply in replies] == [str(limit)] * 2


def test_no_tag_of_one_token_serves_another() -> None:
    with Twin(synthetic_world()) as twin:
        with client(twin, "one") as http:
            tag = http.get(SLUICE).headers["etag"]
            assert http.get(SLUICE, headers={"If-None-Match": tag}).status_code == 304
        with client(twin, "other") as http:
            assert http.get(SLUICE, headers={"If-None-Match": tag}).status_code == 200

"""The twin's limits, tokens and faults: they come as announced, and end."""

from __future__ import annotations

import time
from dataclasses import replace

import httpx
import pytest

from tests.twin import Limits, Twin, synthetic_world
from tests.twin.asking import SLUICE, client, sluice


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

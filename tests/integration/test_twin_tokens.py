"""The twin's tokens: refused for a while or for good, expiring, each with tags of its own."""

from __future__ import annotations

import time

import httpx

from tests.twin import Fault, Faults, Limits, Twin, synthetic_world
from tests.twin.asking import SLUICE, client


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
                replies: list[httpx.Response] = [
                    http.get(SLUICE),
                    http.post("/graphql", json={"query": "{ __typename }"}),
                ]
            assert [reply.headers["x-ratelimit-limit"] for reply in replies] == [str(limit)] * 2


def test_no_tag_of_one_token_serves_another() -> None:
    with Twin(synthetic_world()) as twin:
        with client(twin, "one") as http:
            tag = http.get(SLUICE).headers["etag"]
            assert http.get(SLUICE, headers={"If-None-Match": tag}).status_code == 304
        with client(twin, "other") as http:
            assert http.get(SLUICE, headers={"If-None-Match": tag}).status_code == 200

"""Recorded replies of the real GitHub: each is judged by name, and no body stops a parser."""

from __future__ import annotations

import lzma
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import orjson
import pytest

from goldpan.miners.replies import HttpReply, Verdict, parse_json, read_reply
from goldpan.miners.tables import parse_rest
from goldpan.miners.tables.rows import Rows
from tests.places import DATA

SOURCE = DATA / "github" / "recorded" / "exchanges.jsonl.xz"

pytestmark = [
    pytest.mark.real_data,
    pytest.mark.skipif(
        not SOURCE.exists(),
        reason=f"{SOURCE} is missing; set GOLDPAN_REAL_DATA to the real data's folder",
    ),
]

Exchange = dict[str, Any]
COUNTS = {
    (Verdict.DONE, 200): 1374,
    (Verdict.DONE, 201): 187,
    (Verdict.DONE, 202): 11,
    (Verdict.DONE, 204): 151,
    (Verdict.DONE, 205): 3,
    (Verdict.DONE, 304): 26,
    (Verdict.REDIRECT, 301): 5,
    (Verdict.REDIRECT, 302): 10,
    (Verdict.PRIMARY, 403): 1,
    (Verdict.SECONDARY, 403): 1,
    (Verdict.FAILED, 200): 17,
    (Verdict.FAILED, 500): 1,
    (Verdict.FAILED, 502): 1,
    (Verdict.FAILED, 503): 1,
    (Verdict.TOKEN, 401): 4,
    (Verdict.TOKEN, 403): 1,
    (Verdict.REFUSED, 400): 2,
    (Verdict.REFUSED, 403): 9,
    (Verdict.REFUSED, 404): 41,
    (Verdict.REFUSED, 409): 2,
    (Verdict.REFUSED, 422): 11,
}


@pytest.fixture(scope="module")
def exchanges() -> list[Exchange]:
    lines = lzma.decompress(SOURCE.read_bytes()).splitlines()
    return [orjson.loads(line) for line in lines]


def judged(exchanges: list[Exchange]) -> Iterator[tuple[Exchange, HttpReply]]:
    for exchange in exchanges:
        graphql = exchange["path"].endswith("/graphql")
        headers = {name.lower(): value for name, value in exchange["headers"].items()}
        yield (
            exchange,
            read_reply(exchange["status"], headers, exchange["body"].encode(), graphql=graphql),
        )


def test_every_reply_has_its_verdict(exchanges: list[Exchange]) -> None:
    assert len(exchanges) == 1859
    counts = Counter((reply.verdict, reply.status) for _, reply in judged(exchanges))
    assert counts == COUNTS


def test_every_problem_is_told_in_a_line(exchanges: list[Exchange]) -> None:
    for _, reply in judged(exchanges):
        if reply.verdict not in (Verdict.DONE,):
            assert reply.problem.startswith(f"HTTP {reply.status}")
            assert "<" not in reply.problem
            assert len(reply.problem) < 400


KINDS: dict[str, str] = {
    "issue": r"/repos/[^/]+/[^/]+/issues/\d+",
    "issues": r"/(?:repos/[^/]+/[^/]+|repositories/\d+)/issues",
    "pull": r"/repos/[^/]+/[^/]+/pulls/\d+",
    "pulls": r"/repos/[^/]+/[^/]+/pulls",
    "comments": r"/(?:repos/[^/]+/[^/]+|repositories/\d+)/issues/(?:\d+/)?comments",
    "review comments": r"/repos/[^/]+/[^/]+/pulls/(?:\d+/)?comments",
    "timeline": r"/repos/[^/]+/[^/]+/issues/\d+/timeline",
    "files": r"/repos/[^/]+/[^/]+/pulls/\d+/files",
    "sub-issues": r"/repos/[^/]+/[^/]+/issues/\d+/sub_issues",
    "blocked by": r"/repos/[^/]+/[^/]+/issues/\d+/dependencies/blocked_by",
}
"""Kinds of body, and the paths that answer with them."""

PARSERS: dict[str, Callable[[Rows, Any], None]] = {
    "issue": parse_rest.parse_entry,
    "issues": lambda rows, data: parse_rest.parse_list(rows, "issues", data),
    "pull": parse_rest.parse_pull,
    "pulls": lambda rows, data: parse_rest.parse_list(rows, "pulls", data),
    "comments": lambda rows, data: parse_rest.parse_list(rows, "comments", data),
    "review comments": lambda rows, data: parse_rest.parse_list(rows, "review_comments", data),
    "timeline": lambda rows, data: parse_rest.parse_timeline(rows, 1, data, is_pull=False),
    "files": lambda rows, data: parse_rest.parse_own_list(rows, 1, "files", data),
    "sub-issues": lambda rows, data: parse_rest.parse_own_list(rows, 1, "sub_issues", data),
    "blocked by": lambda rows, data: parse_rest.parse_own_list(rows, 1, "blocked_by", data),
}


LOST = {"issues": 2_325, "comments": 5, "review comments": 3}
"""Rows that cannot be had of a kind of body: the recordings of Issue216 were cut down to ids, and
comments of 2012 do not say where they belong."""


@pytest.mark.parametrize("kind", KINDS)
def test_every_body_is_parsed(kind: str, exchanges: list[Exchange]) -> None:
    is_list = kind not in ("issue", "pull")
    bodies = [
        data
        for exchange, reply in judged(exchanges)
        if exchange["method"] == "GET" and reply.verdict is Verdict.DONE
        if re.fullmatch(KINDS[kind], exchange["path"].partition("?")[0])
        if isinstance(
            data := parse_json(exchange["body"].encode() or b"null"), list if is_list else dict
        )
    ]
    assert bodies
    rows = Rows("PyGithub/PyGithub", ("github.com",))
    for sequence, data in enumerate(bodies):
        rows.begin(sequence)
        PARSERS[kind](rows, data)
    made = rows.tables()
    lost = made["losses"].to_pylist() if "losses" in made else []
    assert len(lost) == LOST.get(kind, 0), Counter(row["reason"][:60] for row in lost)
    assert len(made) > ("losses" in made)

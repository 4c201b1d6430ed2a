"""Asking a twin in tests: one call a question, every connection closed."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.places import DATA
from tests.twin import Twin, World

SLUICE = "/repos/prospector/sluice"
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
RATE = "rateLimit { cost nodeCount remaining }"


def client(twin: Twin, token: str = "t0", **headers: str) -> httpx.Client:
    """Return an HTTP client that shows a token; close it."""
    merged = {"Authorization": f"Bearer {token}", **headers}
    return httpx.Client(base_url=twin.url, headers=merged, verify=NO_TLS, timeout=300)


def ask(twin: Twin, query: str, token: str = "t0", **variables: Any) -> dict[str, Any]:
    """Return the answer to a GraphQL query, errors and all."""
    with client(twin, token) as http:
        reply = http.post("/graphql", json={"query": query, "variables": variables})
    assert reply.status_code == 200, reply.text
    body: dict[str, Any] = reply.json()
    return body


def get(twin: Twin, path: str, **headers: str) -> httpx.Response:
    """Return the reply to a GET."""
    with client(twin, **headers) as http:
        return http.get(path)


def follow(twin: Twin, path: str) -> list[Any]:
    """Return the rows of all pages, following the Link header."""
    rows: list[Any] = []
    with client(twin) as http:
        url: str | None = path
        while url:
            reply = http.get(url)
            assert reply.status_code == 200, reply.text
            rows += reply.json()
            url = reply.links.get("next", {}).get("url")
    return rows


def sluice(selection: str) -> str:
    """Return a query about the synthetic repository."""
    return f'{{ repository(owner: "prospector", name: "sluice") {{ {selection} }} {RATE} }}'


def titled(world: World, title: str) -> int:
    """Return the number of the entry with a title."""
    return next(n for n, entry in world.main.entries.items() if entry.title == title)


def real_data(path: str) -> Path:
    """Return a file that was recorded of GitHub; skip the test where it is not there."""
    file = DATA / "github" / path
    if not file.exists():
        pytest.skip(f"real data is missing: {file.name}")
    return file

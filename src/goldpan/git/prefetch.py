"""Fetches the files that a partial clone lacks: all in one go, never one by one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from goldpan.core.errors import GitError
from goldpan.core.progress import Reporter
from goldpan.git.clone import promisor
from goldpan.git.fetch import fetch
from goldpan.git.objects import Objects
from goldpan.git.remote import find_remote

_NOT_THERE = re.compile(r"not our ref ([0-9a-f]{40})")
# What we have says nothing about which files the server should leave out.
_SETTINGS = (("fetch.negotiationAlgorithm", "noop"),)


@dataclass(frozen=True, slots=True)
class Prefetched:
    """What came of fetching missing objects."""

    fetched: int
    missing: int
    """Objects that the source does not have either."""
    requests: int


def prefetch(
    clone: Path,
    ids: Iterable[str],
    reporter: Reporter,
    *,
    token: str | None = None,
    host: str = "github.com",
) -> Prefetched:
    """Fetch those of these blobs that a partial clone lacks; a whole clone is left as it is.

    A server rejects a whole request for one object that it does not have. So the ids must be of
    blobs (a submodule's is a commit of another repository), and what is rejected all the same
    is told apart by halving. Raises `GitError` where the source cannot be reached.
    """
    address = promisor(clone)
    if address is None:
        return Prefetched(0, 0, 0)
    ordered = sorted(set(ids))
    with Objects(clone) as objects:
        absent = [id_ for id_, info in zip(ordered, objects.info(ordered), strict=True) if not info]
    if not absent:
        return Prefetched(0, 0, 0)
    remote = find_remote(clone.stem, address, token, host)
    title = f"Fetching {len(absent):,} files"
    waiting = [absent]
    missing = requests = 0
    while waiting:
        batch = waiting.pop()
        requests += 1
        try:
            fetch(clone, remote, batch, reporter, title, _SETTINGS)
        except GitError as error:
            refused = _NOT_THERE.search(error.problem)
            if refused is None or refused[1] not in batch:
                raise
            missing += 1
            rest = [id_ for id_ in batch if id_ != refused[1]]
            half = len(rest) // 2
            waiting += [part for part in (rest[half:], rest[:half]) if part]
    return Prefetched(len(absent) - missing, missing, requests)

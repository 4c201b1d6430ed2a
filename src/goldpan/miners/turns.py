"""What repositories that are mined at once do one after another."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class Turns:
    """Lets one repository at a time make its tables, and each be mined under one name at a time."""

    def __init__(self, *, alone: bool = False) -> None:
        self._alone = alone
        self._tables = asyncio.Lock()
        self._repositories: dict[str, asyncio.Lock] = {}

    def of(self, repo: str) -> asyncio.Lock:
        """Return the lock of a repository, which may be asked for under two of its names."""
        return self._repositories.setdefault(repo.lower(), asyncio.Lock())

    async def take(self, make: Callable[[], T]) -> T:
        """Return what `make` gives, which takes memory and time, while others go on asking.

        It is waited for even by what is stopped: it writes what a lock protects meanwhile.
        """
        if self._alone:
            return make()
        async with self._tables:
            future = asyncio.ensure_future(asyncio.to_thread(make))
            try:
                return await asyncio.shield(future)
            except asyncio.CancelledError:
                await asyncio.wait([future])
                raise

"""Fetches the files of hours over HTTP: whole or not at all.

A file is complete when as many bytes came as the server announced. It bears its name only then,
so what a stop leaves is never taken for an hour. Requests carry no credentials.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import httpx

from goldpan import __version__
from goldpan.core.errors import WorkspaceError
from goldpan.core.retry import jittered
from goldpan.core.tls import shared_context
from goldpan.miners.github.limits import Pace

GH_ARCHIVE = "https://data.gharchive.org"

_CHUNK = 256 << 10
_LARGEST = 8 << 30
_MOST_REDIRECTS = 5
_LONGEST_WAIT = 900.0
_SILENT = 5.0  # seconds; longer pauses are announced


@dataclass(frozen=True, slots=True)
class Fetched:
    """How fetching a file ended."""

    outcome: Literal["there", "missing", "failed"]
    reason: str | None = None


class _TryAgainError(Exception):
    """A failure that may pass; `after` is how long the server asks to wait."""

    def __init__(self, problem: str, after: float = 0.0) -> None:
        super().__init__(problem)
        self.after = after


def open_client(concurrency: int, timeout: float) -> httpx.AsyncClient:
    """Return a client for files; it follows redirects."""
    return httpx.AsyncClient(
        verify=shared_context(),
        timeout=timeout,
        follow_redirects=True,
        max_redirects=_MOST_REDIRECTS,
        headers={"User-Agent": f"goldpan/{__version__}", "Accept-Encoding": "identity"},
        limits=httpx.Limits(max_connections=concurrency, keepalive_expiry=30),
    )


async def fetch(
    http: httpx.AsyncClient,
    url: str,
    target: Path,
    *,
    retries: int,
    pace: Pace,
    note: Callable[[str], None],
) -> Fetched:
    """Fetch a file to `target`, trying again with growing pauses where that may help.

    Raises `WorkspaceError` where the file cannot be written.
    """
    part = target.with_name(target.name + ".part")
    problem = ""
    for failures in range(1, retries + 1):
        try:
            return await _once(http, url, part, target)
        except _TryAgainError as error:
            problem, after = str(error), error.after
        except httpx.HTTPError as error:
            problem, after = f"{type(error).__name__}: {error}".rstrip(": "), 0.0
        except httpx.InvalidURL as error:
            return Fetched("failed", str(error))
        except OSError as error:
            raise WorkspaceError(
                f"{part} cannot be written: {error.strerror or error}",
                "Free some space and run the same command again: it resumes where it stopped",
            ) from None
        if failures < retries:
            pause = max(jittered(pace.pause(failures)), min(after, _LONGEST_WAIT))
            if pause > _SILENT:
                note(f"{target.name} cannot be had now ({problem}): waiting {pause:.0f} s")
            await asyncio.sleep(pause)
    part.unlink(missing_ok=True)
    return Fetched("failed", f"{problem}, {retries} times")


async def _once(http: httpx.AsyncClient, url: str, part: Path, target: Path) -> Fetched:
    async with http.stream("GET", url) as response:
        status = response.status_code
        if status in (404, 410):
            return Fetched("missing", f"HTTP {status}")
        if status in (408, 429) or status >= 500:
            raise _TryAgainError(f"HTTP {status}", _seconds(response.headers.get("retry-after")))
        if status != 200:
            return Fetched("failed", f"HTTP {status}")
        announced, received = response.headers.get("content-length"), 0
        with part.open("wb") as file:
            async for chunk in response.aiter_raw(_CHUNK):
                received += len(chunk)
                if received > _LARGEST:
                    return Fetched("failed", f"the file is larger than {_LARGEST:,} bytes")
                file.write(chunk)
    if announced is not None and announced != str(received):
        raise _TryAgainError(f"{received:,} bytes came where {announced} were announced")
    part.replace(target)
    return Fetched("there")


def _seconds(text: str | None) -> float:
    """Read a Retry-After; one that names a date counts as none."""
    try:
        return max(0.0, float(text or 0))
    except ValueError:
        return 0.0

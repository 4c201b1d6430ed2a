"""Parts that all HTTP clients share: pauses between tries, and trusted authorities."""

from __future__ import annotations

import os
import random
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from urllib.request import getproxies

import httpx

from goldpan.core.errors import UsageError

_MOST_DOUBLINGS = 10


@dataclass(frozen=True, slots=True)
class Backoff:
    """Pauses that double after each failure; in seconds."""

    backoff: float = 1.0
    """The pause after the first failure."""
    longest: float = 60.0
    """No pause between tries is longer."""

    def pause(self, failures: int) -> float:
        """Return how long to wait after so many failures in a row."""
        return min(self.backoff * 2.0 ** min(failures - 1, _MOST_DOUBLINGS), self.longest)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a server asks to wait; None where it names none, or a date."""
    try:
        return max(0.0, float(headers["retry-after"]))
    except (KeyError, ValueError):
        return None


def jittered(pause: float) -> float:
    """Return a pause cut by chance to between half and all of it, so that tries spread."""
    return pause * random.uniform(0.5, 1.0)  # noqa: S311 - protects nothing


def shared_context(
    create: Callable[[], ssl.SSLContext] = httpx.create_ssl_context,
) -> ssl.SSLContext:
    """Return what all clients of this process verify servers by, as their library creates it.

    `SSL_CERT_FILE` and `SSL_CERT_DIR` name other authorities. Raises `UsageError` where a proxy is
    one by SOCKS, which the libraries reach through a package of its own.
    """
    proxies = getproxies().values()
    if any(url.startswith("socks") for url in proxies) and find_spec("socksio") is None:
        raise UsageError(
            "The environment names a SOCKS proxy, which needs the package socksio",
            "Run pip install socksio, or unset ALL_PROXY",
        )
    return _context(create, os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@cache
def _context(
    create: Callable[[], ssl.SSLContext], file: str | None, folder: str | None
) -> ssl.SSLContext:
    """Return a context; the parameters are the environment that `create` reads."""
    return create()

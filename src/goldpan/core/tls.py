"""The authorities that HTTPS trusts, read once: each reading takes about 30 ms of a processor."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable
from functools import cache

import httpx


def shared_context(
    create: Callable[[], ssl.SSLContext] = httpx.create_ssl_context,
) -> ssl.SSLContext:
    """Return what all clients of this process verify servers by, as their library creates it.

    `SSL_CERT_FILE` and `SSL_CERT_DIR` name other authorities.
    """
    return _context(create, os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@cache
def _context(
    create: Callable[[], ssl.SSLContext], file: str | None, folder: str | None
) -> ssl.SSLContext:
    """Return a context; the parameters are the environment that `create` reads."""
    return create()

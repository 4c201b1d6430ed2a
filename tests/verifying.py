"""What isolates foreign code on this machine, for tests that run some.

A program `bwrap` that fails, in a folder before others on `PATH`, hides bubblewrap: then tests of
whatever can run without isolation run so.
"""

from __future__ import annotations

import http.server
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from goldpan.execution.command import IsolationError
from goldpan.execution.isolation import IsolationName, find_isolation


def _is_isolated() -> bool:
    try:
        find_isolation("bubblewrap")
    except IsolationError:
        return False
    return True


ISOLATIONS: Final[tuple[IsolationName, ...]] = (
    ("bubblewrap", "none") if _is_isolated() else ("none",)
)
"""What can run foreign code here without an image, the best first."""
runs_foreign_code = pytest.mark.isolation
"""Chosen once more where bubblewrap was installed after a run without it."""
needs_isolation = pytest.mark.skipif(
    ISOLATIONS == ("none",), reason="needs bubblewrap, a package of most Linux distributions"
)
in_each_isolation = pytest.mark.parametrize(
    "isolation", [pytest.param("bubblewrap", marks=needs_isolation), "none"]
)


@contextmanager
def probes(
    folder: Path, monkeypatch: pytest.MonkeyPatch, host: str = "127.0.0.1"
) -> Iterator[list[str]]:
    """Give what foreign code must not be able to do while the block runs."""
    secret = folder / "secret"
    secret.write_text("s")
    monkeypatch.setenv("GOLDPAN_GITHUB_TOKEN", "ghp_secret")
    server = http.server.ThreadingHTTPServer((host, 0), http.server.SimpleHTTPRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield [
            f"exec 3<>/dev/tcp/127.0.0.1/{server.server_port}",
            'test -n "$GOLDPAN_GITHUB_TOKEN"',
            f"cat {secret}",
            "touch /usr/goldpan-was-here",
            f"kill -0 {os.getpid()}",
        ]
    finally:
        server.shutdown()
        server.server_close()


def probing(tried: Sequence[str]) -> str:
    """Return a script that prints `reached` for each command that works."""
    lines = (f"if bash -c '{probe}' 2>/dev/null; then echo reached; fi" for probe in tried)
    return "\n".join(("echo begins", *lines, ""))

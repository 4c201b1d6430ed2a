"""Where a workspace's own Label Studio runs, and its token: what `serve` tells other commands.

``label-studio/running.json`` is there while the server runs, and only its owner can read it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import orjson

from goldpan.annotation.studio.client import Server, find_server
from goldpan.core.secrets import register
from goldpan.core.workspace import Workspace, write_whole

_FOLDER, _FILE = "label-studio", "running.json"


def server_directory(workspace: Workspace) -> Path:
    """Return where the workspace's own server keeps what it knows."""
    return workspace.root / _FOLDER


@contextmanager
def handed_over(directory: Path, server: Server) -> Iterator[None]:
    """Let other commands on the workspace find a server while the block runs."""
    path = directory / _FILE
    facts = {"url": server.url, "token": server.token}
    write_whole(path, orjson.dumps(facts), private=True)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def choose_server(workspace: Workspace, url: str | None, environment: Mapping[str, str]) -> Server:
    """Return the server of a flag or the environment, else the one that `serve` runs here.

    Raises `UsageError` where there is neither, or one is wrong.
    """
    if url is None and not environment.get("LABEL_STUDIO_URL"):
        try:
            data = orjson.loads((server_directory(workspace) / _FILE).read_bytes())
            server = Server(str(data["url"]), str(data["token"]))
        except (OSError, ValueError, KeyError, TypeError):  # none runs, or it was killed
            return find_server(url, environment)
        register(server.token)
        return server
    return find_server(url, environment)

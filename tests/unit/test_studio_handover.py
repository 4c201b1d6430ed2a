"""Commands on a workspace find the server that runs on it, and its token."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldpan.annotation.studio.client import Server
from goldpan.annotation.studio.serve import choose_server, handed_over, server_directory
from goldpan.core.errors import UsageError
from goldpan.core.secrets import mask
from goldpan.core.workspace import WorkspaceLayout

OWN = Server("http://127.0.0.1:8080", "beef" * 10)
OTHER = {"LABEL_STUDIO_URL": "https://x.example", "LABEL_STUDIO_API_KEY": "of-another-server"}


def test_a_running_server_is_found_and_one_that_ended_is_not(tmp_path: Path) -> None:
    workspace = WorkspaceLayout(tmp_path)
    directory = server_directory(workspace)
    directory.mkdir()
    with handed_over(directory, OWN):
        assert choose_server(workspace, None, {}) == OWN
        assert mask(f"it is {OWN.token}") == "it is ***"
        assert [path.stat().st_mode & 0o777 for path in directory.iterdir()] == [0o600]
        assert choose_server(workspace, None, OTHER).url == OTHER["LABEL_STUDIO_URL"]
        assert choose_server(workspace, "https://y.example", OTHER).url == "https://y.example"
    with pytest.raises(UsageError, match="No Label Studio server is named"):
        choose_server(workspace, None, {})


def test_a_damaged_note_is_as_none(tmp_path: Path) -> None:
    workspace = WorkspaceLayout(tmp_path)
    server_directory(workspace).mkdir()
    (server_directory(workspace) / "running.json").write_bytes(b"{")
    with pytest.raises(UsageError, match="No Label Studio server is named"):
        choose_server(workspace, None, {})

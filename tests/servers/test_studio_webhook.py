"""Label Studio calls an address after each answer, where somebody wants that."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from queue import Queue
from typing import Any

import pytest

from goldpan.annotation.studio.client import Server as StudioServer
from goldpan.annotation.studio.client import Studio, StudioError
from goldpan.annotation.studio.forms import find_form
from goldpan.annotation.studio.project import open_project
from goldpan.annotation.studio.push import push
from goldpan.annotation.studio.serve import serve
from goldpan.core.errors import UsageError
from goldpan.core.storage.workspace import WorkspaceLayout
from tests.local_server import Answer, Asked, Server
from tests.studio import QUIET, Annotators, fix_pairs, free_port

FORM = find_form("fix-pair")


@pytest.mark.parametrize("url", ["", "ftp://x/y", "http://", "http://x:port/", "x.example/hook"])
def test_what_is_no_address_is_told(url: str, tmp_path: Path) -> None:
    server = StudioServer("http://127.0.0.1:1", "a" * 40)
    with pytest.raises(UsageError, match="not an address that Label Studio could call"):
        push(WorkspaceLayout(tmp_path), server, "called", FORM, (), QUIET, webhook=url)


def test_the_server_calls_after_each_answer(
    tmp_path: Path, installed: Path, prepared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: Queue[dict[str, Any]] = Queue()

    def called(asked: Asked) -> Answer:
        calls.put(json.loads(asked.body))
        return Answer(204)

    listening = Server(called)
    url = f"{listening.url}/pull"
    shutil.copytree(prepared, tmp_path / "data")
    workspace = WorkspaceLayout(tmp_path)

    with (
        serve(installed, tmp_path / "data", free_port()) as run,
        pytest.raises(StudioError, match=r"private network.*pull now and then"),
    ):
        push(workspace, run.server, "guarded", FORM, fix_pairs(1), QUIET, webhook=url)

    monkeypatch.setenv("SSRF_PROTECTION_ENABLED", "false")
    with listening, serve(installed, tmp_path / "data", free_port()) as run:
        people = Annotators(run)
        for _ in range(2):
            push(workspace, run.server, "called", FORM, fix_pairs(1), QUIET, webhook=url)
        with Studio(run.server) as connection:
            assert connection.webhooks(open_project(workspace, "called").number) == {url}
        (task,) = people.task_numbers(workspace, "called").values()
        answer = people.answer(1, task)
        assert calls.get(timeout=300) == {"action": "ANNOTATION_CREATED"}
        people.call(1, "DELETE", f"/api/annotations/{answer}/")
        assert calls.get(timeout=300) == {"action": "ANNOTATIONS_DELETED"}
        assert calls.empty()
        people.close()

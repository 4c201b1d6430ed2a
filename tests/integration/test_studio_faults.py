"""Whatever stands at the address of Label Studio, every failure is told in a sentence."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jwt
import pytest

from goldpan.annotation.studio.answers import (
    ExportError,
    new_export,
    newest_export,
    read_export,
    stored_tasks,
)
from goldpan.annotation.studio.client import Server as Address
from goldpan.annotation.studio.client import Studio, StudioError
from goldpan.annotation.studio.configuration import load
from goldpan.annotation.studio.project import Project, ProjectFacts, begin_project
from goldpan.core.secrets import register
from goldpan.core.storage.workspace import WorkspaceLayout
from tests.hostile import break_off, echo_page
from tests.local_server import Answer, Asked, Server

TOKEN = "5tud10" + "0a1b2c3d" * 4
PERSONAL = jwt.encode({"token_type": "refresh", "exp": 4_000_000_000}, "k" * 32)
ANSWER = {
    "id": 1,
    "was_cancelled": False,
    "completed_by": 1,
    "lead_time": 2.5,
    "result": [],
    "created_at": "2026-01-01T00:00:00.000000Z",
    "updated_at": "2026-01-01T00:00:00.000000Z",
}
TASK = {"id": 1, "data": {"id": "s"}, "annotations": [ANSWER]}
CALLS: dict[str, Callable[[Studio], Any]] = {
    "create_project": lambda studio: studio.create_project("word", (), title="a project"),
    "project": lambda studio: studio.project(1),
    "users": lambda studio: studio.users(),
    "import_tasks": lambda studio: studio.import_tasks(1, [{"data": {}}]),
    "tasks": lambda studio: list(studio.tasks(1)),
}


@pytest.fixture(autouse=True)
def _hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("label_studio_sdk.core.http_client.time.sleep", lambda seconds: None)


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        yield server


def says(value: object) -> Callable[[Asked], Answer]:
    return lambda got: Answer(200, json.dumps(value).encode())


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    "content",
    [
        *({}, [], None, 7, "text", [None], [{}], {"results": None}, {"tasks": [{}], "total": 1}),
        *({"results": [{"description": "word"}]}, {"task_ids": ["x"]}, {"task_ids": []}),
        *({"id": "many"}, {"tasks": [{"id": 1}], "total": 1}, {"id": 10**400}, {"tasks": 3}),
    ],
    ids=lambda content: json.dumps(content)[:40],
)
def test_json_of_another_shape_is_told(server: Server, call: str, content: object) -> None:
    server.behavior = says(content)
    with Studio(Address(server.url, TOKEN)) as studio:
        try:
            found = CALLS[call](studio)
        except StudioError as error:
            assert "answers with something unexpected to /api" in str(error)
        else:  # a list that is empty, or that lacks what is looked for
            assert found in (None, [], set())


@pytest.mark.parametrize("call", CALLS)
def test_pages_and_cut_connections_are_told(server: Server, call: str) -> None:
    for token in (TOKEN, PERSONAL):
        with Studio(Address(server.url, token)) as studio:
            server.behavior = break_off
            with pytest.raises(StudioError, match=r"does not answer.*Check that it is running"):
                CALLS[call](studio)
        with Studio(Address(server.url, token)) as studio:
            server.behavior = echo_page(200)
            with pytest.raises(StudioError) as caught:
                CALLS[call](studio)
            assert token not in str(caught.value)
            assert not set("\x1b\x07\x9b\u202e") & set(str(caught.value))


@pytest.fixture
def project(tmp_path: Path) -> Project:
    facts = ProjectFacts("http://127.0.0.1:1", "", "fix-pair", 2)
    return begin_project(WorkspaceLayout(tmp_path), "parts", load("fix-pair"), facts)


@pytest.mark.parametrize("lacking", [*ANSWER, "data", "annotations"])
def test_an_export_that_lacks_something_is_never_kept(project: Project, lacking: str) -> None:
    answer = {name: value for name, value in ANSWER.items() if name != lacking}
    task = {name: value for name, value in TASK.items() if name != lacking}
    if "annotations" in task:
        task["annotations"] = [answer]
    with (
        pytest.raises(ExportError, match=f"`{lacking}`"),
        new_export(project, [json.dumps([task]).encode()]) as export,
    ):
        list(read_export(export))
    assert newest_export(project) is None
    with new_export(project, [json.dumps([TASK]).encode()]):
        pass
    assert [each.id for each in stored_tasks(project)] == [1]


@pytest.mark.parametrize("content", [b"", b"{}", b"null", b'{"detail": "busy"}', b"[{", b"[] x"])
def test_what_is_no_list_of_tasks_is_no_export(project: Project, content: bytes) -> None:
    """It would count as a project without answers."""
    with pytest.raises(ExportError), new_export(project, [content]) as export:
        list(read_export(export))
    assert newest_export(project) is None


def test_secrets_across_parts_of_an_export_are_masked(project: Project) -> None:
    secret = "canary-" + "5e" * 20
    register(secret)
    text = json.dumps([{**TASK, "data": {"id": f"{'x' * 20_000}{secret}"}}]).encode()
    with new_export(project, [text[start : start + 7] for start in range(0, len(text), 7)]):
        pass
    (task,) = stored_tasks(project)
    assert secret not in task.data["id"]
    assert len(task.data["id"]) > 20_000


@pytest.mark.parametrize("granted", [b"{}", b"[]", b"<html>", b'{"access": "two\\nlines"}'])
def test_a_grant_that_is_none_is_told(server: Server, granted: bytes) -> None:
    server.behavior = lambda got: Answer(200, granted)
    with Studio(Address(server.url, PERSONAL)) as studio, pytest.raises(StudioError):
        studio.users()


def test_an_import_that_the_server_does_later_is_sent(server: Server) -> None:
    """Editions for companies answer with its number (HumanSignal/label-studio#7204)."""
    server.behavior = says({"import": 2439745})
    with Studio(Address(server.url, TOKEN)) as studio:
        studio.import_tasks(1, [{"data": {}}])
        server.behavior = says({"task_count": 1})
        with pytest.raises(StudioError, match="1 of 2 tasks"):
            studio.import_tasks(1, [{"data": {}}] * 2)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer(500, {"status_code": 500, "detail": "database is locked", "exc_info": "File"}),
         r"import \(500\): database is locked\. Read its log, and run the same"),
        (Answer(413, b"<html><center>413 Request Entity Too Large</center>"),
         r"\(413\): 413 Request Entity Too Large"),
        (Answer(403, {"detail": "You do not have permission to perform this action."}),
         r"You do not have permission .* token of somebody who may"),
        (Answer(400, {"detail": "Validation error", "validation_errors": {"data": ["None"]}}),
         r"Validation error \{'data'"),
    ],
)  # fmt: skip
def test_a_refusal_is_told_in_its_words(server: Server, answer: Answer, words: str) -> None:
    server.behavior = lambda got: answer
    with Studio(Address(server.url, TOKEN)) as studio, pytest.raises(StudioError, match=words):
        studio.import_tasks(1, [{"data": {}}])


def test_a_redirect_is_not_followed(server: Server) -> None:
    server.behavior = lambda got: Answer(302, b"", {"Location": "https://elsewhere.example/x"})
    with (
        Studio(Address(server.url, TOKEN)) as studio,
        pytest.raises(StudioError, match=r"redirects to https://elsewhere\.example/x"),
    ):
        studio.users()

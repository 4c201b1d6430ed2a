"""Whatever stands at the address of Label Studio, every failure is told in a sentence."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from goldpan.annotation.studio.client import Server as Address
from goldpan.annotation.studio.client import Studio, StudioError, StudioFaultError
from tests.hostile import break_off, echo_page
from tests.local_server import Answer, Asked, Server

TOKEN = "5tud10" + "0a1b2c3d" * 4
PERSONAL = "Header0123.Payload4567.Signature89"
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
    "create_project": lambda studio: studio.create_project({}),
    "project": lambda studio: studio.project(1),
    "find_project": lambda studio: studio.find_project("word"),
    "clock": lambda studio: studio.clock(),
    "users": lambda studio: studio.users(),
    "import_tasks": lambda studio: studio.import_tasks(1, [{"data": {}}]),
    "newest_tasks": lambda studio: list(studio.newest_tasks(1)),
    "changed_tasks": lambda studio: list(studio.changed_tasks(1, "2026-01-01")),
    "export": lambda studio: studio.export(1, [1]),
    "webhooks": lambda studio: studio.webhooks(1),
}


@pytest.fixture(autouse=True)
def _hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("goldpan.annotation.studio.client.time.sleep", lambda seconds: None)


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
    fine = {("find_project", "{}"): False, ("users", "[]"): True, ("webhooks", "[]"): True}
    fine |= {("export", "[]"): True}
    with Studio(Address(server.url, TOKEN)) as studio:
        if fine.get((call, json.dumps(content))):
            assert not CALLS[call](studio) or call == "export"
            return
        with pytest.raises(StudioError, match=r"answers with something .* \(200 to /api"):
            CALLS[call](studio)


@pytest.mark.parametrize("call", CALLS)
def test_pages_and_cut_connections_are_told(server: Server, call: str) -> None:
    for token in (TOKEN, PERSONAL):
        with Studio(Address(server.url, token)) as studio:
            server.behavior = break_off
            with pytest.raises(StudioError, match=r"does not answer.*See that it runs"):
                CALLS[call](studio)
        with Studio(Address(server.url, token)) as studio:
            server.behavior = echo_page(200)
            with pytest.raises(StudioError) as caught:
                CALLS[call](studio)
            assert token not in str(caught.value)
            assert not set("\x1b\x07\x9b\u202e") & set(str(caught.value))
            server.behavior = echo_page(500)
            with pytest.raises(StudioFaultError):
                CALLS[call](studio)


@pytest.mark.parametrize("lacking", [*ANSWER, "data", "annotations"])
def test_an_export_that_lacks_something_is_never_kept(server: Server, lacking: str) -> None:
    answer = {name: value for name, value in ANSWER.items() if name != lacking}
    task = {name: value for name, value in TASK.items() if name != lacking}
    if "annotations" in task:
        task["annotations"] = [answer]
    server.behavior = says([task])
    with Studio(Address(server.url, TOKEN)) as studio:
        with pytest.raises(StudioError, match=f"unexpected, ValidationError: .*`{lacking}`"):
            studio.export(1, [1])
        server.behavior = says([TASK])
        assert json.loads(studio.export(1, [1])) == [TASK]


def test_a_connection_that_is_cut_after_the_token_was_renewed_is_told(server: Server) -> None:
    def behavior(got: Asked) -> Answer:
        if "refresh" in got.target:
            return Answer(200, b'{"access": "granted0123"}')
        return break_off(got) if len(server.got) > 3 else Answer(401)

    server.behavior = behavior
    with (
        Studio(Address(server.url, PERSONAL)) as studio,
        pytest.raises(StudioError, match="does not answer"),
    ):
        studio.users()


@pytest.mark.parametrize("granted", [b"{}", b"[]", b"<html>", b'{"access": "two\\nlines"}'])
def test_a_grant_that_is_none_is_told(server: Server, granted: bytes) -> None:
    server.behavior = lambda got: Answer(200, granted)
    with (
        Studio(Address(server.url, PERSONAL)) as studio,
        pytest.raises(StudioError, match="refresh"),
    ):
        studio.users()


def test_a_redirect_is_not_followed(server: Server) -> None:
    server.behavior = lambda got: Answer(302, b"", {"Location": "https://elsewhere.example/x"})
    with (
        Studio(Address(server.url, TOKEN)) as studio,
        pytest.raises(StudioError, match=r"redirects to https://elsewhere\.example/x"),
    ):
        studio.users()

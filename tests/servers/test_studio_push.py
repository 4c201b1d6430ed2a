"""Pushing subjects to a real Label Studio server."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from goldpan.annotation.studio.client import Server, Studio, StudioError
from goldpan.annotation.studio.forms import find_form
from goldpan.annotation.studio.project import open_project
from goldpan.annotation.studio.pull import pull
from goldpan.annotation.studio.push import PushResult, push
from goldpan.core.errors import UsageError, WorkspaceError
from goldpan.core.storage.workspace import WorkspaceLayout
from tests.studio import QUIET, Annotators, fix_pairs

FORM = find_form("fix-pair")


def send(
    workspace: WorkspaceLayout, studio: Annotators, name: str, count: int, start: int = 1
) -> PushResult:
    return push(workspace, studio.server, name, FORM, fix_pairs(count, start), QUIET)


def on_server(studio: Annotators, workspace: WorkspaceLayout, name: str) -> list[str]:
    number = open_project(workspace, name).number
    with Studio(studio.server) as connection:
        return sorted(task.data["id"] for task in connection.tasks(number))


def test_pushing_again_adds_only_what_is_new(tmp_path: Path, studio: Annotators) -> None:
    workspace = WorkspaceLayout(tmp_path)
    first = send(workspace, studio, "again", 3)
    second = send(workspace, studio, "again", 5)
    third = send(workspace, studio, "again", 5)
    counts = [(result.added, result.known) for result in (first, second, third)]
    assert counts == [(3, 0), (2, 3), (0, 5)]
    assert on_server(studio, workspace, "again") == [
        f"pair:octo/gem#{n}+{1000 + n}" for n in range(1, 6)
    ]
    number = open_project(workspace, "again").number
    settings = studio.call(0, "GET", f"/api/projects/{number}/")
    assert settings["maximum_annotations"] == 2
    assert settings["show_collab_predictions"] is False
    assert settings["enable_empty_annotation"] is False
    # Lists show repository, issue, pull request and title, and no HTML.
    (view,) = studio.call(0, "GET", f"/api/dm/views?project={number}")
    columns = studio.call(0, "GET", f"/api/dm/columns?project={number}")["columns"]
    shown = {
        f"tasks:{column['parent'] + '.' if 'parent' in column else ''}{column['id']}"
        for column in columns
    }
    shown -= {"tasks:data", *view["data"]["hiddenColumns"]["explore"]}
    assert shown == {
        *("tasks:id", "tasks:total_annotations", "tasks:cancelled_annotations"),
        *(f"tasks:data.{name}" for name in ("repo", "issue", "pull", "title")),
    }


def test_a_push_that_was_killed_goes_on(tmp_path: Path, studio: Annotators) -> None:
    """The batch reached the server, but its numbers never came back."""
    workspace = WorkspaceLayout(tmp_path)
    send(workspace, studio, "killed", 2)
    project = open_project(workspace, "killed")
    tasks = fix_pairs(3, start=3)
    with Studio(studio.server) as connection:
        connection.import_tasks(project.number, [{"data": task.data()} for task in tasks])
    again = send(workspace, studio, "killed", 6)
    assert (again.added, again.known) == (1, 5)
    assert len(on_server(studio, workspace, "killed")) == 6


def test_what_a_killed_push_left_is_mended(tmp_path: Path, studio: Annotators) -> None:
    """The project was made and its number never noted; then a batch arrived twice."""
    workspace = WorkspaceLayout(tmp_path)
    send(workspace, studio, "mended", 2)
    project = open_project(workspace, "mended")
    facts = project.path("project.json")
    facts.write_text(facts.read_text().replace(f'"number": {project.number}', '"number": null'))
    send(workspace, studio, "mended", 2)
    assert open_project(workspace, "mended").number == project.number
    with Studio(studio.server) as connection:
        copies = [{"data": task.data()} for task in fix_pairs(3)]
        for _ in range(2):
            connection.import_tasks(project.number, copies)
        first = [task.id for task in connection.tasks(project.number)][2]
    studio.answer(1, first)
    studio.answer(2, first + 3)
    again = send(workspace, studio, "mended", 4)
    assert (again.added, again.known, again.removed) == (1, 3, 5)
    with Studio(studio.server) as connection:
        left = {task.data["issue"]: task.id for task in connection.tasks(project.number)}
    assert (len(left), left[1] in (first, first + 3)) == (4, True)
    pulled = pull(workspace, studio.server, "mended", QUIET)
    assert (pulled.progress.answers, pulled.progress.finished) == (2, 1)
    assert len(on_server(studio, workspace, "mended")) == 4


def test_what_goes_wrong_is_told_in_a_sentence(tmp_path: Path, studio: Annotators) -> None:
    workspace = WorkspaceLayout(tmp_path)
    with pytest.raises(StudioError, match=r"does not accept the access token .*Invalid token"):
        push(workspace, Server(studio.server.url, "dead" * 10), "denied", FORM, [], QUIET)
    with pytest.raises(StudioError, match="does not answer"):
        push(workspace, Server("http://127.0.0.1:9", "dead" * 10), "nobody", FORM, [], QUIET)
    with pytest.raises(UsageError, match="is not a valid project name"):
        push(workspace, studio.server, "../up", FORM, [], QUIET)
    with pytest.raises(WorkspaceError, match="no annotation project nothing"):
        open_project(workspace, "nothing")
    send(workspace, studio, "deleted", 1)
    studio.call(0, "DELETE", f"/api/projects/{open_project(workspace, 'deleted').number}/")
    with pytest.raises(StudioError, match="nobody deleted the project"):
        send(workspace, studio, "deleted", 1)


def test_a_personal_token_is_exchanged(tmp_path: Path, studio: Annotators) -> None:
    settings = {"api_tokens_enabled": True, "legacy_api_tokens_enabled": True}
    studio.call(0, "POST", "/api/jwt/settings", settings)
    token = studio.call(0, "POST", "/api/token/")["token"]
    assert token.count(".") == 2
    with Studio(Server(studio.server.url, token)) as connection:
        assert len(connection.users()) == 4
    with (
        pytest.raises(StudioError, match="does not accept"),
        Studio(Server(studio.server.url, token[:-4] + "AAAA")) as connection,
    ):
        connection.users()


def test_a_project_is_known_by_its_server_and_not_by_an_address(
    tmp_path: Path, studio: Annotators
) -> None:
    workspace = WorkspaceLayout(tmp_path)
    send(workspace, studio, "moved", 2)
    there = studio.server.url.replace("127.0.0.1", "localhost")
    elsewhere = Server(there, studio.server.token)
    again = push(workspace, elsewhere, "moved", FORM, fix_pairs(3), QUIET)
    assert (again.added, again.known) == (1, 2)
    assert open_project(workspace, "moved").page.startswith(there)
    path = open_project(workspace, "moved").path("project.json")
    path.write_text(path.read_text().replace(open_project(workspace, "moved").facts.key, "other"))
    with pytest.raises(UsageError, match="lives on http://localhost"):
        send(workspace, studio, "moved", 3)


def test_a_form_that_label_studio_cannot_show_is_told(tmp_path: Path, studio: Annotators) -> None:
    xml = FORM.configuration.xml.replace('toName="issue"', 'toName="nothing"')
    own = replace(FORM, own=replace(FORM.configuration, xml=xml))
    with pytest.raises(UsageError, match="cannot show the form fix-pair"):
        push(WorkspaceLayout(tmp_path), studio.server, "broken", own, fix_pairs(1), QUIET)

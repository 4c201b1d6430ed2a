"""A Label Studio that is old, full, or gone in the middle, and annotators who left."""

from __future__ import annotations

import resource
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Thread

import httpx
import pytest

from goldpan.annotation.studio.answers import progress
from goldpan.annotation.studio.client import Server, Studio, StudioError
from goldpan.annotation.studio.forms import find_form
from goldpan.annotation.studio.project import open_project
from goldpan.annotation.studio.pull import pull
from goldpan.annotation.studio.push import push
from goldpan.annotation.studio.serve import Running, serve
from goldpan.core.storage.workspace import WorkspaceLayout
from tests import local_server
from tests.local_server import Answer, Asked
from tests.studio import QUIET, Annotators, annotated_rows, fix_pairs, free_port

FORM = find_form("fix-pair")
UNLIMITED = resource.RLIM_INFINITY


@contextmanager
def before(studio: Annotators, change: Callable[[Asked, Answer], Answer]) -> Iterator[Server]:
    """Give the address of a server that passes all on to the real one, and changes its answers."""

    def passed_on(got: Asked) -> Answer:
        headers = {
            name: value
            for name, value in got.headers.items()
            if name.lower() in ("authorization", "content-type")
        }
        answer = client.request(got.method, got.target, content=got.body, headers=headers)
        kind = {"Content-Type": answer.headers.get("Content-Type", "application/json")}
        return change(got, Answer(answer.status_code, answer.content, kind))

    with (
        httpx.Client(base_url=studio.server.url, trust_env=False, timeout=300) as client,
        local_server.Server() as server,
    ):
        server.behavior = passed_on
        yield Server(server.url, studio.server.token)


def test_a_server_that_is_too_old_is_told(tmp_path: Path, studio: Annotators) -> None:
    def aged(got: Asked, answer: Answer) -> Answer:
        if got.path.startswith("/api/version"):
            return replace(answer, body=answer.body.replace(b'"1.23.2"', b'"1.8.1"'))
        return answer

    workspace = WorkspaceLayout(tmp_path)
    with before(studio, aged) as old, pytest.raises(StudioError, match=r"1\.8\.1.*needs 1\.21"):
        push(workspace, old, "aged", FORM, fix_pairs(1), QUIET)
    push(workspace, studio.server, "aged", FORM, fix_pairs(1), QUIET)
    with before(studio, aged) as old, pytest.raises(StudioError, match="Update that server"):
        pull(workspace, old, "aged", QUIET)


def test_a_pull_goes_on_after_a_server_that_broke_off(tmp_path: Path, studio: Annotators) -> None:
    workspace = WorkspaceLayout(tmp_path)
    push(workspace, studio.server, "torn", FORM, fix_pairs(40), QUIET)
    tasks = studio.task_numbers(workspace, "torn")
    studio.answer(1, tasks[1])
    pull(workspace, studio.server, "torn", QUIET)
    studio.answer(1, tasks[2])

    def torn(got: Asked, answer: Answer) -> Answer:
        return replace(answer, delivery="truncate") if "/export" in got.path else answer

    with before(studio, torn) as broken, pytest.raises(StudioError, match="does not answer"):
        pull(workspace, broken, "torn", QUIET)
    assert progress(workspace, "torn").answers == 1
    assert pull(workspace, studio.server, "torn", QUIET).progress.answers == 2


def test_a_proxy_that_takes_a_megabyte_at_most_is_no_obstacle(
    tmp_path: Path, studio: Annotators
) -> None:
    """So nginx does unless told otherwise (HumanSignal/label-studio#6637)."""
    sizes: list[int] = []

    def limited(got: Asked, answer: Answer) -> Answer:
        sizes.append(len(got.body))
        return Answer(413) if sizes[-1] > 1_000_000 else answer

    wide = [
        replace(task, panels={name: f"{panel}{'☂' * 4_000}" for name, panel in task.panels.items()})
        for task in fix_pairs(100)
    ]
    with before(studio, limited) as proxy:
        assert push(WorkspaceLayout(tmp_path), proxy, "wide", FORM, wide, QUIET).added == 100
    assert sum(sizes) > 3_000_000


@contextmanager
def own_server(installed: Path, prepared: Path, directory: Path) -> Iterator[Running]:
    if not directory.exists():
        shutil.copytree(prepared, directory)
    with serve(installed, directory, free_port()) as run:
        yield run


def test_a_push_goes_on_after_a_full_disk_and_a_restart(
    tmp_path: Path, installed: Path, prepared: Path
) -> None:
    workspace, directory = WorkspaceLayout(tmp_path / "lab"), tmp_path / "data"
    failures: list[StudioError] = []

    def send(server: Server) -> None:
        try:
            push(workspace, server, "steps", FORM, fix_pairs(1500), QUIET)
        except StudioError as error:
            failures.append(error)

    with own_server(installed, prepared, directory) as run:
        push(workspace, run.server, "steps", FORM, fix_pairs(10), QUIET)
        most = max(path.stat().st_size for path in directory.rglob("*.sqlite3"))
        resource.prlimit(run.process.pid, resource.RLIMIT_FSIZE, (most, UNLIMITED))
        send(run.server)
        assert "is full" in str(failures[0])
        assert "Free space there" in str(failures[0])
        resource.prlimit(run.process.pid, resource.RLIMIT_FSIZE, (UNLIMITED, UNLIMITED))
        sending = Thread(target=send, args=(run.server,))
        sending.start()
        annotators = Annotators(run)
        while sending.is_alive() and len(annotators.tasks(workspace, "steps")) <= 10:
            pass
        annotators.close()
        run.process.kill()
        sending.join()
    assert all("does not answer" in str(failure) for failure in failures[1:])
    with own_server(installed, prepared, directory) as run:  # at another port
        push(workspace, run.server, "steps", FORM, fix_pairs(1500), QUIET)
        with Studio(run.server) as connection:
            number = open_project(workspace, "steps").number
            counts = Counter(task.data["id"] for task in connection.tasks(number))
        assert (len(counts), set(counts.values())) == (1500, {1})
        assert pull(workspace, run.server, "steps", QUIET).progress.subjects == 1500


def test_answers_of_people_who_left_stay_theirs(
    tmp_path: Path, installed: Path, prepared: Path
) -> None:
    workspace = WorkspaceLayout(tmp_path / "lab")
    with own_server(installed, prepared, tmp_path / "data") as run:
        studio = Annotators(run)
        push(workspace, run.server, "left", FORM, fix_pairs(2), QUIET)
        tasks = studio.task_numbers(workspace, "left")
        for person in (1, 2):
            studio.answer(person, tasks[1])
        pull(workspace, run.server, "left", QUIET)
        then = annotated_rows(workspace, "left")
        account = studio.call(2, "GET", "/api/current-user/whoami")["id"]
        studio.call(0, "DELETE", f"/api/users/{account}/")
        for _ in range(2):
            assert pull(workspace, run.server, "left", QUIET).progress.finished == 1
            assert annotated_rows(workspace, "left") == then
        studio.close()

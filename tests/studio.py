"""A real Label Studio server for tests, in an environment of its own.

It is installed on first use; a prepared database is kept beside it and copied, so that the
server starts in seconds.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pyarrow.parquet as pq
import pytest

from goldpan.annotation.studio.answers import TABLE
from goldpan.annotation.studio.client import StudioError
from goldpan.annotation.studio.forms import StudioTask, find_form, make_task
from goldpan.annotation.studio.project import open_project
from goldpan.annotation.studio.serve import Account, Running, serve, studio_environment
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.workspace.building import RowOptions
from goldpan.workspace.workspace import Workspace
from tests.console import run
from tests.demo_workspace import make_sluice
from tests.installing import installed_once
from tests.program import Done
from tests.shared_folder import made_once

QUIET = Reporter(quiet=True)
REPO = "octo/gem"
Goldpan = Callable[..., Done]
PEOPLE = ("ann@example.org", "ben@example.org", "cleo@example.org")
ACCOUNTS = tuple(
    Account(address, f"password of {address}", str(number) * 40)
    for number, address in enumerate(PEOPLE, 1)
)
DIFF = """\
--- a/src/pan.py
+++ b/src/pan.py
@@ -3,3 +3,3 @@
 def wash(gravel):
-    return sieve.shake(gravel, times=3)
+    return sieve.shake(gravel, times=4)
 # end
"""


class Annotators:
    """A server with three annotators, told what to answer through its API."""

    def __init__(self, run: Running) -> None:
        self.server = run.server
        self.accounts = (run.owner, *ACCOUNTS)
        self._clients = [
            httpx.Client(
                base_url=run.server.url,
                headers={"Authorization": f"Token {account.token}"},
                timeout=300,
                trust_env=False,
            )
            for account in self.accounts
        ]

    def close(self) -> None:
        for client in self._clients:
            client.close()

    def call(self, person: int, method: str, path: str, body: Any = None) -> Any:
        """Ask the server for something as a person; 0 is the owner."""
        content = None if body is None else json.dumps(body)
        kind = {"Content-Type": "application/json"} if content else {}
        answer = self._clients[person].request(method, path, content=content, headers=kind)
        assert answer.is_success, (path, answer.status_code, answer.text[:300])
        return answer.json() if answer.content else None

    def answer(
        self,
        person: int,
        task: int,
        verdict: str = "fixes",
        *,
        doubt: bool = False,
        reason: str = "",
        **more: Any,
    ) -> int:
        """Answer a fix pair as a person; return the annotation's number."""
        parts = [part("verdict", "choices", [verdict])]
        if doubt:
            parts.append(part("doubt", "choices", ["doubt"]))
        if reason:
            parts.append(part("reason", "text", [reason]))
        return self.send(person, task, *parts, lead_time=20.0 + person, **more)

    def send(self, person: int, task: int, *parts: Any, lead_time: float = 4.0, **more: Any) -> int:
        """Send an answer of these parts as a person; return the annotation's number."""
        body = {"result": list(parts), "lead_time": lead_time, **more}
        return int(self.call(person, "POST", f"/api/tasks/{task}/annotations/", body)["id"])

    def tasks(self, lab: WorkspaceLayout, name: str) -> list[dict[str, Any]]:
        """Return all tasks of a project as the server exports them."""
        number = open_project(lab, name).number
        return list(self.call(0, "GET", f"/api/projects/{number}/export?download_all_tasks=true"))

    def task_numbers(self, lab: WorkspaceLayout, name: str) -> dict[int, int]:
        """Return the server's task numbers by issue; of copies the first."""
        return {
            int(task["data"]["id"].partition("#")[2].partition("+")[0]): task["id"]
            for task in reversed(self.tasks(lab, name))
            if "id" in task["data"]
        }


def annotated_rows(lab: WorkspaceLayout, name: str) -> list[dict[str, Any]]:
    """Return the rows, one a field of an answer, that were pulled of a project."""
    return list(pq.read_table(open_project(lab, name).path(TABLE)).to_pylist())


def part(name: str, kind: str, values: list[str], of: str = "issue") -> dict[str, Any]:
    """Return a part of an answer as Label Studio stores it, on what the form calls `of`."""
    stored = "choices" if kind == "choices" else "textarea"
    return {"from_name": name, "to_name": of, "type": stored, "value": {kind: values}}


def fix_pairs(count: int, start: int = 1) -> list[StudioTask]:
    """Return tasks of fix pairs whose issues count up from `start`."""
    form = find_form("fix-pair")
    return [
        make_task(
            form,
            {
                "repo": REPO,
                "issue": number,
                "pull": 1000 + number,
                "title": f"Leak {number}",
                "body": "It leaks.",
                "pull_title": f"Mend {number}",
                "pull_body": "Shakes once more.",
                "path": "src/pan.py",
                "diff": DIFF,
            },
        )
        for number in range(start, start + count)
    ]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def installed(request: pytest.FixtureRequest) -> Path:
    """Return where Label Studio is installed."""
    return installed_once("label-studio", request.config.cache)


@pytest.fixture(scope="session")
def prepared(request: pytest.FixtureRequest, installed: Path) -> Path:
    """Return a database with an owner and three annotators, made once."""
    return prepare_once(installed, Path(request.config.cache.mkdir("label-studio")))


def prepare_once(installation: Path, above: Path) -> Path:
    """Return a database with an owner and three annotators, which one process makes."""
    directory = above / "prepared-3"
    with (above / "prepared.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not directory.exists():
            unfinished = above / "unfinished"
            shutil.rmtree(unfinished, ignore_errors=True)
            with serve(installation, unfinished, free_port()):
                for account in ACCOUNTS:
                    make_account(installation, unfinished, account)
            unfinished.rename(directory)
    return directory


def make_account(installation: Path, directory: Path, account: Account) -> None:
    """Make an account as nobody's invitation does it: with a token that is known before."""
    subprocess.run(
        [installation / "bin" / "label-studio", "init", "--quiet"],
        env=studio_environment(directory, account),
        cwd=directory,
        capture_output=True,
        check=True,
    )


@pytest.fixture(scope="session")
def studio(
    tmp_path_factory: pytest.TempPathFactory, installed: Path, prepared: Path
) -> Iterator[Annotators]:
    """Give a running server on a copy of the prepared database."""
    directory = tmp_path_factory.mktemp("server") / "data"
    shutil.copytree(prepared, directory)
    with log_on_failure(directory), serve(installed, directory, free_port()) as run:
        annotators = Annotators(run)
        yield annotators
        annotators.close()


@contextmanager
def log_on_failure(directory: Path) -> Iterator[None]:
    """Fail with the server's own log where it does not come up."""
    try:
        yield
    except StudioError as error:
        log = (directory / "server.log").read_text(encoding="utf-8", errors="replace")
        pytest.fail(f"{error}\n{log}", pytrace=False)


@pytest.fixture
def lab(tmp_path: Path) -> WorkspaceLayout:
    """Return the demo's first repository with datasets, unless a module has another."""
    made = made_once("annotated", _make_datasets) / "place"
    return WorkspaceLayout(shutil.copytree(made, tmp_path / "place"))


def _make_datasets(folder: Path) -> None:
    lab = Workspace(make_sluice(folder / "place"))
    lab.build.qa()
    lab.build.fault_localization()
    lab.build.code_edit()
    lab.build.issue_resolution(rows=RowOptions(profile="verified"))


@pytest.fixture
def goldpan(lab: WorkspaceLayout, studio: Annotators) -> Goldpan:
    """Return what runs a command on it beside the server."""

    def call(*arguments: str | Path, code: int = 0) -> Done:
        done = run(
            *arguments,
            "--workspace",
            lab.root,
            folder=lab.root.parent,
            PATH=os.environ["PATH"],
            LABEL_STUDIO_URL=studio.server.url,
            LABEL_STUDIO_API_KEY=studio.server.token,
        )
        assert done.code == code, done.err
        return done

    return call

"""Speed of `goldpan annotate push` and `pull` on a real Label Studio of this machine.

The limit beside it is the bare API: the same tasks in batches of the same size, sent by a plain
client, and one export of everything. The peer is label-studio-sdk, where the server's
environment has it, in a process of its own. All run in turn on one server, several times, and the
ratios are of each one's best time.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from benchmarks.scale import scratch
from goldpan.annotation.studio.client import Server
from goldpan.annotation.studio.configuration import load
from goldpan.annotation.studio.forms import Form, StudioTask, find_form, make_task
from goldpan.annotation.studio.project import open_project
from goldpan.annotation.studio.pull import pull
from goldpan.annotation.studio.push import push
from goldpan.annotation.studio.serve import SERVER, serve
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter

TASKS = 5_000
ROUNDS = 2
_AT_ONCE = 250
_TEXT = "The sieve leaks when the gravel is wet, and `pan.wash()` returns nothing.\n"
_QUIET = Reporter(quiet=True)


@dataclass(frozen=True, slots=True)
class Figure:
    """What one way took for all tasks, in seconds, by round."""

    name: str
    seconds: list[float]

    @property
    def rate(self) -> float:
        """Tasks in a second, in the best round."""
        return TASKS / min(self.seconds)


def make_tasks(form: Form) -> list[StudioTask]:
    """Return fix pairs of a usual size, 4.6 KB each on the wire."""
    lines = "".join(f" line {n} of a file that is much like others\n" for n in range(6))
    diff = f"--- a/pan.py\n+++ b/pan.py\n@@ -1,7 +1,7 @@\n{lines}-    times = 3\n+    times = 4\n"
    row = {"repo": "octo/gem", "title": "It leaks", "body": _TEXT * 24, "diff": diff}
    row |= {"pull_title": "Mend it", "pull_body": _TEXT * 8, "path": "pan.py"}
    return [make_task(form, {**row, "issue": n, "pull": TASKS + n}) for n in range(1, TASKS + 1)]


def answered(tasks: Sequence[StudioTask], people: Sequence[int]) -> list[dict[str, Any]]:
    """Return tasks with two people's answers, which the server takes in with them."""
    choice = {"from_name": "verdict", "to_name": "issue", "type": "choices"}
    result = [{**choice, "value": {"choices": ["fixes"]}}]
    answers = [{"result": result, "completed_by": person, "lead_time": 9.5} for person in people]
    return [{"data": task.data(), "annotations": answers} for task in tasks]


class Bare:
    """The API and nothing else."""

    def __init__(self, server: Server) -> None:
        self._client = httpx.Client(
            base_url=server.url,
            headers={"Authorization": f"Token {server.token}"},
            timeout=300,
            trust_env=False,
        )

    def project(self, title: str, xml: str) -> int:
        """Make a project and return its number."""
        answer = self._client.post("/api/projects/", json={"title": title, "label_config": xml})
        return int(answer.raise_for_status().json()["id"])

    def send(self, project: int, bodies: Sequence[dict[str, Any]]) -> None:
        """Create tasks in batches."""
        for start in range(0, len(bodies), _AT_ONCE):
            path = f"/api/projects/{project}/import"
            some = bodies[start : start + _AT_ONCE]
            self._client.post(path, json=some).raise_for_status()

    def export(self, project: int) -> int:
        """Fetch all tasks at once and return how many there are."""
        params = {"exportType": "JSON", "download_all_tasks": "true"}
        answer = self._client.get(f"/api/projects/{project}/export", params=params)
        return len(answer.raise_for_status().json())

    def people(self) -> list[int]:
        """Return the numbers of those who have an account."""
        return [int(person["id"]) for person in self._client.get("/api/users/").json()]


_SDK = """
import json, sys, time
from label_studio_sdk import LabelStudio
url, title, answered = sys.argv[1:]
token, xml, bodies = json.load(sys.stdin)
client = LabelStudio(base_url=url, api_key=token)
project = client.projects.create(title=title, label_config=xml).id
begun = time.perf_counter()
for start in range(0, len(bodies), 250):
    client.projects.import_tasks(id=project, request=bodies[start : start + 250])
sent = time.perf_counter() - begun
begun = time.perf_counter()
parts = client.projects.exports.download_sync(
    int(answered), export_type="JSON", download_all_tasks=True
)
assert len(json.loads(b"".join(parts))) == len(bodies)
print(json.dumps([sent, time.perf_counter() - begun]))
"""


@dataclass(frozen=True, slots=True)
class Bench:
    """What all ways share."""

    server: Server
    python: Path
    """Of the server's environment, which may have the SDK."""
    form: Form
    tasks: list[StudioTask]

    @property
    def xml(self) -> str:
        """What annotators are asked."""
        return load(self.form.name).xml

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The tasks as the API takes them."""
        return [{"data": task.data()} for task in self.tasks]

    def sdk(self, title: str, answered: int) -> list[float]:
        """Return the seconds that the SDK takes to send and to fetch; empty without it."""
        done = subprocess.run(
            [str(self.python), "-c", _SDK, self.server.url, title, str(answered)],
            input=json.dumps([self.server.token, self.xml, self.bodies]),
            capture_output=True,
            text=True,
            check=False,
        )
        if "ModuleNotFoundError" in done.stderr:
            return []
        done.check_returncode()
        return [float(seconds) for seconds in json.loads(done.stdout)]


def timed(work: Callable[..., object], *arguments: Any) -> float:
    """Return the seconds that something takes."""
    begun = time.perf_counter()
    work(*arguments)
    return time.perf_counter() - begun


def measure(root: Path, bench: Bench) -> None:
    """Run all ways in turn and print their rates and ratios."""
    bare, base = Bare(bench.server), WorkspaceLayout(root / "base")
    # What comes out again has answers, so it is sent with them; a push then only takes it over.
    push(base, bench.server, "answered", bench.form, (), _QUIET)
    number = open_project(base, "answered").number
    bare.send(number, answered(bench.tasks, bare.people()[:2]))
    push(base, bench.server, "answered", bench.form, (), _QUIET)
    sent = {name: Figure(name, []) for name in ("goldpan push", "bare API", "SDK")}
    got = {name: Figure(name, []) for name in ("goldpan pull", "bare API", "SDK")}
    for turn in range(ROUNDS):
        name, workspace = f"round-{turn}", WorkspaceLayout(root / f"round-{turn}")
        shutil.copytree(base.root, workspace.root)
        work = (workspace, bench.server, name, bench.form, bench.tasks, _QUIET)
        sent["goldpan push"].seconds.append(timed(push, *work))
        project = bare.project(name, bench.xml)
        sent["bare API"].seconds.append(timed(bare.send, project, bench.bodies))
        got["bare API"].seconds.append(timed(bare.export, number))
        got["goldpan pull"].seconds.append(timed(pull, workspace, bench.server, "answered", _QUIET))
        for way, seconds in zip((sent, got), bench.sdk(name, number), strict=False):
            way["SDK"].seconds.append(seconds)
    for figures in (sent, got):
        show(list(figures.values()))
    pull(workspace, bench.server, "answered", _QUIET)
    nothing = timed(pull, workspace, bench.server, "answered", _QUIET)
    print(f"with nothing new: push {timed(push, *work):.2f} s, pull {nothing:.2f} s")


def show(figures: Sequence[Figure]) -> None:
    """Print rates, and how much faster the first way is than each other."""
    for figure in figures:
        if figure.seconds:
            ratio = figures[0].rate / figure.rate
            print(f"{figure.name:>14} {figure.rate:8,.0f} tasks/s   goldpan is {ratio:4.2f} x that")
        else:
            print(f"{figure.name:>14} is not installed beside the server")


def free_port() -> int:
    """Return a port of this machine that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> None:
    """Start a fresh server, measure, and stop it."""
    folder = SERVER.default_place(os.environ)
    SERVER.install(folder, _QUIET)
    form = find_form("fix-pair")
    tasks = make_tasks(form)
    size = sum(len(json.dumps(task.data())) for task in tasks) / TASKS
    print(f"{TASKS:,} tasks of {size:,.0f} bytes, two answers each, best of {ROUNDS} rounds")
    with scratch() as directory:
        data = Path(directory) / "server"
        with serve(folder, data, free_port()) as run:
            measure(Path(directory), Bench(run.server, folder / "bin" / "python", form, tasks))


if __name__ == "__main__":
    main()

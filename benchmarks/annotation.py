"""Speed of `goldpan annotate push` and `pull` on a real Label Studio, and the memory of a pull.

Beside them stands label-studio-sdk by itself, in a process of its own: the same tasks in batches of
the same size, and one export of everything. All run in turn on one server, several times, and the
ratios are of each one's best time. Memory is that of a process which pulls so many answers of a
generated export, with two answers a task, and measures their agreement.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.scale import scratch
from goldpan.annotation.studio.client import Server, Studio
from goldpan.annotation.studio.configuration import load
from goldpan.annotation.studio.forms import StudioTask, find_form, make_task
from goldpan.annotation.studio.gold import measure_agreements
from goldpan.annotation.studio.project import ProjectFacts, begin_project, open_project
from goldpan.annotation.studio.pull import collect, pull
from goldpan.annotation.studio.push import push
from goldpan.annotation.studio.serve import SERVER, serve
from goldpan.annotation.studio.summary import summarize
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter

_ROUNDS = 2
_AT_ONCE = 250
_TEXT = "The sieve leaks when the gravel is wet, and `pan.wash()` returns nothing.\n"
_QUIET = Reporter(quiet=True)
_FORM = find_form("fix-pair")
_NOON = "2026-01-01T12:00:00.000000Z"


@dataclass(frozen=True, slots=True)
class Figure:
    """What one way took for all tasks, in seconds, by round."""

    name: str
    tasks: int
    seconds: list[float]

    @property
    def rate(self) -> float:
        """Tasks in a second, in the best round."""
        return self.tasks / min(self.seconds)


def make_tasks(count: int) -> list[StudioTask]:
    """Return fix pairs of a usual size, 4.4 KB each on the wire."""
    lines = "".join(f" line {n} of a file that is much like others\n" for n in range(6))
    diff = f"--- a/pan.py\n+++ b/pan.py\n@@ -1,7 +1,7 @@\n{lines}-    times = 3\n+    times = 4\n"
    row = {"repo": "octo/gem", "title": "It leaks", "body": _TEXT * 24, "diff": diff}
    row |= {"pull_title": "Mend it", "pull_body": _TEXT * 8, "path": "pan.py"}
    return [make_task(_FORM, {**row, "issue": n, "pull": count + n}) for n in range(1, count + 1)]


def answers(people: Sequence[int]) -> list[dict[str, Any]]:
    """Return an answer of each person, as the server takes it in with a task."""
    choice = {"from_name": "verdict", "to_name": "issue", "type": "choices"}
    result = [{**choice, "value": {"choices": ["fixes"]}}]
    return [{"result": result, "completed_by": person, "lead_time": 9.5} for person in people]


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


def sdk(server: Server, title: str, bodies: Sequence[object], answered: int) -> list[float]:
    """Return the seconds that the SDK takes to send and to fetch."""
    done = subprocess.run(
        [sys.executable, "-c", _SDK, server.url, title, str(answered)],
        input=json.dumps([server.token, load(_FORM.name).xml, bodies]),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return [float(seconds) for seconds in json.loads(done.stdout)]


def timed(work: Callable[..., object], *arguments: Any) -> float:
    """Return the seconds that something takes."""
    begun = time.perf_counter()
    work(*arguments)
    return time.perf_counter() - begun


def measure_speed(root: Path, server: Server, tasks: Sequence[StudioTask]) -> None:
    """Run both ways in turn and print their rates and ratios."""
    base, bodies = WorkspaceLayout(root / "base"), [{"data": task.data()} for task in tasks]
    push(base, server, "answered", _FORM, (), _QUIET)
    number = open_project(base, "answered").number
    with Studio(server) as studio:
        given = answers([user.id for user in studio.users()][:2])
        for start in range(0, len(bodies), _AT_ONCE):
            some = bodies[start : start + _AT_ONCE]
            studio.import_tasks(number, [{**body, "annotations": given} for body in some])
    sent = {name: Figure(name, len(tasks), []) for name in ("goldpan push", "SDK")}
    got = {name: Figure(name, len(tasks), []) for name in ("goldpan pull", "SDK")}
    for turn in range(_ROUNDS):
        name, workspace = f"round-{turn}", WorkspaceLayout(root / f"round-{turn}")
        shutil.copytree(base.root, workspace.root)
        work = (workspace, server, name, _FORM, tasks, _QUIET)
        sent["goldpan push"].seconds.append(timed(push, *work))
        got["goldpan pull"].seconds.append(timed(pull, workspace, server, "answered", _QUIET))
        for way, seconds in zip((sent, got), sdk(server, name, bodies, number), strict=True):
            way["SDK"].seconds.append(seconds)
    for figures in (sent, got):
        ours, theirs = figures.values()
        print(f"{ours.name}: {ours.rate:8,.0f} tasks/s, the SDK alone {theirs.rate:8,.0f} tasks/s")
        print(f"{'':>14}goldpan is {ours.rate / theirs.rate:4.2f} x that")
    pull(workspace, server, "answered", _QUIET)
    nothing = timed(pull, workspace, server, "answered", _QUIET)
    print(f"with nothing new: push {timed(push, *work):.2f} s, pull {nothing:.2f} s")


def exported(count: int) -> Iterator[bytes]:
    """Yield the export of a project with so many answers."""
    (task,) = make_tasks(1)
    given = [{**each, "was_cancelled": False} for each in answers((1, 2))]
    given = [{**each, "created_at": _NOON, "updated_at": _NOON} for each in given]
    other = json.loads(json.dumps(given).replace("fixes", "partly"))
    for number in range(1, count // 2 + 1):
        subject = {"id": f"pair:octo/gem#{number}+{number}", "issue": number, "pull": number}
        said = (given[0] if number % 2 else other[0], given[1] if number % 3 else other[1])
        own = [{**each, "id": 2 * number + at} for at, each in enumerate(said)]
        body = {"id": number, "data": {**task.data(), **subject}, "annotations": own}
        yield (b"[" if number == 1 else b",") + json.dumps(body).encode()
    yield b"]"


class Generated(BaseHTTPRequestHandler):
    """A server that has one project, of generated answers."""

    protocol_version = "HTTP/1.1"

    def __init__(self, count: int, *given: Any) -> None:
        self._count = count
        super().__init__(*given)

    def do_GET(self) -> None:
        """Send the project, its people or its export."""
        replies: dict[str, object] = {
            "version": {"release": "1.23.2"},
            "users": [
                {"id": person, "email": f"{person}@example.org", "date_joined": _NOON}
                for person in (1, 2)
            ],
        }
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        if "/export" in self.path:
            parts = exported(self._count)
        else:
            project = {"id": 1, "label_config": load(_FORM.name).xml}
            kind = self.path.strip("/?").split("/")[1].partition("?")[0]
            parts = iter([json.dumps(replies.get(kind, project)).encode()])
        while body := b"".join(islice(parts, _AT_ONCE)):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(body), body))
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_: object) -> None:
        """Print nothing."""


_PULL = """
import sys
from benchmarks.annotation import pull_generated
pull_generated(*sys.argv[1:])
"""


def pull_generated(root: str, url: str) -> None:
    """Pull a project of a server that generates it."""
    workspace = WorkspaceLayout(Path(root))
    facts = ProjectFacts(url, "k", _FORM.name, annotators=2, number=1)
    begin_project(workspace, "many", _FORM.configuration, facts)
    collect(workspace, Server(url, "a" * 40), "many", _QUIET)
    measure_agreements(workspace, "many")
    summarize(workspace, ["many"])


def measure_memory(root: Path, count: int) -> float:
    """Print the memory and the time of a process that pulls so many answers; return the MB.

    It measures their agreement and sums them up for a report, too.
    """
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Generated, count))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    place, url = root / f"pull-{count}", f"http://127.0.0.1:{server.server_port}"
    with subprocess.Popen([sys.executable, "-c", _PULL, str(place), url]) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    server.shutdown()
    server.server_close()
    if process.returncode:
        raise SystemExit("The pull failed")
    seconds = used.ru_utime + used.ru_stime
    most = used.ru_maxrss / 1024
    print(f"pull of {count:,} answers: {most:,.0f} MB at most, {seconds:.1f} s of processor time")
    return float(most)


def free_port() -> int:
    """Return a port of this machine that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> None:
    """Start a fresh server, measure, and stop it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tasks", type=int, default=5_000)
    parser.add_argument("--answers", type=int, nargs="*", default=(50_000, 500_000))
    given = parser.parse_args()
    with scratch() as directory:
        for count in given.answers:
            measure_memory(Path(directory), count)
        if given.tasks:
            folder = SERVER.default_place(os.environ)
            SERVER.install(folder, _QUIET)
            tasks = make_tasks(given.tasks)
            size = sum(len(json.dumps(task.data())) for task in tasks) / len(tasks)
            print(f"{len(tasks):,} tasks of {size:,.0f} bytes, best of {_ROUNDS} rounds")
            with serve(folder, Path(directory) / "server", free_port()) as run:
                measure_speed(Path(directory), run.server, tasks)


if __name__ == "__main__":
    main()

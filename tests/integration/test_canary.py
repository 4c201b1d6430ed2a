"""No secret leaves: every command that talks to a server, against servers that want it told.

Secrets are sent to the server that is meant and to nobody else, and whatever it echoes, nothing
of them stands in what is printed or written: workspace, caches and temporary files included.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextvars import copy_context
from dataclasses import dataclass
from pathlib import Path

import jwt
import pytest

from goldpan.annotation.studio.configuration import load
from goldpan.annotation.studio.project import ProjectFacts, begin_project
from goldpan.cli import main
from goldpan.core import secrets
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.examples import QA
from tests.console import ENTRY, NOWHERE
from tests.drawing import daily
from tests.examples import examples, write
from tests.hostile import (
    ESCAPES,
    break_off,
    contents,
    echo_json,
    echo_page,
    finds,
    headers_with,
    in_front_of,
    redirect,
)
from tests.hub import Hub
from tests.local_server import Answer, Asked, Behavior, Server
from tests.mining import PACE
from tests.openai_server import OpenAIServer, Said
from tests.reviewing import workspace as reviewed_workspace
from tests.shared_folder import made_once
from tests.tasks import own_task
from tests.twin import Twin, synthetic_world

pytestmark = [
    pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
GITHUB = "ghp_Serinus00a1b2c3d4e5f6g7h8canaria"
HUB = "hf_Atlantic00Z9y8X7w6V5u4T3s2R1bird"
OPENAI = "sk-Domestic/+00QqWwEeRrTtYyUuIiSinger"
STUDIO = "c4na27f0a5bd1e9c6d8f7a3b2c1d0e9f8a7b6c5d"
REFRESH = jwt.encode({"token_type": "refresh", "exp": 4_000_000_000}, "Finch" * 8)
ACCESS = jwt.encode({"token_type": "access", "exp": 4_000_000_000}, "Wren4" * 8)
SECRETS = (GITHUB, HUB, OPENAI, STUDIO, REFRESH, ACCESS)
CONTROLS = set(ESCAPES) - set("]0;owned[21mJsluatc")
COUNTS = {"total": 4, '"label:bug"': 2, '"label:wish"': 2}
SLUICE = "prospector/sluice"
ELSEWHERE = ("another host", "another port", "another scheme", "this port by another name")


Commands = Callable[["Place", str], list[str]]


@dataclass
class Place:
    """A folder that holds all that may be written, and the commands that run in it."""

    root: Path
    capture: pytest.CaptureFixture[str]
    patch: pytest.MonkeyPatch

    @property
    def workspace(self) -> Path:
        return self.root / "w"

    def run(self, line: str) -> tuple[int, str]:
        """Run a command, and return its exit code and all it printed."""
        self.patch.setattr(sys, "argv", ["goldpan", *line.split()])
        self.capture.readouterr()
        with pytest.raises(SystemExit) as caught:
            copy_context().run(main)  # which sets what a program prints itself
        output = "".join(self.capture.readouterr())
        assert "Goldpan itself failed" not in output, output
        assert not finds(output.encode("utf-8", "surrogatepass"), SECRETS), output
        assert not CONTROLS & set(output), output
        code = caught.value.code
        return (code if isinstance(code, int) else 0), output

    def check(self) -> None:
        """Look through every file that was written."""
        for path, content in contents(self.root):
            assert not finds(content, SECRETS), path


@pytest.fixture
def lab(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Place:
    for name in list(os.environ):
        if name.lower().endswith("_proxy") or name.startswith(("GITHUB_", "GH_", "HF_")):
            monkeypatch.delenv(name)
    variables = {
        "GITHUB_TOKEN": GITHUB,
        "HF_TOKEN": HUB,
        "OPENAI_API_KEY": OPENAI,
        "LABEL_STUDIO_API_KEY": STUDIO,
        "HOME": str(tmp_path / "home"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "TMPDIR": str(tmp_path / "temporary"),
        "COLUMNS": "200",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(secrets, "_known", set())
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub-cache"))
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "no-login"))
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda seconds: None)
    monkeypatch.setattr("label_studio_sdk.core.http_client.time.sleep", lambda seconds: None)
    monkeypatch.setattr("goldpan.miners.github.client.Pace", lambda: PACE)
    (tmp_path / "temporary").mkdir()
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "goldpan.toml").write_text("retries = 1\npatience = 0\n")
    return Place(tmp_path, capfd, monkeypatch)


def _mine(lab: Place, url: str) -> list[str]:
    line = f"mine --repo {SLUICE} --workspace {lab.workspace} --api-url {url}"
    return [f"{line} {way}" for way in ("--via graphql", "--via rest", "--dry-run")]


def _clone(lab: Place, url: str) -> list[str]:
    lab.patch.setenv("GOLDPAN_API_URL", url)
    common, made = f"--repo a/b --workspace {lab.workspace}", []
    if not (lab.workspace / "tables" / "a" / "b").exists():
        pull = {**ENTRY, "title": "x", "head": {"ref": "x", "sha": "a"}}
        backup = lab.root / "b.jsonl"
        backup.write_text(json.dumps({"type": "issue", "issue": pull, "events": []}))
        made.append(f"mine {common} --from-backup {backup}")
    return [*made, f"clone {common} --source {url}/a/b.git"]


def _publish(lab: Place, url: str) -> list[str]:
    lab.patch.setenv("HF_ENDPOINT", url)
    return [f"publish {_dataset()} --repo-id org/issues --tag v1"]


def _dataset() -> Path:
    """Return a dataset, which no command changes."""
    made = made_once("canary", lambda folder: write(folder, QA, examples(QA, 50), "none"))
    return made / "datasets" / "made"


def _download(lab: Place, url: str) -> list[str]:
    lab.patch.setenv("HF_ENDPOINT", url)
    files = 'files = ["toy.csv"]'
    own_task(lab.workspace / "tasks", (files, f'{files}\nhub = "org/toy"'))
    commit = f"--download --revision {'0' * 40}"
    return [f"tasks import toy_issues {commit} --workspace {lab.workspace}"]


def _review(lab: Place, url: str) -> list[str]:
    if not (lab.workspace / "own.toml").exists():
        reviewed_workspace(lab.workspace, 1)
    settings = lab.root / "review.toml"
    settings.write_text("retries = 0\npoll_seconds = 0.0\n")
    line = f"review --model judge --base-url {url}/v1 --settings-file {settings}"
    line += f" --profile {lab.workspace / 'own.toml'} --workspace {lab.workspace}"
    return [line, f"{line} --batch"]


def _evaluate(lab: Place, url: str) -> list[str]:
    made = []
    if not (lab.workspace / "datasets").exists():
        counts = [(f"{name} = {n}", f"{name} = {n}0") for name, n in COUNTS.items()]
        own_task(lab.workspace / "tasks", *counts)
        rows = "".join(f"Leak {n},of box,{'BW'[n % 2]}\n" for n in range(40))
        (lab.root / "toy.csv").write_text(f"title,body,kind\n{rows}")
        made.append(f"tasks import toy_issues {lab.root}/toy.csv --workspace {lab.workspace}")
    line = "evaluate run --task toy_issues --model prompted --set model=judge --set retries=0"
    return [*made, f"{line} --set base_url={url}/v1 --workspace {lab.workspace}"]


def _annotate(lab: Place, url: str) -> list[str]:
    facts = ProjectFacts(url, "", "question-answer", 2, number=1)
    name = f"known-{len(list(lab.workspace.glob('annotations/*')))}"
    begin_project(WorkspaceLayout(lab.workspace), name, load("question-answer"), facts)
    common = f"--workspace {lab.workspace} --url {url}"
    form = f"--form question-answer --dataset {_dataset()}"
    return [
        f"annotate push --project new-{name} {form} {common}",
        f"annotate pull --project {name} {common}",
    ]


SENT: dict[Commands, str] = {
    _mine: GITHUB,
    _clone: GITHUB,
    _publish: HUB,
    _download: HUB,
    _review: OPENAI,
    _evaluate: OPENAI,
    _annotate: STUDIO,
}


@pytest.fixture(params=SENT, ids=lambda command: command.__name__.strip("_"))
def commands(request: pytest.FixtureRequest) -> Commands:
    chosen: Commands = request.param
    return chosen


@pytest.fixture
def tell(lab: Place, commands: Commands) -> Iterator[object]:
    """Give what runs the commands against a behavior and returns what the server got."""

    def run_against(server: Server, behavior: Behavior) -> None:
        lab.patch.setenv("GOLDPAN_API_URL", NOWHERE)
        lab.patch.setenv("HF_ENDPOINT", NOWHERE)
        server.behavior = behavior
        for line in commands(lab, server.url):
            lab.run(line)

    yield run_against
    lab.check()


Tell = Callable[[Server, Behavior], None]


def test_what_a_server_echoes_is_neither_printed_nor_written(
    tell: Tell, commands: Commands
) -> None:
    with Server() as server:
        refusals = (echo_json(401), echo_json(400), echo_page(403))
        others = (echo_page(200), echo_json(200), echo_page(500), break_off)
        for behavior in (*refusals, *others):
            server.got.clear()
            tell(server, behavior)
            if behavior is not break_off:
                sent = b"\n".join(got.bytes for got in server.got)
                assert finds(sent, SECRETS) == [SENT[commands]]


@pytest.mark.parametrize("where", ELSEWHERE)
def test_a_redirect_takes_no_secret_along(tell: Tell, where: str) -> None:
    with Server() as server, Server() as other:
        to = {
            "another host": f"http://localhost:{other.port}",
            "another port": other.url,
            "another scheme": f"https://127.0.0.1:{other.port}",
            "this port by another name": f"http://localhost:{server.port}",
        }[where]
        tell(server, redirect(to, 302 if where in ("another host", "another scheme") else 307))
        assert server.got
        away = [got for got in server.got if got.headers.get("host", "").startswith("localhost")]
        for got in (*other.got, *away):
            # Not even where a server spells them out in the address it leads to.
            assert not finds(got.bytes, SECRETS), got


def rewritten(good: Behavior, changes: Mapping[str, str], links: tuple[str, str]) -> Behavior:
    """Answer as a good server does, with other addresses in bodies and in headers."""

    def behavior(got: Asked) -> Answer:
        answer = good(got)
        body = answer.body
        for old, new in changes.items():
            body = body.replace(old.encode(), new.encode())
        return Answer(answer.status, body, headers_with(answer, *links))

    return behavior


@pytest.mark.parametrize("via", daily(["graphql"], ["rest"]))
def test_what_github_tells_is_mined_without_the_token(lab: Place, via: str) -> None:
    with Twin(synthetic_world()) as twin, Server() as server:
        good, own = in_front_of(twin.url, b'"title":"', b'"body":"'), (twin.url, server.url)
        server.behavior = rewritten(good, dict([own]), own)
        line = f"mine --repo {SLUICE} --via {via} --api-url {server.url}"
        code, output = lab.run(f"{line} --workspace {lab.workspace}")
        assert code == 0, output
    assert secrets.HIDDEN in lab.run(f"why {SLUICE}#1 --workspace {lab.workspace}")[1]
    lab.check()


def test_a_next_page_elsewhere_gets_no_token(lab: Place) -> None:
    with Twin(synthetic_world()) as twin, Server() as server, Server() as other:
        server.behavior = rewritten(in_front_of(twin.url), {}, (twin.url, other.url))
        line = f"mine --repo {SLUICE} --via rest --api-url {server.url}"
        code, output = lab.run(f"{line} --workspace {lab.workspace}")
        assert (code, "another host" in output) == (1, True), output
        assert other.got == []
    lab.check()


def test_what_a_model_says_is_kept_without_the_key(lab: Place) -> None:
    with OpenAIServer(lambda body: Said(f"No: {OPENAI}"), key=OPENAI) as model:
        for commands in (_review, _evaluate):
            for line in commands(lab, model.url.removesuffix("/v1")):
                lab.run(line)
        assert len(model.chats) > 3
    lab.check()


def test_listings_and_uploads_of_the_hub_take_no_token_elsewhere(lab: Place) -> None:
    with Hub(lab.root / "hub", {HUB: {"org"}}) as hub, Server() as server, Server() as other:
        good = in_front_of(hub.url)
        changes = {f"{hub.url}/lfs/verify": other.url, hub.url: server.url}
        (line,) = _publish(lab, server.url)
        server.behavior = rewritten(good, changes, (hub.url, server.url))
        lab.run(line)
        assert [got.method for got in other.got] == ["POST"]  # verify
        server.behavior = rewritten(good, changes, (hub.url, other.url))
        for path in ("a", "b", "c", "d", "e"):
            hub.add("org/issues", f"{path}.txt", b"text")
        lab.run(f"{line} --overwrite")
        assert "GET" in {got.method for got in other.got}
        for got in other.got:
            assert not finds(got.bytes, SECRETS), got
    lab.check()


def test_a_token_that_was_granted_later_is_a_secret_too(lab: Place) -> None:
    lab.patch.setenv("LABEL_STUDIO_API_KEY", REFRESH)
    granted, refuse = Answer(200, json.dumps({"access": ACCESS}).encode()), echo_json(400)
    with Server() as server:
        server.behavior = lambda got: granted if "token/refresh" in got.target else refuse(got)
        for line in _annotate(lab, server.url):
            lab.run(line)
        assert finds(b"\n".join(got.bytes for got in server.got), SECRETS) == [REFRESH, ACCESS]
    lab.check()

"""No secret leaves: every command that talks to a server, against servers that want it told.

Secrets are sent to the server that is meant and to nobody else, and whatever it echoes, nothing
of them stands in what is printed or written: workspace, caches and temporary files included.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
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
from tests.console import ENTRY
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


Arguments = list[str | Path]
Commands = Callable[["Place", str], list[Arguments]]


@dataclass
class Place:
    """A folder that holds all that may be written, and the commands that run in it."""

    root: Path
    capture: pytest.CaptureFixture[str]

    @property
    def workspace(self) -> Path:
        return self.root / "w"

    def run(self, *arguments: str | Path, monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
        """Run a command, and return its exit code and all it printed."""
        monkeypatch.setattr(sys, "argv", ["goldpan", *map(str, arguments)])
        self.capture.readouterr()
        with pytest.raises(SystemExit) as caught:
            main()
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
    return Place(tmp_path, capfd)


def _mine(lab: Place, url: str) -> list[Arguments]:
    common: Arguments = ["--workspace", lab.workspace, "--api-url", url]
    ways = (["--via", "graphql"], ["--via", "rest"], ["--dry-run"])
    return [["mine", "--repo", SLUICE, *common, *way] for way in ways]


def _clone(lab: Place, url: str) -> list[Arguments]:
    os.environ["GOLDPAN_API_URL"] = url
    common: Arguments = ["--repo", "a/b", "--workspace", lab.workspace]
    made: list[Arguments] = []
    if not (lab.workspace / "tables" / "a" / "b").exists():
        pull = {**ENTRY, "title": "x", "head": {"ref": "x", "sha": "a"}}
        backup = lab.root / "b.jsonl"
        backup.write_text(json.dumps({"type": "issue", "issue": pull, "events": []}))
        made.append(["mine", *common, "--from-backup", backup])
    return [*made, ["clone", *common, "--source", f"{url}/a/b.git"]]


def _publish(lab: Place, url: str) -> list[Arguments]:
    os.environ["HF_ENDPOINT"] = url
    return [["publish", _dataset(), "--repo-id", "org/issues", "--tag", "v1"]]


def _dataset() -> Path:
    """Return a dataset, which no command changes."""
    made = made_once("canary", lambda folder: write(folder, QA, examples(QA, 50), "none"))
    return made / "datasets" / "made"


def _download(lab: Place, url: str) -> list[Arguments]:
    os.environ["HF_ENDPOINT"] = url
    own_task(
        lab.workspace / "tasks", ('files = ["toy.csv"]', 'files = ["toy.csv"]\nhub = "org/toy"')
    )
    arguments: Arguments = ["--download", "--revision", "0" * 40, "--workspace", lab.workspace]
    return [["tasks", "import", "toy_issues", *arguments]]


def _review(lab: Place, url: str) -> list[Arguments]:
    if not (lab.workspace / "own.toml").exists():
        reviewed_workspace(lab.workspace, 1)
    settings = lab.root / "review.toml"
    settings.write_text("retries = 0\npoll_seconds = 0.0\n")
    arguments: Arguments = ["--model", "judge", "--base-url", f"{url}/v1"]
    arguments += ["--settings-file", settings]
    arguments += ["--profile", lab.workspace / "own.toml", "--workspace", lab.workspace]
    return [["review", *arguments], ["review", *arguments, "--batch"]]


def _evaluate(lab: Place, url: str) -> list[Arguments]:
    common: Arguments = ["--workspace", lab.workspace]
    made: list[Arguments] = []
    if not (lab.workspace / "datasets").exists():
        counts = [(f"{name} = {n}", f"{name} = {n}0") for name, n in COUNTS.items()]
        own_task(lab.workspace / "tasks", *counts)
        rows = "".join(f"Leak {n},of box,{'BW'[n % 2]}\n" for n in range(40))
        (lab.root / "toy.csv").write_text(f"title,body,kind\n{rows}")
        made.append(["tasks", "import", "toy_issues", lab.root / "toy.csv", *common])
    arguments: Arguments = ["--task", "toy_issues", "--model", "prompted", "--set", "model=judge"]
    arguments += ["--set", f"base_url={url}/v1", "--set", "retries=0", *common]
    return [*made, ["evaluate", "run", *arguments]]


def _annotate(lab: Place, url: str) -> list[Arguments]:
    facts = ProjectFacts(url, "", "question-answer", 2, number=1)
    name = f"known-{len(list(lab.workspace.glob('annotations/*')))}"
    begin_project(WorkspaceLayout(lab.workspace), name, load("question-answer"), facts)
    arguments: Arguments = ["--workspace", lab.workspace, "--url", url]
    form: Arguments = ["--form", "question-answer", "--dataset", _dataset()]
    return [
        ["annotate", "push", "--project", f"new-{name}", *form, *arguments],
        ["annotate", "pull", "--project", name, *arguments],
    ]


EVERY: tuple[Commands, ...] = (_mine, _clone, _publish, _download, _review, _evaluate, _annotate)
SENT: dict[Commands, str] = {
    _mine: GITHUB,
    _clone: GITHUB,
    _publish: HUB,
    _download: HUB,
    _review: OPENAI,
    _evaluate: OPENAI,
    _annotate: STUDIO,
}


@pytest.fixture(params=EVERY, ids=lambda command: command.__name__.strip("_"))
def commands(request: pytest.FixtureRequest) -> Commands:
    chosen: Commands = request.param
    return chosen


@pytest.fixture
def tell(lab: Place, commands: Commands, monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """Give what runs the commands against a behavior and returns what the server got."""

    def run_against(server: Server, behavior: Behavior) -> None:
        monkeypatch.setenv("GOLDPAN_API_URL", "http://127.0.0.1:9")
        monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
        server.behavior = behavior
        for arguments in commands(lab, server.url):
            lab.run(*arguments, monkeypatch=monkeypatch)

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


@pytest.mark.parametrize("via", daily(["graphql"], ["rest"]))
def test_what_github_tells_is_mined_without_the_token(
    lab: Place, via: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Twin(synthetic_world()) as twin, Server() as server:
        good = in_front_of(twin.url, b'"title":"', b'"body":"')

        def behavior(got: Asked) -> Answer:
            answer = good(got)
            body = answer.body.replace(twin.url.encode(), server.url.encode())
            return Answer(answer.status, body, headers_with(answer, twin.url, server.url))

        server.behavior = behavior
        arguments: Arguments = ["mine", "--repo", SLUICE, "--via", via, "--api-url", server.url]
        code, output = lab.run(*arguments, "--workspace", lab.workspace, monkeypatch=monkeypatch)
        assert code == 0, output
    why = ("why", f"{SLUICE}#1", "--workspace", lab.workspace)
    assert secrets.HIDDEN in lab.run(*why, monkeypatch=monkeypatch)[1]
    lab.check()


def test_a_next_page_elsewhere_gets_no_token(lab: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    with Twin(synthetic_world()) as twin, Server() as server, Server() as other:
        good = in_front_of(twin.url)

        def behavior(got: Asked) -> Answer:
            answer = good(got)
            return Answer(answer.status, answer.body, headers_with(answer, twin.url, other.url))

        server.behavior = behavior
        arguments = ["mine", "--repo", SLUICE, "--via", "rest", "--api-url", server.url]
        code, output = lab.run(*arguments, "--workspace", lab.workspace, monkeypatch=monkeypatch)
        assert (code, "another host" in output) == (1, True), output
        assert other.got == []
    lab.check()


def test_what_a_model_says_is_kept_without_the_key(
    lab: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    with OpenAIServer(lambda body: Said(f"No: {OPENAI}"), key=OPENAI) as model:
        for commands in (_review, _evaluate):
            for arguments in commands(lab, model.url.removesuffix("/v1")):
                lab.run(*arguments, monkeypatch=monkeypatch)
        assert len(model.chats) > 3
    lab.check()


def test_listings_and_uploads_of_the_hub_take_no_token_elsewhere(
    lab: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Hub(lab.root / "hub", {HUB: {"org"}}) as hub, Server() as server, Server() as other:
        good = in_front_of(hub.url)

        def behavior(got: Asked) -> Answer:
            answer = good(got)
            body = answer.body.replace(f"{hub.url}/lfs/verify".encode(), other.url.encode())
            body = body.replace(hub.url.encode(), server.url.encode())
            return Answer(answer.status, body, headers_with(answer, hub.url, next_pages))

        server.behavior = behavior
        next_pages = server.url
        for arguments in _publish(lab, server.url):
            lab.run(*arguments, monkeypatch=monkeypatch)
        assert [got.method for got in other.got] == ["POST"]  # verify
        next_pages = other.url
        for path in ("a", "b", "c", "d", "e"):
            hub.add("org/issues", f"{path}.txt", b"text")
        for arguments in _publish(lab, server.url):
            lab.run(*arguments, "--overwrite", monkeypatch=monkeypatch)
        assert "GET" in {got.method for got in other.got}
        for got in other.got:
            assert not finds(got.bytes, SECRETS), got
    lab.check()


def test_a_token_that_was_granted_later_is_a_secret_too(
    lab: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", REFRESH)
    with Server() as server:
        refuse = echo_json(400)

        def behavior(got: Asked) -> Answer:
            if "token/refresh" in got.target:
                return Answer(200, json.dumps({"access": ACCESS}).encode())
            return refuse(got)

        server.behavior = behavior
        for arguments in _annotate(lab, server.url):
            lab.run(*arguments, monkeypatch=monkeypatch)
        assert finds(b"\n".join(got.bytes for got in server.got), SECRETS) == [REFRESH, ACCESS]
    lab.check()

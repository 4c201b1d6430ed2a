from __future__ import annotations

import io
import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from goldpan.core.errors import DatasetError, GoldpanError, PublishError, UsageError
from goldpan.core.terminal import Reporter
from goldpan.datasets.card import published, state_audit
from goldpan.datasets.examples import CODE_EDIT, QA
from goldpan.datasets.hub.publish import PublishResult, publish
from tests.examples import CARD, examples, write
from tests.hub import Hub
from tests.local_server import Answer
from tests.places import files_below

# huggingface_hub uploads in a way that its own HTTP client advises against.
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")

TOKEN = "hf_" + "T" * 30
READER = "hf_" + "R" * 30
ID = "org/issues"
LEAKED = "ghp_" + "".join(chr(97 + 7 * at % 26) for at in range(36))


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "no-login"))
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda seconds: None)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    with Hub(tmp_path / "hub", {TOKEN: {"org"}, READER: set()}) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        yield hub


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a dataset of one train and two test files."""
    root = tmp_path_factory.mktemp("workspace")
    written = write(root, QA, examples(QA, 2600), "time:2020-06-01", shard_bytes=400_000)
    assert [len(split.files) for split in written.splits] == [1, 2]
    return written.directory


@pytest.fixture(scope="module")
def newer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return another version: another test split in one file, the same train split."""
    root = tmp_path_factory.mktemp("workspace")
    rows = examples(QA, 1000)
    return write(root, QA, rows, "time:2020-06-01", shard_bytes=400_000).directory


def send(directory: Path, repo_id: str = ID, **options: Any) -> PublishResult:
    return publish(directory, repo_id, **options)


def assert_holds(hub: Hub, directory: Path, repo_id: str = ID) -> None:
    """Assert that the repository holds exactly the directory's files."""
    files = {path: hub.content(file) for path, file in hub.files(repo_id).items()}
    files.pop(".gitattributes")
    assert files == {**files_below(directory), **published(directory, repo_id)}


_LOAD = """
import sys, datasets
made = datasets.load_dataset(sys.argv[1], revision=sys.argv[2])
print({name: len(rows) for name, rows in made.items()}, made["test"][0]["id"])
streamed = datasets.load_dataset(sys.argv[1], split="test", streaming=True)
print(next(iter(streamed))["id"])
"""


def test_a_round_trip(hub: Hub, dataset: Path, tmp_path: Path) -> None:
    published = send(dataset, tag="v1.0")
    state = hub.repo(ID) or {}
    assert published.created
    assert published.url == f"{hub.url}/datasets/{ID}"
    assert published.commit == state["head"] == state["tags"]["v1.0"]
    assert len(state["messages"]) == 2
    assert not state["private"]
    assert {change.action for change in published.changes} == {"add"}
    assert_holds(hub, dataset)
    environment = {"HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / "home")}
    environment |= {"HF_HUB_DISABLE_XET": "1", "HF_UPDATE_DOWNLOAD_COUNTS": "0"}
    environment["PATH"] = os.environ["PATH"]
    done = subprocess.run(
        [sys.executable, "-c", _LOAD, ID, "v1.0"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["{'train': 151, 'test': 2449} qa:o/n#152", "qa:o/n#152"]


def test_the_same_content_makes_no_commit(hub: Hub, dataset: Path) -> None:
    first = send(dataset)
    hub.requests.clear()
    second = send(dataset, tag="v1")
    assert second.commit == first.commit
    assert not second.created
    assert second.changes == ()
    assert hub.count("POST") == hub.count("POST", "/tag/") == 1
    hub.requests.clear()
    assert send(dataset, tag="v1", overwrite=True).commit == first.commit
    assert hub.count("GET") == len(hub.requests)


def test_other_content_is_only_replaced_when_told(hub: Hub, dataset: Path, newer: Path) -> None:
    first = send(dataset, tag="v1")
    large = len(list((hub.directory / "large").iterdir()))
    hub.requests.clear()
    with pytest.raises(PublishError, match=r"holds other content; publishing would") as caught:
        send(newer)
    assert "--overwrite" in caught.value.remedy
    assert hub.count("GET") == len(hub.requests)
    assert_holds(hub, dataset)
    second = send(newer, overwrite=True, tag="v2")
    assert_holds(hub, newer)
    actions = {change.path: change.action for change in second.changes}
    assert actions["data/test-00001-of-00002.parquet"] == "delete"
    assert actions["README.md"] == "replace"
    assert "data/train-00000-of-00001.parquet" not in actions
    assert len(list((hub.directory / "large").iterdir())) == large + 1
    state = hub.repo(ID) or {}
    assert state["tags"] == {"v1": first.commit, "v2": second.commit}
    assert len(state["messages"]) == 3


def test_a_tag_is_never_moved(hub: Hub, dataset: Path, newer: Path) -> None:
    send(dataset, tag="v1")
    with pytest.raises(PublishError, match=f"The tag v1 of {ID} marks another version"):
        send(newer, tag="v1", overwrite=True)
    send(newer, overwrite=True)
    with pytest.raises(PublishError, match="marks another version"):
        send(newer, tag="v1")
    assert_holds(hub, newer)


def test_a_tag_stays_where_only_an_audit_changed_the_card(
    hub: Hub, dataset: Path, tmp_path: Path
) -> None:
    first = send(dataset, tag="v1")
    audited = shutil.copytree(dataset, tmp_path / "audited")
    for free in (7, 8):
        sentence = f"Of 2,600 rows, {free} are free of all findings"
        state_audit(audited, sentence, f"# What the audit found\n\n{sentence}.\n")
        again = send(audited, tag="v1", overwrite=True)
        changed = [change.path for change in again.changes]
        assert (changed, again.tag) == (["README.md", "findings.md", "provenance.json"], None)
        assert_holds(hub, audited)
    state = hub.repo(ID)
    assert state and state["tags"] == {"v1": first.commit}


@pytest.mark.parametrize("rights", ["token", "without a token"])
def test_a_dry_run_sends_nothing(
    hub: Hub, dataset: Path, newer: Path, rights: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(dataset)
    before = hub.repo(ID)
    hub.requests.clear()
    if rights == "token":
        planned = send(newer, dry_run=True, overwrite=True, tag="v2")
        assert planned.compared
        deleted = [change.path for change in planned.changes if change.action == "delete"]
        assert deleted == [f"data/test-0000{at}-of-00002.parquet" for at in (0, 1)]
        assert not planned.created
        with pytest.raises(PublishError, match="holds other content"):
            send(newer, dry_run=True)
        assert hub.count("GET") == len(hub.requests) > 0
    else:
        monkeypatch.delenv("HF_TOKEN")
        planned = send(newer, dry_run=True)
        assert not planned.compared
        assert sum(change.size for change in planned.changes) == sum(
            map(len, {**files_below(newer), **published(newer, ID)}.values())
        )
        assert hub.requests == []
    assert planned.dry_run
    assert planned.commit is None
    assert hub.repo(ID) == before
    other = send(newer, "org/other", dry_run=True)
    assert other.created == other.compared == (rights == "token")
    assert hub.repo("org/other") is None


def test_without_a_token_nothing_is_asked(
    hub: Hub, dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_TOKEN")
    with pytest.raises(PublishError, match=r"There is no token for 127\.0\.0\.1") as caught:
        send(dataset)
    assert "HF_TOKEN" in caught.value.remedy
    assert "hf auth login" in caught.value.remedy
    assert hub.requests == []
    assert send(dataset, token=TOKEN).created


def test_a_dataset_with_problems_stays_here(hub: Hub, tmp_path: Path) -> None:
    rows = examples(CODE_EDIT, 2, license=None, body=f"Use {LEAKED}")
    directory = write(tmp_path, CODE_EDIT, rows).directory
    with pytest.raises(PublishError, match="cannot be published") as caught:
        publish(directory, ID)
    message = str(caught.value)
    assert "2 examples are of o/n, whose license is not known" in message
    assert "code-edit:o/n#1+10001 has secret:github-token in its body" in message
    assert LEAKED not in message
    assert hub.requests == []
    with pytest.raises(DatasetError, match="holds no provenance"):
        send(tmp_path)
    allowed = send(write(tmp_path, QA, examples(QA, 1, license=None)).directory, tag="a",
                   allowed_licenses=["unknown"])  # fmt: skip
    assert allowed.created


def test_private_means_private(hub: Hub, dataset: Path) -> None:
    send(dataset, private=True)
    assert (hub.repo(ID) or {})["private"]
    send(dataset, private=True)
    send(dataset)
    hub.create("org/open")
    with pytest.raises(PublishError, match="org/open is public, and the dataset is to be private"):
        send(dataset, "org/open", private=True)
    assert set(hub.files("org/open")) == {".gitattributes"}


def test_an_empty_repository_is_filled_and_its_ignored_files_are_not_heeded(
    hub: Hub, dataset: Path
) -> None:
    hub.create(ID)
    assert not send(dataset).created
    assert_holds(hub, dataset)
    hub.create("org/ignoring")
    hub.add("org/ignoring", ".gitignore", b"*")
    send(dataset, "org/ignoring", overwrite=True)
    assert_holds(hub, dataset, "org/ignoring")


@pytest.mark.parametrize("already", [0, 1])
def test_a_cut_upload_goes_on(hub: Hub, dataset: Path, already: int) -> None:
    sizes = sorted(path.stat().st_size for path in (dataset / "data").iterdir())
    hub.cut_after = sizes[0] + 10 if already else 10
    broke = r"connection to 127.0.0.1\S+ broke while sending data/"
    with pytest.raises(PublishError, match=broke) as caught:
        send(dataset)
    assert "Run the same command again" in caught.value.remedy
    arrived = {path.name for path in (hub.directory / "large").iterdir()}
    assert set(hub.files(ID)) == {".gitattributes"}
    hub.cut_after = None
    hub.requests.clear()
    published = send(dataset)
    assert not published.created
    assert_holds(hub, dataset)
    sent = {seen.path.removeprefix("/lfs/") for seen in hub.requests if seen.method == "PUT"}
    assert not sent & arrived
    assert len(sent | arrived) == 3
    assert hub.count("POST", "/commit/") == 1


def test_somebody_elses_commit_is_not_overwritten(hub: Hub, dataset: Path) -> None:
    hub.create(ID)
    hub.before_commit = lambda: hub.add(ID, "notes.txt", b"mine")
    with pytest.raises(PublishError, match=f"{ID} was changed by somebody else") as caught:
        send(dataset)
    assert "Look at what is there now" in caught.value.remedy
    assert set(hub.files(ID)) == {".gitattributes", "notes.txt"}
    with pytest.raises(PublishError, match=r"would delete notes\.txt, add README\.md"):
        send(dataset)
    send(dataset, overwrite=True)
    assert_holds(hub, dataset)


@pytest.mark.parametrize(
    ("refuse", "cause", "remedy"),
    [
        ({"/commit/": 409}, "was changed by somebody else while committing", "run the same"),
        ({"/commit/": 404}, "has no dataset", "Check the name"),
        ({"/commit/": 500}, "answered 500 while committing", "Wait a little"),
        ({"/commit/": 418}, "refused with 418 while committing", "report it"),
        ({"/objects/batch": 503}, "answered 503 while sending data/", "Wait a little"),
        ({"/lfs/": 403}, "may not write", "write access"),
        ({"/preupload/": 429}, "answered 429 while sending", "Wait a little"),
        ({"/repos/create": 401}, "does not accept the token", "settings/tokens"),
        ({"/api/datasets/": 500}, "answered 500 while asking what is there", "Wait a little"),
        ({"/tag/": 409}, "was changed by somebody else while setting the tag v1", "Look at"),
    ],
)
def test_refusals_say_what_to_do(
    hub: Hub, dataset: Path, refuse: dict[str, int], cause: str, remedy: str
) -> None:
    hub.refuse = refuse
    with pytest.raises(PublishError, match=cause) as caught:
        send(dataset, tag="v1")
    assert remedy in caught.value.remedy
    assert TOKEN not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    hub.refuse = {}
    assert send(dataset, tag="v1").tag == "v1"
    state = hub.repo(ID) or {}
    assert state["tags"] == {"v1": state["head"]}
    assert_holds(hub, dataset)


def test_tokens_without_rights_are_told(hub: Hub, dataset: Path) -> None:
    with pytest.raises(PublishError, match=f"may not write to {ID}") as caught:
        send(dataset, token=READER)
    assert "write access" in caught.value.remedy
    with pytest.raises(PublishError, match="does not accept the token"):
        send(dataset, token="hf_" + "X" * 30)
    with pytest.raises(PublishError, match="has characters that no token has") as caught:
        send(dataset, token="hf_secret\nsecret")
    assert "secret" not in str(caught.value)
    assert send(dataset, "org/spaced", token=f" {TOKEN}\n").created
    hub.create(ID, private=True)
    with pytest.raises(PublishError, match="may not write"):
        send(dataset, token=READER)
    assert set(hub.files(ID)) == {".gitattributes"}


def test_a_hub_that_is_not_there_is_told(
    hub: Hub, dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9/")
    with pytest.raises(PublishError, match=r"connection to 127\.0\.0\.1:9 broke"):
        send(dataset)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(GoldpanError, match="HF_HUB_OFFLINE"):
        send(dataset)


def test_a_page_in_place_of_a_hub_is_told(
    hub: Hub, dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "answer", lambda call: Answer(200, b"<html>Sign in</html>"))
    with pytest.raises(PublishError, match="does not answer like a Hub") as caught:
        send(dataset)
    assert "HF_ENDPOINT" in caught.value.remedy


@pytest.mark.parametrize(
    "repo_id", ["issues", "a/b/c", "org/", "/x", "org/a b", "org/--x", "org/x.git", "../x", ""]
)
def test_impossible_names_are_refused(hub: Hub, dataset: Path, repo_id: str) -> None:
    with pytest.raises(UsageError, match=r"is not a valid dataset name|names no owner"):
        send(dataset, repo_id)
    assert hub.requests == []


@pytest.mark.parametrize("tag", ["a b", "-v1", "v1..2", "v1.lock", "v/1", "v1."])
def test_impossible_tags_are_refused(hub: Hub, dataset: Path, tag: str) -> None:
    with pytest.raises(UsageError, match="is not a valid tag"):
        send(dataset, tag=tag)
    assert hub.requests == []


def test_the_token_is_told_to_nobody(
    hub: Hub, dataset: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    hub.warns = True
    hub.refuse = {"/objects/batch": 500}
    screen = io.StringIO()
    with pytest.raises(PublishError):
        send(dataset, reporter=Reporter(Console(file=screen, width=200)))
    hub.refuse = {}
    send(dataset, reporter=Reporter(Console(file=screen, width=200)))
    printed = capfd.readouterr()
    everything = caplog.text + printed.out + printed.err + screen.getvalue()
    assert TOKEN not in everything
    assert "signature=secret" not in everything
    assert "as the test wished" in screen.getvalue()
    assert printed.err == ""


def test_the_card_is_the_one_that_was_made(hub: Hub, tmp_path: Path) -> None:
    card = replace(CARD, title="Fine: a title", summary="Made by us. Thanks.")
    directory = write(tmp_path, QA, examples(QA, 1), card=card).directory
    send(directory)
    text = hub.content(hub.files(ID)["README.md"]).decode()
    assert text == published(directory, ID)["README.md"].decode()
    assert "Made by us" in text

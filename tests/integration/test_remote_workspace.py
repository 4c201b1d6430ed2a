"""A workspace in a store gives on every machine what a local one gives, and loses nothing."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
import zstandard

import goldpan as api
from goldpan.core import remote
from goldpan.core.errors import GoldpanError, WorkspaceError
from goldpan.core.locks import hold_lock
from goldpan.core.remote.manifest import PIECE
from goldpan.core.remote.mirror import Mirror, Pruned, mirror_directory
from goldpan.core.remote.places import FILES
from goldpan.core.remote.store import Lease, ObjectStore
from goldpan.plan.initial import init
from tests.object_store import SECRET, LocalS3
from tests.places import files_below
from tests.planning import SMALL, environment, local_github, made, rows, write_plan
from tests.program import goldpan

ADDRESS = "s3://lab/work/sluice"
MANIFEST = "manifest.json.zst"
BUSY = WorkspaceError("Another goldpan is working on a/b", "Wait for it")
Machine = Callable[[str], Mirror]


@pytest.fixture(scope="module")
def server() -> Iterator[LocalS3]:
    with LocalS3() as server:
        yield server


@pytest.fixture
def s3(server: LocalS3, monkeypatch: pytest.MonkeyPatch) -> LocalS3:
    """Give the store, empty, with the environment of this process leading to it."""
    server.empty()
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(remote, "_opened", {})
    return server


@pytest.fixture
def machine(s3: LocalS3, tmp_path: Path) -> Machine:
    """Return what gives the workspace as a machine of that name has it."""

    def on(name: str) -> Mirror:
        mirror = Mirror(ADDRESS, tmp_path / name)
        mirror.pull()
        return mirror

    return on


def write(mirror: Mirror, path: str, content: bytes | str) -> Path:
    file = mirror.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


def files(mirror: Mirror) -> dict[str, bytes]:
    found = files_below(mirror.root)
    return {path: found[path] for path in found if not path.endswith("lock")}


@pytest.mark.nightly
def test_a_plan_in_a_store_makes_the_bytes_of_a_local_one(
    s3: LocalS3, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with local_github(tmp_path) as twin:

        def run(*words: str, on: str) -> str:
            mirrors = str(tmp_path / on)
            variables = environment(twin, GOLDPAN_MIRRORS=mirrors, **s3.environment)
            done = goldpan(*words, folder=tmp_path, environment=variables)
            assert done.code == 0, done.err + done.out
            assert SECRET not in done.out + done.err
            return done.out

        write_plan(tmp_path)
        run("run", "plan.toml", on="none")
        write_plan(tmp_path, SMALL, "far.toml", workspace=ADDRESS)
        run("run", "far.toml", on="one")
        assert "Nothing to do" in run("run", "far.toml", on="other")
        monkeypatch.setenv("GOLDPAN_MIRRORS", str(tmp_path / "other"))
        mirrored = mirror_directory(ADDRESS) / FILES
        for folder in ("tables", "verdicts"):
            assert made(mirrored, folder) == made(tmp_path / "lab", folder)
        assert rows(mirrored, "questions") == rows(tmp_path / "lab", "questions")
        with api.Workspace(ADDRESS) as lab:
            assert api.load(f"{ADDRESS}/datasets/questions").family == "qa"
            lab.path.joinpath("notes.txt").write_text("mine")
        assert "pieces: 0" in run("prune", "--workspace", ADDRESS, on="one")
        (home,) = (tmp_path / "one").iterdir()
        assert (home / FILES / "notes.txt").read_text() == "mine"
    stored = "".join(str(path.read_bytes()) for path in tmp_path.rglob("mirror.json"))
    assert SECRET not in stored


def test_init_writes_settings_that_all_machines_have(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOLDPAN_MIRRORS", str(tmp_path / "mirrors"))
    init(api.Workspace(ADDRESS))
    remote.push_opened()
    assert files(machine("other")).keys() == {"goldpan.toml", "plan.toml"}


def test_machines_that_change_other_files_keep_each_others(machine: Machine) -> None:
    first, second = machine("one"), machine("other")
    write(first, "tables/a/b/entries.parquet", "one")
    write(first, "tmp/draft", "never leaves")
    (first.root / "git/a/b.git/refs").mkdir(parents=True)  # without which it is no repository
    write(second, "tables/c/d/a\\nä \\.parquet", "other")
    assert (first.push(), second.push(), first.push()) == (2, 1, 0)
    first.pull()
    assert (machine("third").root / "git/a/b.git/refs").is_dir()
    assert files(machine("third")) == files(second)
    assert files(second).keys() == {"tables/a/b/entries.parquet", "tables/c/d/a\\nä \\.parquet"}
    write(second, "git/a/b.git/refs/heads/main", "no empty folder any more")
    assert (second.push(), second.push()) == (2, 0)
    shutil.rmtree(second.root / "tables/a")
    second.push()
    first.pull()
    assert not (first.root / "tables/a").exists()
    assert first.push() == 0


def test_a_file_changed_on_both_is_set_aside(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = machine("one"), machine("other")
    write(first, "tables/pairs.parquet", "one")
    write(second, "tables/pairs.parquet", "other")
    write(second, "raw/run-0001.zst", "more")
    first.push()
    assert second.push() == 1  # the rest of its work
    assert files(second) == files(machine("third"))
    assert files(second)["tables/pairs.parquet"] == b"one"
    (aside,) = (second.root.parent / "aside").rglob("*.parquet")
    assert aside.read_bytes() == b"other"
    assert str(aside.parent.parent) in capsys.readouterr().err.replace("\n", "")


def test_of_a_file_that_grows_only_the_end_is_sent(s3: LocalS3, machine: Machine) -> None:
    local = machine("one")
    file = write(local, "raw/a/b/run-0001.zst", b"a" * PIECE + b"b")
    local.push()
    s3.requests.clear()
    with file.open("ab") as more:
        more.write(b"c")
    local.push()
    assert s3.requests["PUT"] == 2  # the second piece and the manifest
    assert files(machine("other")) == {"raw/a/b/run-0001.zst": b"a" * PIECE + b"bc"}


def test_a_lock_holds_on_all_machines_and_brings_what_was_done(machine: Machine) -> None:
    first, second = machine("one"), machine("other")
    for mirror in (first, second):
        (mirror.root / "raw/a/b").mkdir(parents=True)
    held = r"on a/b: .* on .*process \d+\), until \d\d:\d\d:\d\d UTC unless it goes on\. Wait"
    with hold_lock(first.root / "raw/a/b/lock", BUSY):
        write(first, "raw/a/b/run-0001.zst", "replies")
        with (
            pytest.raises(WorkspaceError, match=held),
            hold_lock(second.root / "raw/a/b/lock", BUSY),
        ):
            pass
    with hold_lock(second.root / "raw/a/b/lock", BUSY):
        assert (second.root / "raw/a/b/run-0001.zst").read_text() == "replies"
    with pytest.raises(KeyError), hold_lock(first.root / "raw/a/b/lock", BUSY):
        write(first, "raw/a/b/run-0002.zst", "of a run that failed")
        raise KeyError
    assert "raw/a/b/run-0002.zst" in files(machine("third"))


def test_long_work_is_pushed_meanwhile_and_keeps_its_lock(
    s3: LocalS3, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(method: str, path: str) -> bool:
        if method == "PUT" and "/content/" in path:
            time.sleep(2.5)  # longer than the lock lasts without a sign
        return False

    monkeypatch.setattr("goldpan.core.remote.store.SECONDS", 1.0)
    monkeypatch.setattr("goldpan.core.remote.mirror._SECONDS_BETWEEN", 0.05)
    first, second, s3.refuse = machine("one"), machine("other"), slow
    with first.leased("raw/a/b/lock", None):
        write(first, "raw/a/b/run-0001.zst", "so far")
        while not files(second):
            assert Lease(ObjectStore(ADDRESS), "raw/a/b/lock").acquire() is not None
            second.pull()
    assert files(second) == {"raw/a/b/run-0001.zst": b"so far"}


def test_who_lost_a_lock_publishes_nothing(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    local = machine("one")
    store = ObjectStore(ADDRESS)
    with (
        pytest.raises(WorkspaceError, match="was lost: this machine did not renew it"),
        local.leased("raw/a/b/lock", None),
    ):
        write(local, "raw/a/b/run-0001.zst", "late")
        held = store.read("locks/raw/a/b/lock.json")
        assert held is not None
        store.write("locks/raw/a/b/lock.json", json.dumps({"owner": "other"}).encode())
        (lease,) = local._leases
        lease._etag = held.etag
        monkeypatch.setattr("goldpan.core.remote.store.SECONDS", 0.0)
        lease.release()
        lease._released.clear()
        lease._renew()
    assert files(machine("other")) == {}
    local.push()  # by the next command
    assert files(machine("other")) == {"raw/a/b/run-0001.zst": b"late"}


def test_a_lock_whose_holder_is_gone_is_taken(s3: LocalS3, monkeypatch: pytest.MonkeyPatch) -> None:
    store = ObjectStore(ADDRESS)
    assert Lease(store, "raw/a/b/lock").acquire() is None
    assert Lease(store, "raw/a/b/lock").acquire() is not None
    monkeypatch.setattr("goldpan.core.remote.store.SECONDS", -1.0)
    assert Lease(store, "raw/a/b/lock").acquire() is None


def test_a_holder_that_was_killed_is_told_with_the_end_of_its_lock(
    s3: LocalS3, machine: Machine
) -> None:
    holder = (
        "import os, sys\nfrom goldpan.core.remote.store import Lease\n"
        "from goldpan.core.remote.store import ObjectStore\n"
        "assert Lease(ObjectStore(sys.argv[1]), 'raw/a/b/lock').acquire() is None\n"
        "os.kill(os.getpid(), 9)\n"
    )
    killed = subprocess.run([sys.executable, "-c", holder, ADDRESS], check=False)
    assert killed.returncode == -9
    local = machine("one")
    (local.root / "raw/a/b").mkdir(parents=True)
    held = r"process \d+\), until \d\d:\d\d:\d\d UTC unless it goes on"
    with pytest.raises(WorkspaceError, match=held), local.leased("raw/a/b/lock", BUSY):
        pass


@pytest.mark.parametrize("body", [b"[]", b"null", b'{"owner": 1}', b"{", b'"x"'])
def test_a_lock_that_says_nothing_is_somebodys(s3: LocalS3, body: bytes) -> None:
    ObjectStore(ADDRESS).create("locks/raw/x/lock.json", body)
    assert str(Lease(ObjectStore(ADDRESS), "raw/x/lock").acquire()).startswith("somebody, until")


def test_a_store_that_ignores_conditions_is_refused(s3: LocalS3, machine: Machine) -> None:
    local = machine("one")
    write(local, "tables/a", "a")
    s3.conditional = False
    with pytest.raises(WorkspaceError, match="overwrites objects that it was told to keep"):
        local.push()
    s3.conditional = True


@pytest.mark.parametrize(
    ("address", "variables", "message"),
    [
        ("s3://nobody/x", {}, "There is no bucket nobody for s3://nobody/x. Create it"),
        ("s3://lab/x", {"AWS_ACCESS_KEY_ID": "AKIAOTHER"}, "refuses access (InvalidAccessKeyId)"),
        ("s3://lab/x", {"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, "does not answer"),
        ("s3://lab/../x", {}, "not at an address that several machines can write to"),
        (f"s3://key:{SECRET}@lab/x", {}, "The workspace s3://lab/x is not at an address"),
        ("hf://lab/x", {}, "The workspace hf://lab/x is not at an address"),
    ],
)
def test_what_cannot_be_opened_is_told(
    s3: LocalS3,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    address: str,
    variables: dict[str, str],
    message: str,
) -> None:
    monkeypatch.setenv("GOLDPAN_MIRRORS", str(tmp_path))
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(GoldpanError) as error:
        _ = api.Workspace(Path(address)).layout  # as a command opens it
    assert message in str(error.value)
    assert SECRET not in str(error.value)


@pytest.mark.parametrize("denied", ["", MANIFEST])
def test_a_denied_write_keeps_the_work_and_hides_the_answer(
    s3: LocalS3, machine: Machine, denied: str
) -> None:
    """Where all content is stored and its manifest is not, nothing happened."""
    local = machine("one")
    write(local, "tables/a", "a")
    s3.refuse = lambda method, path: method == "PUT" and path.endswith(denied)
    with pytest.raises(WorkspaceError) as error:
        local.push()
    s3.refuse = lambda method, path: False
    assert SECRET not in str(error.value)
    assert "refuses access (AccessDenied)" in str(error.value)
    assert files(machine("other")) == {}
    assert local.push() == 1


def test_a_write_whose_answer_was_lost_is_known_to_be_ours(s3: LocalS3, machine: Machine) -> None:
    lost: set[str] = set()

    def once(method: str, path: str) -> bool:
        first = method == "PUT" and path not in lost and not path.endswith("proof")
        lost.update([path] if first else [])
        return first

    local, s3.lose = machine("one"), once
    with local.leased("raw/a/b/lock", None):
        write(local, "raw/a/b/run-0001.zst", "replies")
    lost.clear()
    write(local, "raw/a/b/run-0001.zst", "more replies")
    assert local.push() == 1
    assert len(lost) == 2
    assert Lease(ObjectStore(ADDRESS), "raw/a/b/lock").acquire() is None
    assert files(machine("other")) == {"raw/a/b/run-0001.zst": b"more replies"}


def test_a_machine_killed_while_it_fetches_goes_on(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    first, second = machine("one"), machine("other")
    write(first, "tables/a", "first")
    first.push()
    second.pull()
    write(first, "tables/a", "second")
    write(first, "tables/b", "new")
    first.push()
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr("goldpan.core.remote.mirror.write_whole", killed)
        second.pull()
    second.pull()
    assert files(second) == files(first)
    assert second.push() == 0
    assert not list((tmp_path / "other").glob("aside/*"))


@pytest.mark.parametrize(
    ("format_", "named"),
    [
        (1, {"../out": [0, []]}),
        (1, {"/etc/out": [0, []]}),
        (1, {"a": [9, ["../x"]]}),
        (1, {"a": [0, []], "a/": [0, []]}),
        (1, []),
        (9, {}),
        (0, None),
    ],
)
def test_a_hostile_manifest_writes_nothing(
    machine: Machine, tmp_path: Path, format_: int, named: object
) -> None:
    manifest = {"format": format_, "workspace": "w", "generation": 1, "files": named}
    body = json.dumps(manifest).encode() if format_ else b"not a manifest"
    ObjectStore(ADDRESS).write(MANIFEST, zstandard.compress(body))
    with pytest.raises(WorkspaceError):
        machine("one")
    assert files(Mirror(ADDRESS, tmp_path / "one")) == {}
    assert not list(tmp_path.rglob("out"))


def test_a_damaged_piece_and_another_workspace_are_told(machine: Machine) -> None:
    local, store = machine("one"), ObjectStore(ADDRESS)
    write(local, "tables/a", "content")
    local.push()
    (piece,) = [key for key, *_ in store.sizes("content/")]
    store.write(piece, b"CONTENT")
    with pytest.raises(WorkspaceError, match=r"of tables/a .* is damaged"):
        machine("other")
    store.delete([piece])
    with pytest.raises(WorkspaceError, match="tables/a is missing"):
        machine("other")
    store.delete([MANIFEST])
    with pytest.raises(WorkspaceError, match="holds another workspace, or an older one"):
        local.pull()


def test_prune_deletes_only_what_no_file_is_made_of(machine: Machine) -> None:
    local = machine("one")
    write(local, "tables/a", "first")
    write(local, "tables/b", "kept")
    local.push()
    write(local, "tables/a", "second")
    local.push()
    assert local.prune(timedelta(days=7)) == Pruned(0, 0)
    assert local.prune(timedelta(seconds=-5)) == Pruned(1, 5)
    assert files(machine("other")) == {"tables/a": b"second", "tables/b": b"kept"}

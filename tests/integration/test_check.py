"""`goldpan check` finds what is damaged in a workspace and says what to run again."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import pytest

from goldpan.check import check_workspace
from goldpan.core.archive import Archive
from goldpan.core.errors import DatasetError, GitError, GoldpanError, WorkspaceError
from goldpan.core.progress import Reporter
from goldpan.core.workspace import Workspace
from goldpan.datasets.registry import find_task
from goldpan.evaluation.task_input import read_task_input
from goldpan.filters.pipeline import run_filters
from goldpan.filters.profile import load_profile
from goldpan.filters.stored import current_verdicts
from goldpan.miners.history.revisions import read_history
from goldpan.miners.pairing import find_rules, pair
from tests.demo_workspace import make_demo
from tests.program import goldpan

REPO = "prospector/sluice"
QUIET = Reporter(quiet=True)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the demo's workspace."""
    root = tmp_path_factory.mktemp("made") / "w"
    return make_demo(root)


@pytest.fixture
def root(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "w")
    return tmp_path / "w"


def check(root: Path, *options: str) -> tuple[int, str]:
    done = goldpan("check", root, *options)
    assert done.err == ""
    return done.code, done.out


def flip(path: Path, position: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 1
    path.write_bytes(data)


def test_a_sound_workspace(root: Path) -> None:
    code, out = check(root)
    assert code == 0
    assert "Nothing is damaged." in out
    code, out = check(root, "--json")
    output = json.loads(out)
    assert (code, output["damaged"], output["repaired"]) == (0, [], [])
    assert output["files"] > 30
    assert output["bytes"] > 100_000


def test_each_damaged_file_is_named_with_what_to_run(root: Path) -> None:
    workspace = Workspace(root)
    (run,) = (root / "runs").glob("*/majority/*/predictions.parquet")
    (result,) = (root / "runs").glob("*/tfidf-xgboost/*/result.json")
    (pack,) = (root / "git").rglob("*.pack")
    remedies = {
        workspace.raw(REPO) / "run-0001.zst": f"mine --repo {REPO} --repair",
        root / "reviews" / "run-0001.zst": "check --repair",
        workspace.table(REPO, "comments"): "normalize",
        workspace.table(REPO, "pairs"): "pair",
        workspace.table(REPO, "changes"): "clone",
        workspace.verdicts(REPO, "default"): "filter",
        workspace.dataset("qa") / "provenance.json": "dataset again",
        next((workspace.dataset("code-edit") / "data").iterdir()): "dataset again",
        run: "evaluate run",
        result: "evaluate run",
        pack: "clone",
    }
    archived = Archive(workspace.raw(REPO)).records[3]
    for path in remedies:
        path.chmod(0o644)
        if path == archived.path:  # of the first format, whose headers have no checksums
            flip(path, archived.offset + 12)
            continue
        flip(path, path.stat().st_size // 2)
    code, out = check(root, "--json")
    damaged = {entry["file"]: entry for entry in json.loads(out)["damaged"]}
    assert code == 1
    assert set(map(str, remedies)) <= set(damaged)
    for path, remedy in remedies.items():
        assert remedy in damaged[str(path)]["remedy"]
    assert damaged[str(workspace.raw(REPO) / "run-0001.zst")]["offset"] is not None


def test_archives_are_mended_on_request(root: Path) -> None:
    record = Archive(root / "reviews").records[2]
    flip(record.path, record.offset + 9)
    code, out = check(root, "--repair")
    assert code == 0
    assert "1 lost" in out
    assert list((root / "reviews" / "damaged").iterdir())
    assert check_workspace(Workspace(root), QUIET).damaged == ()


def test_replies_that_tables_were_made_of_are_missed(root: Path) -> None:
    """The newest run's end is gone, so its file alone looks as after a kill."""
    path = Workspace(root).raw(REPO) / "run-0001.zst"
    records = Archive(path.parent).records
    path.write_bytes(path.read_bytes()[: records[-3].end])
    (damage,) = check_workspace(Workspace(root), QUIET).damaged
    assert str(path) in damage.reason
    assert f"goldpan mine --repo {REPO}" in damage.remedy


@pytest.mark.parametrize("command", ["normalize", "status"])
def test_tables_are_not_made_anew_of_fewer_replies(command: str, root: Path) -> None:
    """What was cut off the newest run would be gone from the tables, too, and nobody would know."""
    workspace = Workspace(root)
    path = workspace.raw(REPO) / "run-0001.zst"
    path.write_bytes(path.read_bytes()[: Archive(path.parent).records[-3].end])
    before = workspace.table(REPO, "entries").read_bytes()
    done = goldpan(command, "--workspace", root)
    assert done.code == 1
    assert f"{path} no longer holds" in done.err
    assert f"goldpan mine --repo {REPO}" in done.err
    assert workspace.table(REPO, "entries").read_bytes() == before


def test_a_damaged_history_is_not_taken_for_one_that_lacks_commits(root: Path) -> None:
    (pack,) = (root / "git").rglob("*.pack")
    pack.chmod(0o644)
    flip(pack, 27_107)
    with pytest.raises(
        GitError, match=r"\.pack is damaged.*goldpan clone --repo prospector/sluice"
    ):
        read_history(Workspace(root), REPO, QUIET)
    done = goldpan("build", "code-edit", "--workspace", root)
    assert done.code == 1
    assert f"{pack} is damaged" in done.err


def test_tables_of_two_runs_are_not_mixed(root: Path) -> None:
    workspace = Workspace(root)
    shutil.copy(workspace.table(REPO, "unknown"), workspace.table(REPO, "comments"))
    with pytest.raises(WorkspaceError, match=r"comments\.parquet is not what .* goldpan normalize"):
        pair(workspace, REPO, find_rules("default"))


def test_pairs_of_other_tables_are_not_taken(root: Path) -> None:
    workspace = Workspace(root)
    (record := workspace.tables(REPO) / "normalize.json").unlink()
    shutil.copy(workspace.table(REPO, "unknown"), workspace.table(REPO, "commits"))
    assert not record.exists()
    with pytest.raises(WorkspaceError, match=r"commits\.parquet changed since goldpan pair"):
        run_filters(workspace, [REPO], load_profile("default"), QUIET)


def test_a_damaged_table_is_not_taken_for_one_that_changed(root: Path) -> None:
    path = Workspace(root).table(REPO, "references")
    flip(path, 2_149)
    with pytest.raises(OSError, match=r"references\.parquet is damaged"):
        current_verdicts(Workspace(root), REPO, load_profile("default"))


def test_no_damaged_test_file_is_evaluated(root: Path) -> None:
    task = find_task("nlbse23_issue_type")
    directory = Workspace(root).dataset(task.name)
    read_task_input(directory, task)
    (path,) = (directory / "data").glob("test-*.parquet")
    data = path.read_bytes()
    chance = random.Random(2)
    for _ in range(60):
        position = chance.randrange(len(data))
        path.write_bytes(data[:position] + bytes([data[position] ^ 16]) + data[position + 1 :])
        with pytest.raises(DatasetError, match=r"test-.*\.parquet is damaged"):
            read_task_input(directory, task)
    path.unlink()
    with pytest.raises(GoldpanError, match="is gone"):
        read_task_input(directory, task)


def test_no_such_workspace(tmp_path: Path) -> None:
    done = goldpan("check", tmp_path / "none")
    assert done.code == 2
    assert "There is no workspace" in done.err

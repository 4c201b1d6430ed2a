"""A whole real repository: every pull request has its states, and its size is GitHub's."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from goldpan.code.patch import split_patch
from goldpan.core.schemas.stages import PAIRS
from goldpan.core.settings.config import Settings
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.git.apply import FileState, apply_diff, read_diff
from goldpan.git.clone import clone
from goldpan.git.objects import Objects
from goldpan.git.trees import CommitPair, patches, path_bytes
from goldpan.miners.backup import mine_backup
from goldpan.miners.history.revisions import History, read_history
from tests.mining import Notes
from tests.places import SECP256K1, needs_data
from tests.table_rows import put_table
from tests.twin.history import git

REPO = "bitcoin-core/secp256k1"
NEWER = {1911, 1915, 1916}
"""Merged pull requests that are newer than the bundle: it has not one of their commits."""
NEWER_OPEN = {1566, 1754, 1789, 1802, 1912, 1913, 1914, 1917, 1918, 1919}
"""Pull requests whose newest head is newer than the bundle, and was not merged."""
PUSHED_AGAIN = 1883
"""A pull request whose head in the bundle is as large as the newer one that was announced."""

pytestmark = needs_data(SECP256K1)

Row = dict[str, Any]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> WorkspaceLayout:
    """Return a workspace in which every pull request is of a pair, so that all are read."""
    lab = WorkspaceLayout(tmp_path_factory.mktemp("real"))
    settings = Settings(workspace=lab.root, workers=1)
    mine_backup(settings, SECP256K1 / "entries.jsonl.xz", REPO, Notes())
    entries = pq.read_table(lab.table(REPO, "entries"), columns=["number", "kind"]).to_pylist()
    pairs = [
        {"issue": 1, "pull_repo": REPO, "pull": row["number"]}
        for row in entries
        if row["kind"] == "pull"
    ]
    put_table(lab, REPO, PAIRS, pairs)
    return lab


@pytest.fixture(scope="module")
def history(workspace: WorkspaceLayout) -> History:
    clone(workspace, REPO, Notes(), source=SECP256K1 / "repo.bundle")
    return read_history(workspace, REPO, Notes())


def rows(workspace: WorkspaceLayout, name: str) -> list[Row]:
    content: list[Row] = pq.read_table(workspace.table(REPO, name)).to_pylist()
    return content


def test_every_pull_request_has_its_states(workspace: WorkspaceLayout, history: History) -> None:
    assert history.pulls == 1_308
    assert history.states == {"base": 1_145, "merge_base": 150, "none": 13}
    revisions = {row["number"]: row for row in rows(workspace, "revisions")}
    entries = {row["number"]: row for row in rows(workspace, "entries") if row["kind"] == "pull"}
    lost = {number for number, row in revisions.items() if row["state"] == "none"}
    assert lost == NEWER | NEWER_OPEN
    assert {number for number in lost if entries[number]["merged"]} == NEWER
    assert all(revisions[number]["problem"] for number in lost)
    missing = {n for n, row in revisions.items() if "head_missing" in row["notes"]}
    assert missing == lost | {PUSHED_AGAIN}
    assert "head_from_ref" in revisions[PUSHED_AGAIN]["notes"]


def test_every_change_is_as_large_as_announced(
    workspace: WorkspaceLayout, history: History
) -> None:
    assert history.disagreeing == ()
    entries = {row["number"]: row for row in rows(workspace, "entries")}
    sums: dict[int, Counter[str]] = {}
    for row in rows(workspace, "changes"):
        count = sums.setdefault(row["number"], Counter())
        count["changed_files"] += 1
        for name in ("additions", "deletions"):
            count[name] += row[name] or 0
    for row in rows(workspace, "revisions"):
        if row["state"] != "none":
            assert row["agrees"]
            for name in ("changed_files", "additions", "deletions"):
                assert sums.get(row["number"], Counter())[name] == entries[row["number"]][name]


def test_the_base_state_holds_the_files_before(
    workspace: WorkspaceLayout, history: History
) -> None:
    assert history.changes == 6_152
    changes: dict[int, list[Row]] = {}
    for row in rows(workspace, "changes"):
        changes.setdefault(row["number"], []).append(row)
    with Objects(workspace.clone(REPO)) as objects:
        for row in rows(workspace, "revisions"):
            for change in changes.get(row["number"], ()):
                for commit, path, blob in (
                    (row["before_sha"], change["previous_path"], change["blob_before"]),
                    (row["after_sha"], None, change["blob_after"]),
                ):
                    blob_read = objects.find(commit, path_bytes(path or change["path"]))
                    assert (blob_read.id if blob_read else None) == blob


def test_patches_turn_each_file_before_into_the_one_after(
    workspace: WorkspaceLayout, history: History
) -> None:
    revisions = [row for row in rows(workspace, "revisions") if row["state"] != "none"]
    pairs = [CommitPair(row["merge_base"], row["after_sha"]) for row in revisions]
    blobs = {
        (row["number"], row["path"]): (row["blob_before"], row["blob_after"])
        for row in rows(workspace, "changes")
        if row["blob_after"] and (row["encoding"] or "").startswith("utf-8")
    }
    done = 0
    with Objects(workspace.clone(REPO)) as objects:
        texts = patches(workspace.clone(REPO), pairs)
        for row, patch in zip(revisions, texts, strict=True):
            assert patch is not None
            for part in split_patch(patch):
                pair = blobs.get((row["number"], part.path))
                if pair:
                    old = (part.moved_from or part.path).encode()
                    before = {old: FileState(objects.blob(pair[0]) or b"")} if pair[0] else {}
                    after = apply_diff(read_diff(part.text.encode()), before)
                    assert after[part.path.encode()].data == objects.blob(pair[1])
                    done += 1
    assert done == len(blobs) > 6_000


def test_a_partial_clone_gives_the_same_bytes(
    workspace: WorkspaceLayout, history: History, tmp_path: Path
) -> None:
    server = tmp_path / "server.git"
    git("clone", "--quiet", "--mirror", SECP256K1 / "repo.bundle", server)
    git(f"--git-dir={server}", "config", "uploadpack.allowFilter", "true")
    whole = [workspace.table(REPO, name).read_bytes() for name in ("revisions", "changes")]
    other = WorkspaceLayout(tmp_path / "other")
    other.tables(REPO).mkdir(parents=True)
    for name in ("repositories", "entries", "commits", "pairs"):
        other.table(REPO, name).write_bytes(workspace.table(REPO, name).read_bytes())
    assert clone(other, REPO, Notes(), source=server.as_uri()).partial
    assert read_history(other, REPO, Notes()).fetched > 5_000
    assert [other.table(REPO, name).read_bytes() for name in ("revisions", "changes")] == whole

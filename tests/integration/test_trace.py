"""From a published example back to the bytes that it was made of."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from goldpan.code.edits.apply import apply_edits
from goldpan.code.edits.edit import Edit
from goldpan.core.archive import Archive
from goldpan.core.errors import UsageError
from goldpan.core.workspace import Workspace
from goldpan.demo.pipeline import REPO
from goldpan.trace import trace
from tests.console import run
from tests.demo_workspace import make_demo


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Return the workspace of the demo, with its three datasets."""
    root = tmp_path_factory.mktemp("trace")
    return Workspace(make_demo(root))


def examples(workspace: Workspace, family: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(
        workspace.dataset(family) / "data" / "test-00000-of-00001.parquet"
    ).to_pylist()
    assert rows
    return rows


def git(workspace: Workspace, *arguments: str) -> bytes:
    clone = f"--git-dir={workspace.clone(REPO)}"
    return subprocess.run(["git", clone, *arguments], capture_output=True, check=True).stdout


@pytest.mark.parametrize("family", ["qa", "fault-localization", "code-edit"])
def test_every_example_leads_back_to_its_sources(workspace: Workspace, family: str) -> None:
    records = {record.name: record for record in Archive(workspace.raw(REPO)).records}
    for example in examples(workspace, family):
        traced = trace(workspace, example["id"])
        assert traced.complete
        assert traced.dataset == str(workspace.dataset(family))
        assert [entry.number for entry in traced.entries] == [
            example[name] for name in ("issue", "pull") if name in example
        ]
        assert traced.replies
        for reply in traced.replies:
            body = records[reply.name].read()
            assert hashlib.sha256(body).hexdigest() == reply.sha256
        assert any(
            f'"number":{example["issue"]}'.encode() in records[reply.name].read()
            for reply in traced.replies
        )


def test_edits_lead_from_git_to_git(workspace: Workspace) -> None:
    """The published file and blocks give exactly what git holds, read by git itself."""
    kinds = set()
    for example in examples(workspace, "code-edit"):
        kinds |= {example["line_ends"], bool(example["previous_path"])}
        added = example["blob_before"] is None
        before = b"" if added else git(workspace, "cat-file", "blob", example["blob_before"])
        after = git(workspace, "cat-file", "blob", example["blob_after"])
        assert example["file_before"].encode(example["encoding"]) == before
        name = example["previous_path"] or example["path"]
        assert example["patch"].startswith(f"{name}\n<<<<<<<")
        edits = [Edit(edit["search"], edit["replace"]) for edit in example["edits"]]
        assert apply_edits(example["file_before"], edits).encode(example["encoding"]) == after
        path = example["previous_path"] or example["path"]
        if not added:
            assert git(workspace, "show", f"{example['base_sha']}:{path}") == before
        assert git(workspace, "show", f"{example['head_sha']}:{example['path']}") == after
    assert kinds >= {"lf", "crlf", True, False}


def test_trees_are_those_of_git(workspace: Workspace) -> None:
    for example in examples(workspace, "fault-localization"):
        listed = git(workspace, "ls-tree", "-r", "-z", "--name-only", example["base_sha"])
        files = {name.decode() for name in listed.split(b"\0") if name}
        assert set(example["paths"]) <= files
        assert example["changed_path"] in example["paths"]
        shown = {
            name
            for name in files
            if name.endswith((".py", ".c", ".h", ".bat", ".sh"))
            and not any(part.startswith(".") for part in name.split("/"))
        }
        assert shown == set(example["paths"])
        assert example["tree"].endswith(f"{example['files']} files\n")


def test_what_is_gone_is_told(workspace: Workspace, tmp_path: Path) -> None:
    name = examples(workspace, "code-edit")[0]["id"]
    shutil.copytree(workspace.root, tmp_path / "copy")
    copy = Workspace(tmp_path / "copy")
    shutil.rmtree(copy.clone(REPO))
    traced = trace(copy, name)
    assert not traced.complete
    assert {item.kind for item in traced.objects} == {None}
    done = run("trace", name, "--workspace", copy.root, folder=tmp_path)
    assert done.code == 3
    assert "not there" in done.out
    done = run(
        "trace", name, "--workspace", workspace.root, folder=tmp_path, PATH=os.environ["PATH"]
    )
    assert done.code == 0
    assert "blob_before" in done.out


def test_an_unknown_example_is_told_with_where_it_was_sought(workspace: Workspace) -> None:
    with pytest.raises(UsageError, match=r"No example 'qa:x/y#1' is in .*or qa\. Give"):
        trace(workspace, "qa:x/y#1")

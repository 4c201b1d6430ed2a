"""From a published example back to the bytes that it was made of."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import goldpan
from goldpan.core.errors import UsageError
from goldpan.core.storage.archive import Archive
from goldpan.core.storage.parquet import read_table, write_table
from goldpan.core.storage.sealed import file_digest, read_lineage, sealed_json, write_lineage
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.provenance import read_provenance
from goldpan.demo.pipeline import REPO
from goldpan.lineage.trace import Trace, trace
from goldpan.miners.pairing import find_rules, pair
from tests.console import run
from tests.demo_workspace import make_demo
from tests.drawing import daily
from tests.program import Done


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> WorkspaceLayout:
    """Return the workspace of the demo, with its three datasets."""
    root = tmp_path_factory.mktemp("trace")
    return WorkspaceLayout(make_demo(root))


def examples(workspace: WorkspaceLayout, family: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(
        workspace.dataset(family) / "data" / "test-00000-of-00001.parquet"
    ).to_pylist()
    ours = [row for row in rows if row["repo"] == REPO]
    assert ours
    return ours


def git(workspace: WorkspaceLayout, *arguments: str) -> bytes:
    clone = f"--git-dir={workspace.clone(REPO)}"
    return subprocess.run(["git", clone, *arguments], capture_output=True, check=True).stdout


@pytest.mark.parametrize("family", ["qa", "fault-localization", "code-edit"])
def test_every_example_leads_back_to_its_sources(workspace: WorkspaceLayout, family: str) -> None:
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


def test_trees_are_those_of_git(workspace: WorkspaceLayout) -> None:
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


def test_what_is_gone_is_told(copy: WorkspaceLayout, tmp_path: Path) -> None:
    name = examples(copy, "code-edit")[0]["id"]
    shutil.rmtree(copy.clone(REPO))
    traced = trace(copy, name)
    assert not traced.complete
    assert {item.kind for item in traced.objects} == {None}
    done = run("trace", name, "--workspace", copy.root, folder=tmp_path)
    assert (done.code, "missing" in done.out) == (3, True)


def test_an_unknown_example_is_told_with_where_it_was_sought(workspace: WorkspaceLayout) -> None:
    with pytest.raises(UsageError, match=r"No example 'qa:x/y#1' is in .*or qa\. Give"):
        trace(workspace, "qa:x/y#1")


@pytest.mark.parametrize("words", [["why", f"{REPO}#56"], ["trace", "qa:prospector/sluice#56"]])
def test_a_reader_that_has_enough_ends_the_command_quietly(
    words: list[str], workspace: WorkspaceLayout
) -> None:
    command = [sys.executable, "-m", "goldpan", *words, "--workspace", str(workspace.root)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
        assert program.stdout
        program.stdout.close()
        assert program.stderr
        assert program.stderr.read() == b""
    assert program.returncode == 141


@pytest.fixture
def copy(workspace: WorkspaceLayout, tmp_path: Path) -> WorkspaceLayout:
    return WorkspaceLayout(shutil.copytree(workspace.root, tmp_path / "copy", symlinks=True))


def verified(workspace: WorkspaceLayout, name: str, folder: Path) -> Done:
    path = os.environ["PATH"]
    return run("trace", name, "--verify", "--workspace", workspace.root, folder=folder, PATH=path)


def broken(traced: Trace) -> dict[str, str]:
    return {link.step: link.found for link in traced.chain if not link.holds}


@pytest.mark.parametrize("family", daily(["qa", "code-edit"], ["fault-localization"]))
def test_the_whole_chain_is_recomputed(
    family: str, workspace: WorkspaceLayout, tmp_path: Path
) -> None:
    name = examples(workspace, family)[0]["id"]
    before = {path: path.read_bytes() for path in workspace.root.rglob("*.parquet")}
    done = verified(workspace, name, tmp_path)
    assert done.code == 0, done.out + done.err
    assert "The whole chain holds." in done.out
    assert "tables: comments, commits, discussion_comments, discussions, edits" in done.out
    assert "row: recomputed, equal in all" in done.out
    assert {path: path.read_bytes() for path in workspace.root.rglob("*.parquet")} == before


def test_reviews_and_runs_of_tests_are_links_of_the_chain(
    copy: WorkspaceLayout, tmp_path: Path
) -> None:
    lab = goldpan.Workspace(copy.root, progress=False)
    lab.build("qa", require=["question-answer"])
    traced = trace(copy, examples(copy, "qa")[0]["id"], verify=True)
    assert traced.holds
    assert "reviews" in {link.step for link in traced.chain}
    answers = copy.root / "reviews" / "run-0001.zst"
    answers.write_bytes(answers.read_bytes()[: Archive(answers.parent).records[-2].end])
    assert set(broken(trace(copy, traced.id, verify=True))) == {"reviews"}
    if not (copy.root / "verification" / REPO).exists():
        return  # nothing isolates foreign code here
    lab.build("issue-resolution", profile="verified", require="verified")
    traced = trace(copy, examples(copy, "issue-resolution")[0]["id"], verify=True)
    assert traced.holds
    (log,) = (copy.root / "verification" / REPO).glob("1-2/after-1.report")
    log.write_bytes(log.read_bytes()[:-1])
    name = next(row["id"] for row in examples(copy, "issue-resolution") if row["issue"] == 1)
    found = broken(trace(copy, name, verify=True))
    assert set(found) == {"test runs"}
    assert str(log) in found["test runs"]


def rewrite(path: Path, column: str, index: int, value: str) -> None:
    """Change one cell, and seal the file as if nothing had happened."""
    rows = read_table(path)
    values = rows[column].to_pylist()
    values[index] = value
    place = rows.schema.get_field_index(column)
    write_table(rows.set_column(place, rows.schema.field(column), pa.array(values)), path)


def test_a_forger_who_seals_each_file_anew_is_found(copy: WorkspaceLayout, tmp_path: Path) -> None:
    """All digests agree with each other, so that nothing but recomputing can tell."""
    name = examples(copy, "qa")[0]["id"]
    rewrite(copy.table(REPO, "entries"), "title", 0, "Another title")
    outputs = sorted(copy.tables(REPO).glob("*.parquet"))
    made = read_lineage(copy.tables(REPO), "normalize")
    write_lineage(
        copy.tables(REPO), "normalize", made["inputs"],
        [path for path in outputs if path.name in made["outputs"]],
    )  # fmt: skip
    pair(copy, REPO, find_rules("default"))
    lab = goldpan.Workspace(copy.root, progress=False)
    lab.filter()
    lab.build("qa")
    assert lab.check().damaged == ()
    found = broken(trace(copy, name, verify=True))
    assert "entries.parquet differs from what its inputs" in found["tables"]
    assert "the tables as recomputed are not those" in found["judged tables"]
    done = verified(copy, name, tmp_path)
    assert done.code == 1
    assert "tables: does not hold: " in done.out
    assert "The chain is broken" in done.out


def test_a_row_that_was_changed_and_sealed_anew_is_found(copy: WorkspaceLayout) -> None:
    directory = copy.dataset("qa")
    path = directory / "data" / "test-00000-of-00001.parquet"
    name = read_table(path)["id"][1].as_py()
    rewrite(path, "title", 1, "Another title")
    facts = read_provenance(directory)
    facts["files"]["data/test-00000-of-00001.parquet"]["sha256"] = file_digest(path)
    (directory / "provenance.json").write_bytes(sealed_json(facts))
    assert broken(trace(copy, name, verify=True)) == {"row": "recomputed, it differs in title"}


def test_rows_that_are_drawn_from_all_at_once_are_verified_as_far_as_can_be(
    workspace: WorkspaceLayout, tmp_path: Path
) -> None:
    name = examples(workspace, "nlbse23_issue_type")[0]["id"]
    done = verified(workspace, name, tmp_path)
    assert done.code == 3, done.out
    assert "tables: comments, commits, discussion_comments, discussions, edits" in done.out
    assert "row: cannot be verified: " in done.out
    assert "Everything that could be verified holds" in done.out

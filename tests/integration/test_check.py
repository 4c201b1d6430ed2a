"""`goldpan check` finds what is damaged in a workspace and says what to run again."""

from __future__ import annotations

import json
import random
import re
import shutil
from pathlib import Path

import pytest

from goldpan.core.errors import DatasetError, GitError, GoldpanError, WorkspaceError
from goldpan.core.storage.archive import Archive
from goldpan.core.storage.parquet import read_table, write_table
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.datasets.provenance import read_provenance
from goldpan.datasets.tasks.registry import find_task
from goldpan.evaluation.task_input import read_task_input
from goldpan.filters.pipeline import run_filters
from goldpan.filters.profile import load_profile
from goldpan.filters.stored import current_verdicts
from goldpan.lineage.check import check_workspace
from goldpan.lineage.stages import STAGES, stage_of
from goldpan.miners.history.revisions import read_history
from goldpan.miners.pairing import find_rules, pair
from tests.demo_workspace import make_demo
from tests.places import ROOT
from tests.program import goldpan

REPO = "prospector/sluice"
QUIET = Reporter(quiet=True)
KINDS = {
    "raw replies": ("raw/**/*", "check --repair|mine"),
    "reviews": ("reviews/*", "check --repair|review"),
    "tables": ("tables/**/*", "normalize|pair|clone"),
    "verdicts": ("verdicts/**/*", "filter|review"),
    "datasets": ("datasets/**/*", "build|tasks import"),
    "runs": ("runs/**/*", "evaluate run"),
    "refs": ("git/**/refs/**/*", "clone"),
    "clones": ("git/*/*.git/**/*", "clone"),
    "tests": ("verification/prospector/**/*", "verify|audit"),
    "audits": ("audits/**/*", "audit"),
    "annotations": ("annotations/**/*", "annotate"),
    "GH Archive": ("gharchive/**/*", "mine gharchive"),
    "crosscode": ("crosscode/**/*", "build crosscode"),
}
"""What is damaged: the files that hold it, and the commands that mend it."""
LAST = {"datasets", "runs", "audits", "GH Archive", "crosscode"}
"""The kinds of which nothing is made, or not of every file."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the demo's workspace."""
    return make_demo(tmp_path_factory.mktemp("made") / "w")


@pytest.fixture
def root(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "w")


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


@pytest.fixture(scope="module")
def evidence(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the demo's workspace with reviews, clone and runs of tests."""
    root = shutil.copytree(made, tmp_path_factory.mktemp("evidence") / "w")
    if not (root / "verification" / REPO).exists():  # nothing isolates foreign code here
        data, recipe = root / "datasets" / "issue-resolution", ROOT / "src/goldpan/demo/recipe.toml"
        options = ("--isolation", "none", "--recipe", recipe, "--workspace", root)
        assert goldpan("verify", data, *options).code == 0
    workspace = WorkspaceLayout(root)
    decided = read_table(workspace.verdicts(REPO, "default"))
    for name in ("annotations/people/verdicts.parquet", "gharchive/2026-01-02-3.parquet"):
        (root / name).parent.mkdir(parents=True)
        write_table(decided, root / name)
    reviewed = ("build", "qa", "--require", "question-answer", "--workspace", root)
    assert goldpan(*reviewed, "--output", root / "datasets" / "own" / "reviewed").code == 0
    shutil.copytree(root / "datasets" / "qa", root / "crosscode" / "splits" / "one")
    assert check_workspace(workspace, QUIET).damaged == ()
    return root


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_is_flipped_or_cut_is_told(kind: str, evidence: Path) -> None:
    """Sixteen times a kind, each file once, with what was made of it and how it is made anew."""
    chance = random.Random(f"evidence {kind}")
    pattern, commands = KINDS[kind]
    files = [path for path in sorted(evidence.glob(pattern)) if path.is_file()]
    files = [path for path in files if path.stat().st_size and path.name != "lock"]
    missed = []
    for _ in range(16):
        path = chance.choice(files)
        data = bytearray(path.read_bytes())
        if chance.random() < 0.5:
            position = chance.randrange(8 * len(data))
            data[position // 8] ^= 1 << position % 8
        elif kind == "reviews":  # where it looks as after a kill
            del data[chance.choice(Archive(path.parent).records[:-1]).end :]
        else:
            del data[chance.randrange(len(data)) :]
        aside = path.rename(evidence / "aside")
        path.write_bytes(data)
        damaged = check_workspace(WorkspaceLayout(evidence), QUIET).damaged
        path.unlink()
        aside.rename(path)
        told = [damage for damage in damaged if str(path) in f"{damage.file} {damage.reason}"]
        if len(told) != 1 or not re.search(rf"goldpan (?:{commands})", told[0].remedy):
            missed.append((path, damaged))
        elif kind not in LAST:
            assert told[0].dependents, path
    assert missed == []


def test_every_file_that_a_stage_wrote_is_in_the_table(evidence: Path) -> None:
    others = {"lock", "report.html", "issue-types.html"}
    for path in evidence.rglob("*"):
        if path.is_file() and path.name not in others and "plans" not in path.parts:
            known = stage_of(evidence, path)
            assert known is not None, path
            assert path in known[0].files(evidence, **known[1])
    for provenance in evidence.glob("datasets/*/provenance.json"):
        for source in read_provenance(provenance.parent)["sources"]:
            fields = {"repo": source["repo"], "rules": source["rules"] or "default"}
            named = {
                stage.named.format(file=path.name, project=path.parent.name)
                for stage in STAGES.values()
                for path in stage.files(evidence, **fields)
            }
            assert source["inputs"].keys() <= {*named, "git HEAD"}


def test_what_was_made_of_a_damaged_file_is_told(root: Path) -> None:
    path = root / "git" / f"{REPO}.git" / "refs" / "heads" / "main"
    path.write_bytes(b"f" * 40 + b"\n")
    code, out = check(root)
    assert code == 1
    assert f"Damaged: {path}: the clone's record says" in out
    assert "Made from it: tables/prospector/sluice/revisions.parquet, " in out
    assert "datasets/code-edit" in out
    assert "datasets/qa" not in out
    assert f"goldpan clone --repo {REPO} --source BUNDLE, which sets it aside" in out


def test_archives_are_mended_on_request(root: Path) -> None:
    record = Archive(root / "reviews").records[2]
    flip(record.path, record.offset + 9)
    code, out = check(root, "--json")
    (damage,) = json.loads(out)["damaged"]
    assert (code, damage["file"]) == (1, str(record.path))
    assert damage["offset"] is not None
    code, out = check(root, "--repair")
    assert code == 0
    assert "1 damaged file" in out
    assert list((root / "reviews" / "damaged").iterdir())
    assert check_workspace(WorkspaceLayout(root), QUIET).damaged == ()


def test_replies_that_tables_were_made_of_are_missed(root: Path) -> None:
    """The newest run's end is gone, so its file alone looks as after a kill."""
    workspace = WorkspaceLayout(root)
    path = workspace.raw(REPO) / "run-0001.zst"
    path.write_bytes(path.read_bytes()[: Archive(path.parent).records[-3].end])
    (damage,) = check_workspace(workspace, QUIET).damaged
    assert damage.file == str(path)
    assert f"goldpan mine --repo {REPO}" in damage.remedy
    before = workspace.table(REPO, "entries").read_bytes()
    for command in ("normalize", "status"):
        done = goldpan(command, "--workspace", root)
        assert done.code == 1
        assert f"{path} no longer holds" in done.err
        assert f"goldpan --workspace {root} mine --repo {REPO}" in done.err
        assert workspace.table(REPO, "entries").read_bytes() == before


def test_a_damaged_history_is_not_taken_for_one_that_lacks_commits(root: Path) -> None:
    (pack,) = WorkspaceLayout(root).clone(REPO).rglob("*.pack")
    pack.chmod(0o644)
    flip(pack, 27_107)
    with pytest.raises(
        GitError, match=r"\.pack was changed.*goldpan clone --repo prospector/sluice"
    ):
        read_history(WorkspaceLayout(root), REPO, QUIET)
    done = goldpan("build", "code-edit", "--workspace", root)
    assert done.code == 1
    assert f"{pack} was changed" in done.err


def test_tables_of_two_runs_are_not_mixed(root: Path) -> None:
    workspace = WorkspaceLayout(root)
    shutil.copy(workspace.table(REPO, "unknown"), workspace.table(REPO, "comments"))
    with pytest.raises(WorkspaceError, match=r"comments\.parquet is not what .* goldpan normalize"):
        pair(workspace, REPO, find_rules("default"))
    (workspace.tables(REPO) / "normalize.json").unlink()
    shutil.copy(workspace.table(REPO, "unknown"), workspace.table(REPO, "commits"))
    with pytest.raises(WorkspaceError, match=r"commits\.parquet changed since goldpan pair"):
        run_filters(workspace, [REPO], load_profile("default"), QUIET)


def test_a_damaged_table_is_not_taken_for_one_that_changed(root: Path) -> None:
    path = WorkspaceLayout(root).table(REPO, "references")
    flip(path, 2_149)
    with pytest.raises(OSError, match=r"references\.parquet is damaged"):
        current_verdicts(WorkspaceLayout(root), REPO, load_profile("default"))


def test_no_damaged_test_file_is_evaluated(root: Path) -> None:
    task = find_task("nlbse23_issue_type")
    directory = WorkspaceLayout(root).dataset(task.name)
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

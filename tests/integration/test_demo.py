"""The demo runs offline from shipped data, and those agree with the git history they ship with."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import goldpan as api
from goldpan.core.errors import WorkspaceError
from goldpan.core.imports import EXTRAS
from goldpan.core.storage.archive import Archive
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.demo import pipeline as demo
from goldpan.miners.journal import Journal
from tests.console import NOWHERE
from tests.demo_workspace import PROGRAM, make_demo, offline, run_demo
from tests.program import MAIN, Done, goldpan
from tests.screens import run_on_screen
from tests.twin.history import git
from tests.twin.ship import ship
from tests.verifying import ISOLATIONS, needs_isolation, runs_foreign_code

_SHIPPED = Path(str(files("goldpan.demo")))
_WITHOUT_EXTRAS = """
import sys
class Absent:
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in {names}:
            raise ModuleNotFoundError(name=name)
sys.meta_path.insert(0, Absent())
{main}
"""


def _goldpan(*arguments: str | Path, **environment: str) -> Done:
    return goldpan(
        *arguments, environment={**os.environ, "GOLDPAN_API_URL": NOWHERE, **environment}
    )


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> WorkspaceLayout:
    """Return the workspace of a demo that ran; the README shows what it printed."""
    _, printed = run_demo()
    root = make_demo(tmp_path_factory.mktemp("demo") / "lab")
    assert "majority 0.40, tfidf-xgboost 0.86 micro_f1" in printed
    assert "tfidf-xgboost is better than majority" in " ".join(printed.split())
    page = (root / "comparisons" / "issue-types.html").read_text(encoding="utf-8")
    assert "The steps of ECSER" in page
    return WorkspaceLayout(root)


def _tables(workspace: WorkspaceLayout) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in workspace.tables(demo.REPO).iterdir()}


def test_runs_again_with_the_same_tables_and_keeps_the_reviews_of_others(tmp_path: Path) -> None:
    workspace = WorkspaceLayout(make_demo(tmp_path / "lab"))
    before = _tables(workspace)
    shutil.rmtree(workspace.root / "reviews")
    with Archive(workspace.root / "reviews") as archive:
        archive.begin(resume=False)
    reviews = (workspace.root / demo.ANSWERS).read_bytes()
    done = _goldpan("demo", "--workspace", workspace.root)
    assert done.code == 0, done.err
    assert "No review: " in done.out
    assert (workspace.root / demo.ANSWERS).read_bytes() == reviews
    assert len(before) == 17  # fifteen tables; two files say what they were made of
    assert _tables(workspace) == before
    assert not list((workspace.root / "tmp").iterdir())


def test_the_screen_is_short_and_has_no_bar() -> None:
    _, printed = run_demo()
    lines = printed.rstrip().splitlines()
    assert len(lines) <= 40
    assert not re.search("━|/22|failed|Traceback", printed)
    assert printed.count("skipped") == (ISOLATIONS == ("none",))  # it needs bubblewrap
    assert "qa:prospector/assay#110, a row of work space/datasets/qa" in lines
    assert " title   How do I read a file with semicolons?" in lines
    assert "Report: work space/report.html" in lines


@needs_isolation
@runs_foreign_code
def test_fixes_of_the_demo_are_proved() -> None:
    assert "21 of 21 fixes proved by running their tests" in run_demo()[1]


def test_each_command_to_try_next_works_as_it_is_typed() -> None:
    root, printed = run_demo()
    commands = printed.partition("Try next\n")[2].strip().splitlines()
    assert len(commands) == 3
    for command in commands:
        assert shlex.split(command)[0] == str(PROGRAM)
        done = subprocess.run(
            command, shell=True, cwd=root.parent, env=offline(BROWSER="true"), capture_output=True
        )
        assert done.returncode == 0, f"{command}\n{done.stderr.decode()}"


def test_a_machine_that_lacks_things_is_told_once_and_shortly(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").symlink_to(str(shutil.which("git")))
    bare = _WITHOUT_EXTRAS.format(names=list(EXTRAS), main=MAIN)
    command = (sys.executable, "-c", bare, "demo", "--workspace", "w")
    lines = run_on_screen(command, 60, offline(PATH=str(tmp_path / "bin")), tmp_path)
    printed = "\n".join(lines).rstrip()
    assert len(printed.splitlines()) <= 40
    assert not re.search("━|failed|Traceback", printed)
    assert printed.count("partly skipped: needs [evaluation]") == 1
    assert " compare   skipped: needs [evaluation]" in lines
    assert printed.count("bwrap") == 1
    assert "majority 0.40" in printed
    assert "  goldpan open --workspace w" in lines
    assert (tmp_path / "w" / "report.html").exists()


def test_a_dataset_takes_what_the_review_kept(workspace: WorkspaceLayout) -> None:
    done = _goldpan("build", "qa", "--require", "question-answer", "--workspace", workspace.root)
    assert done.code == 0, done.err
    assert "qa: 27 examples" in done.out


def test_answers_have_tiers_the_best_first(workspace: WorkspaceLayout, tmp_path: Path) -> None:
    def built(*options: str) -> tuple[str, list[str], str]:
        folder = tmp_path / "rows"
        done = _goldpan("build", "qa", *options, "--workspace", workspace.root, "--output", folder)
        assert done.code == 0, done.err
        rows = pq.read_table(folder / "data").to_pylist()
        assert all((row["answer_tier"] == "likely") == (row["answer_points"] >= 12) for row in rows)
        card, _, _ = (folder / "README.md").read_text(encoding="utf-8").partition("## Use")
        return done.out, [row["answer_tier"] for row in rows], card

    said, tiers, card = built()
    assert tiers == ["likely"] * 56 + ["possible"] * 22
    assert "in place of" not in said
    assert "  56 likely (12 points or more): on held-out repositories, 70% [56%, 81%] of" in said
    assert "build qa --answer likely keeps only the likely ones" in " ".join(said.split())
    for told in ("56 likely", "22 possible", "expect 61% [51%, 70%] complete"):
        assert told in card
    said, tiers, card = built("--answer", "likely")
    assert tiers == ["likely"] * 56
    assert f"Written to {tmp_path / 'rows'}, in place of the earlier dataset there" in said
    assert "with at least 12 points" in card and "expect 70% [56%, 81%] complete" in card


def test_what_github_tells_of_the_demo_is_what_its_history_holds(
    workspace: WorkspaceLayout,
) -> None:
    """Also of the pull request whose fork is gone."""
    rows = pq.read_table(workspace.table(demo.REPO, "revisions")).to_pylist()
    assert (len(rows), {row["agrees"] for row in rows}) == (32, {True})
    assert [row["number"] for row in rows if row["notes"]] == [33]


def test_shipped_files_are_what_ship_makes(tmp_path: Path) -> None:
    """Contents are compared: compressed bytes also depend on the versions of zstd and zlib."""
    ship(tmp_path)
    for name in ("replies/sluice", "replies/assay", "reviews"):
        made, shipped = (Archive(path / name).records for path in (tmp_path, _SHIPPED))
        unpacked = [
            [({**record.meta, "packed": 0, "seal": 0}, record.read()) for record in records]
            for records in (made, shipped)
        ]
        assert unpacked[0] == unpacked[1]
        assert {record.meta["at"] for record in shipped} == {"2024-08-01T00:00:00+00:00"}
        assert not any(b"127.0.0.1" in body for _, body in unpacked[1])
    for bundle in ("sluice.bundle", "assay.bundle"):
        heads = [git("bundle", "list-heads", path / bundle) for path in (tmp_path, _SHIPPED)]
        assert heads[0] == heads[1]


def test_refuses_what_it_did_not_make(tmp_path: Path) -> None:
    replies, tables = WorkspaceLayout(tmp_path / "replies"), WorkspaceLayout(tmp_path / "tables")
    with Archive(replies.raw(demo.REPO)) as archive:
        Journal(archive).begin({"via": "rest", "repo": demo.REPO, "since": None})
    before = (replies.raw(demo.REPO) / "run-0001.zst").read_bytes()
    tables.tables(demo.REPO).mkdir(parents=True)
    for workspace in (replies, tables):
        with pytest.raises(WorkspaceError, match="not the demo's"):
            demo.run_demo(api.Workspace(workspace.root))
    assert (replies.raw(demo.REPO) / "run-0001.zst").read_bytes() == before
    assert not replies.tables(demo.REPO).exists()


def test_says_that_git_is_missing(tmp_path: Path) -> None:
    done = _goldpan("demo", "--workspace", tmp_path / "w", PATH=str(tmp_path))
    assert done.code == 1
    assert done.err == "Error: git is not installed. Install git and run it again.\n"
    assert not (tmp_path / "w").exists()

"""Each pull request's states and files: every odd, hostile or missing one is decided and told."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import goldpan
from goldpan.core.errors import GitError, UsageError, WorkspaceError
from goldpan.core.settings.config import Settings
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.git import objects as objects_module
from goldpan.git.clone import clone
from goldpan.miners.history.commit_pairs import NOWHERE, UNREADABLE
from goldpan.miners.history.revisions import History, fetch_histories, read_history
from tests.git_repositories import FILES, LOST, ONE, REPO, Case, Odd, edited, write_tables
from tests.mining import Notes


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path)


def test_the_plain_case(case: Case) -> None:
    first = case.head(7, edited(a="a = 0\n"))
    head = case.head(7, edited(a="a = 2\n"), first)
    merge = case.main(edited(a="a = 2\n"), case.start, head)
    case.tell(7, base_sha=case.start, head_sha=head, merge_sha=merge, **ONE)
    assert case.row() == {
        "repo": REPO,
        "number": 7,
        "state": "base",
        "before_sha": case.start,
        "after_sha": head,
        "merge_base": case.start,
        "commits_ahead": 2,
        "agrees": True,
        "notes": [],
        "problem": None,
    }
    (change,) = case.rows("changes")
    blobs = case.repository.git("rev-parse", f"{case.start}:a.py", f"{head}:a.py").split()
    assert change == {
        "repo": REPO,
        "number": 7,
        "path": "a.py",
        "previous_path": None,
        "status": "modified",
        "kind": "text",
        "mode_before": "100644",
        "mode_after": "100644",
        "blob_before": blobs[0],
        "blob_after": blobs[1],
        "size_before": 6,
        "size_after": 6,
        "additions": 1,
        "deletions": 1,
        "encoding": "utf-8",
        "line_ends": "lf",
        "final_newline": True,
    }


def test_a_base_that_moved_on_elsewhere_is_the_base_state(case: Case) -> None:
    head = case.head(1, edited(a="a = 2\n"))
    base = case.main(edited(b="b = 2\n"))
    case.tell(1, base_sha=base, head_sha=head, **ONE)
    row = case.row()
    assert (row["state"], row["before_sha"], row["merge_base"]) == ("base", base, case.start)
    assert row["notes"] == []


@pytest.mark.parametrize(
    ("then", "pull"),
    [
        (edited(a="a = 3\n"), edited(a="a = 2\n")),
        ({b"b.py": b"b = 1\n"}, edited(a="a = 2\n")),
        (edited(new="x\n"), edited(new="y\n")),
        ({**FILES, b"new.py/file": b"x\n"}, edited(new="y\n")),
        ({**FILES, b"c.py": b"there\n"}, {b"c.py": b"a = 1\n", b"b.py": b"b = 1\n"}),
    ],
    ids=["edited", "removed", "added", "a folder", "in the way of a rename"],
)
def test_a_base_that_moved_on_in_the_same_files_is_not(
    case: Case, then: dict[bytes, Any], pull: dict[bytes, Any]
) -> None:
    head = case.head(1, pull)
    base = case.main(then)
    case.tell(1, base_sha=base, head_sha=head, changed_files=1)
    row = case.row()
    assert (row["state"], row["before_sha"]) == ("merge_base", case.start)
    assert (row["notes"], row["agrees"]) == (["base_moved_on"], True)


def test_a_base_older_than_where_the_head_left(case: Case) -> None:
    """The head was rebased, and the base that the API names was not renewed."""
    later = case.main(edited(b="b = 2\nb = 3\n"))
    head = case.head(1, edited(a="a = 2\n", b="b = 2\nb = 3\n"), later)
    merge = case.main(edited(a="a = 2\n", b="b = 2\nb = 3\n"), later, head)
    case.tell(1, base_sha=case.start, head_sha=head, merge_sha=merge, **ONE)
    row = case.row()
    assert (row["state"], row["before_sha"], row["merge_base"]) == ("base", case.start, later)
    assert (row["notes"], row["agrees"], row["commits_ahead"]) == (["base_sha_unusable"], True, 1)


@pytest.mark.parametrize("by_hand", [False, True])
def test_a_base_that_holds_the_head(case: Case, by_hand: bool) -> None:
    head = case.head(1, edited(a="a = 2\n"))
    before = case.main(edited(b="b = 2\n"))
    merge = case.main(edited(a="a = 2\n", b="b = 2\n"), before, head)
    after = case.main(edited(a="a = 3\n", b="b = 2\n"))
    merge_sha = LOST if by_hand else merge  # merged by hand, GitHub names a commit that nobody has
    case.tell(1, base_sha=after, head_sha=head, merge_sha=merge_sha, **ONE)
    row = case.row()
    assert (row["state"], row["before_sha"], row["after_sha"]) == ("merge_base", case.start, head)
    assert row["notes"] == ["base_moved_on", "base_sha_unusable"]


def test_a_missing_base(case: Case) -> None:
    head = case.head(1, edited(a="a = 2\n"))
    merge = case.main(edited(a="a = 2\n"), case.start, head)
    case.tell(1, base_sha=LOST, head_sha=head, merge_sha=merge, **ONE)
    other = case.head(2, edited(b="b = 2\n"))
    case.tell(2, base_sha=None, head_sha=other, merged=False, **ONE)
    history = case.read(pairs=[2])
    assert [row["state"] for row in case.rows("revisions")] == ["merge_base", "merge_base"]
    assert {row["before_sha"] for row in case.rows("revisions")} == {case.start}
    assert history.notes == {"base_sha_missing": 2}


def test_what_became_of_heads(case: Case) -> None:
    for number in (1, 2, 3):
        head = case.head(number, edited(a=f"a = {number + 5}\n"))
        case.tell(number, base_sha=case.start, head_sha=head, **ONE)
    clone(case.workspace, REPO, Notes(), source=case.repository.path)
    case.head(1, edited(a="a = 2\n", b="b = 2\n"))
    case.head(2, edited(a="a = 3\n"), case.pulls[1]["head_sha"])
    case.repository.point("refs/heads/side", case.pulls[2]["head_sha"])
    case.repository.git("update-ref", "-d", "refs/pull/3/head")
    case.read()
    notes = [row["notes"] for row in case.rows("revisions")]
    assert notes == [["head_force_pushed"], ["head_moved_on"], []]
    assert [row["after_sha"] for row in case.rows("revisions")] == [
        pull["head_sha"] for pull in case.pulls
    ]
    case.repository.path.rename(case.repository.path.parent / "old.git")
    anew = WorkspaceLayout(case.workspace.root / "anew")
    clone(anew, REPO, Notes(), source=case.repository.path.parent / "old.git")
    write_tables(anew, case.pulls)
    read_history(anew, REPO, Notes())
    rows = pq.read_table(anew.table(REPO, "revisions")).to_pylist()
    assert rows[0]["state"] == "none"
    assert rows[2]["notes"] == ["head_ref_missing"]


def test_a_lost_head_whose_ref_holds_the_same_change(case: Case) -> None:
    ref = case.head(1, edited(a="a = 2\n"))
    case.tell(1, base_sha=case.start, head_sha=LOST, **ONE)
    case.head(2, edited(a="a = 2\n", b="b = 2\n"))
    case.tell(2, base_sha=case.start, head_sha=LOST, **ONE)
    case.read()
    first, second = case.rows("revisions")
    assert (first["state"], first["after_sha"]) == ("base", ref)
    assert first["notes"] == ["head_from_ref", "head_missing"]
    assert (second["state"], second["problem"], second["agrees"]) == ("none", NOWHERE, None)


def test_a_lost_head_that_was_squashed(case: Case) -> None:
    before = case.main(edited(b="b = 2\n"))
    squash = case.main(edited(a="a = 2\n", b="b = 2\n"))
    case.tell(1, base_sha=case.start, head_sha=LOST, merge_sha=squash, **ONE)
    case.tell(2, base_sha=case.start, head_sha=LOST, merge_sha=squash, changed_files=2)
    case.tell(3, base_sha=case.start, head_sha=LOST, merge_sha=squash)
    case.read(commits={1: 1, 3: 1})
    first, *others = case.rows("revisions")
    assert (first["state"], first["before_sha"]) == ("merge_parent", before)
    assert (first["after_sha"], first["merge_base"]) == (squash, before)
    assert first["notes"] == ["head_missing"]
    # Nobody announced how large the last one is, so nothing vouches for it.
    assert [row["state"] for row in others] == ["none", "none"]


def test_a_lost_head_that_was_rebased(case: Case) -> None:
    other = case.main(edited(a="a = 9\n"))
    for step in (1, 2, 3):
        last = case.main(edited(a="a = 9\n", b="b = 1\n" + "b = 2\n" * step))
    counts = {"changed_files": 1, "additions": 3, "deletions": 0}
    case.tell(1, base_sha=case.start, head_sha=LOST, merge_sha=last, **counts)
    row = case.row(commits={1: 3})
    assert (row["state"], row["before_sha"], row["after_sha"]) == ("merge_parent", other, last)
    assert (row["notes"], row["commits_ahead"]) == (["head_missing", "rebased"], 3)


def test_a_head_that_disagrees_is_still_the_head(case: Case) -> None:
    head = case.head(1, edited(a="a = 2\n"))
    case.tell(1, base_sha=case.start, head_sha=head, changed_files=3, additions=1, deletions=1)
    case.tell(2, base_sha=case.start, head_sha=head)
    history = case.read()
    assert [row["agrees"] for row in case.rows("revisions")] == [False, None]
    assert [row["after_sha"] for row in case.rows("revisions")] == [head, head]
    assert history.disagreeing == (1,)


def test_another_branch_and_no_common_ancestor(case: Case) -> None:
    release = case.repository.commit(edited(a="a = 5\n"), case.start, ref="refs/heads/v1")
    head = case.head(1, edited(a="a = 6\n"), release)
    case.repository.commit(edited(a="a = 6\n"), release, head, ref="refs/heads/v1")
    case.tell(1, base_ref="v1", base_sha=release, head_sha=head, **ONE)
    alone = case.repository.commit(FILES, ref="refs/pull/2/head")
    case.tell(2, base_sha=case.start, head_sha=alone, **ONE)
    squash = case.main(edited(b="b = 7\n"))
    case.tell(3, base_sha=case.start, head_sha=alone, merge_sha=squash, **ONE)
    case.read()
    first, second, third = case.rows("revisions")
    assert (third["state"], third["after_sha"]) == ("merge_parent", squash)
    assert third["notes"] == []
    assert (first["state"], first["before_sha"], first["agrees"]) == ("base", release, True)
    assert (second["state"], second["problem"]) == ("none", NOWHERE)


def test_merged_pulls_and_those_of_pairs_are_read(case: Case) -> None:
    for number in (1, 2, 3):
        head = case.head(number, edited(a=f"a = {number + 5}\n"))
        case.tell(number, base_sha=case.start, head_sha=head, merged=number == 1, **ONE)
    assert case.read(pairs=[3]).pulls == 2
    assert [row["number"] for row in case.rows("revisions")] == [1, 3]


def test_without_tables_or_clone(case: Case) -> None:
    with pytest.raises(WorkspaceError, match="holds no tables"):
        read_history(case.workspace, REPO, Notes())
    write_tables(case.workspace, [])
    with pytest.raises(GitError, match="Run goldpan clone"):
        read_history(case.workspace, REPO, Notes())
    assert case.read() == History(REPO, 0, 0, {}, {}, (), 0)


def test_what_was_not_mined_is_cloned_alone(case: Case, tmp_path: Path) -> None:
    """As a repository that is a submodule of another, on a machine without a network."""
    lab = goldpan.Workspace(tmp_path)
    with pytest.raises(WorkspaceError, match="Run goldpan mine"):
        lab.clone("o/data")
    (fetched,) = lab.clone("o/data", source=case.repository.path)
    assert (fetched.clone.refs, fetched.is_mined) == (1, False)
    assert "has not been mined" in str(fetched)
    assert (tmp_path / "git/o/data.git/HEAD").exists()


def test_histories_brought_at_once_give_the_same_tables(case: Case, tmp_path: Path) -> None:
    head = case.head(1, edited(a="a = 2\n"))
    case.tell(1, base_sha=case.start, head_sha=head, **ONE)
    case.read()
    mirrors, workspace = tmp_path / "mirrors", WorkspaceLayout(tmp_path / "several")
    names = ["o/first", "o/second", "p/third"]
    for name in names:
        shutil.copytree(case.repository.path, mirrors / f"{name}.git")
        shutil.copytree(case.workspace.tables(REPO), workspace.tables(name))
        for table in ("revisions", "changes"):
            workspace.table(name, table).unlink()
    settings = Settings(workspace=workspace.root, workers=2)
    source = str(mirrors / "{owner}" / "{name}.git")
    brought = fetch_histories(settings, workspace, names, Notes(), source=source)
    assert [(fetched.clone.repo, fetched.history.pulls) for fetched in brought] == [
        (name, 1) for name in names
    ]
    for table in ("revisions", "changes"):
        expected = case.workspace.table(REPO, table).read_bytes()
        assert all(workspace.table(name, table).read_bytes() == expected for name in names)
    with pytest.raises(UsageError, match=r"holds one repository.*\{owner\}"):
        goldpan.Workspace(workspace.root).clone(*names, source=str(mirrors / "o" / "first.git"))


def test_every_kind_of_file(case: Case) -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 9\n"
    script = case.repository.object("blob", b"x\n")
    wide, wider = "a\n".encode("utf-16"), "b\n".encode("utf-16")
    text = ("modified", "text")
    sides: dict[bytes, tuple[Any, Any, tuple[object, ...]]] = {
        b"crlf.bat": (b"a\r\nb\r\n", b"a\r\nc\r\n", (*text, "utf-8", "crlf", True, 1)),
        b"latin.txt": (b"caf\xe9\n", b"caf\xe9s\n", (*text, "latin-1", "lf", True, 1)),
        b"bom.cs": (b"\xef\xbb\xbfa\n", b"\xef\xbb\xbfb\n", (*text, "utf-8-sig", "lf", True, 1)),
        b"wide.txt": (wide, wider, (*text, "utf-16-le", "lf", True, None)),
        b"logo.png": (b"\x89PNG\0", b"\x89PNG\0\0", ("modified", "binary", *[None] * 4)),
        b"end": (b"no end", b"no end!", (*text, "utf-8", "none", False, 1)),
        b"mode": (b"x\n", Odd("100755", script), ("changed", "text", "utf-8", "lf", True, 0)),
        b"link": (
            Odd("120000", script),
            Odd("120000", case.repository.object("blob", b"y")),
            ("modified", "symlink", None, None, None, 1),
        ),
        b"vendor": (
            Odd("160000", "1" * 40),
            Odd("160000", "2" * 40),
            ("modified", "submodule", None, None, None, 1),
        ),
        b"model.bin": (pointer, pointer + b"\n", ("modified", "lfs", None, None, None, 1)),
        b"gone.py": (b"gone = 1\n", None, ("removed", "text", "utf-8", "lf", True, 0)),
        b"empty": (None, b"", ("added", "text", "utf-8", "none", True, 0)),
        b"caf\xe9.py": (None, b"x = 1\n", ("added", "text", "utf-8", "lf", True, 1)),
    }
    before, after = (
        {path: row[side] for path, row in sides.items() if row[side] is not None} for side in (0, 1)
    )
    base = case.main(before)
    head = case.head(1, after, base)
    case.tell(1, base_sha=base, head_sha=head, changed_files=13)
    assert case.row()["notes"] == ["path_quoted"]
    names = ("status", "kind", "encoding", "line_ends", "final_newline", "additions")
    files = {row["path"]: tuple(row[name] for name in names) for row in case.rows("changes")}
    told = {path.decode("latin-1"): row[2] for path, row in sides.items()}
    assert files == {'"caf\\351.py"' if "\xe9" in path else path: told[path] for path in told}


def test_a_hostile_tree(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    blob = case.repository.object("blob", b"x\n")
    names = (b"..", b"/etc/passwd", b"a", b"a", b"b\nc")
    tree = case.repository.raw_tree(("100644", name, blob) for name in names)
    head = case.repository.commit(tree, case.start, ref="refs/pull/1/head")
    case.tell(1, base_sha=case.start, head_sha=head)
    bomb = case.repository.raw_tree([("100644", b"f", blob)])
    for _ in range(20):
        bomb = case.repository.raw_tree([("40000", b"%d" % index, bomb) for index in range(10)])
    monkeypatch.setattr(objects_module, "MOST_FILES", 1_000)
    head = case.repository.commit(bomb, case.start, ref="refs/pull/2/head")
    case.tell(2, base_sha=case.start, head_sha=head)
    case.read()
    first, second = case.rows("revisions")
    assert first["notes"] == ["path_twice", "path_unsafe"]
    assert [row["path"] for row in case.rows("changes")] == [
        "..",
        "/etc/passwd",
        "a",
        "a.py",
        "b\nc",
        "b.py",
    ]
    assert (second["state"], second["problem"]) == ("none", UNREADABLE)


def test_a_partial_clone_gives_the_same_tables(case: Case, tmp_path: Path) -> None:
    renamed = {b"new.py": b"b = 1\n" * 9, b"a.py": b"a = 1\n"}
    base = case.main({**FILES, b"old.py": b"b = 1\n" * 9 + b"c\n"})
    for number in (1, 2, 3):
        head = case.head(number, {**renamed, b"a.py": b"a = %d\n" % (number + 1)}, base)
        case.tell(number, base_sha=base, head_sha=head, changed_files=3)
    assert case.read().fetched == 0
    whole = [case.workspace.table(REPO, name).read_bytes() for name in ("revisions", "changes")]
    case.workspace, case.source = WorkspaceLayout(tmp_path / "other"), case.repository.path.as_uri()
    assert case.read().fetched == 7
    again = [case.workspace.table(REPO, name).read_bytes() for name in ("revisions", "changes")]
    assert again == whole
    assert {row["status"] for row in case.rows("changes")} == {"modified", "removed", "renamed"}
    assert case.read().fetched == 0


def test_files_that_nobody_has_are_missing(case: Case) -> None:
    head = case.head(1, edited(a="a = 2\n", b="b = 2\n"))
    case.tell(1, base_sha=case.start, head_sha=head, changed_files=2)
    other = case.head(2, edited(b="b = 3\n"))
    case.tell(2, base_sha=case.start, head_sha=other, **ONE)
    case.source = case.repository.path.as_uri()
    clone(case.workspace, REPO, Notes(), source=case.source)
    blob = case.repository.git("rev-parse", f"{head}:a.py")
    (case.repository.path / "objects" / blob[:2] / blob[2:]).unlink()
    history = case.read()
    first, second = case.rows("revisions")
    assert (first["state"], first["agrees"], first["notes"]) == ("base", None, ["files_missing"])
    assert (second["state"], second["agrees"]) == ("base", True)
    kinds = [(row["path"], row["kind"], row["additions"]) for row in case.rows("changes")]
    assert kinds == [("a.py", "missing", None), ("b.py", "text", None), ("b.py", "text", 1)]
    assert history.fetched == 4

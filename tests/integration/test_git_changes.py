"""Each changed file: what it is, also where it is odd, hostile or missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.git import objects as objects_module
from goldpan.git.clone import clone
from goldpan.miners.history.commit_pairs import UNREADABLE
from tests.git_repositories import FILES, ONE, REPO, Case, Odd, edited
from tests.mining import Notes


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path)


def test_every_kind_of_file(case: Case) -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 9\n"
    script = case.repository.object("blob", b"x\n")
    start = {
        b"crlf.bat": b"a\r\nb\r\n",
        b"latin.txt": b"caf\xe9\n",
        b"bom.cs": b"\xef\xbb\xbfa\n",
        b"wide.txt": "a\n".encode("utf-16"),
        b"logo.png": b"\x89PNG\0",
        b"end": b"no end",
        b"mode": b"x\n",
        b"link": Odd("120000", script),
        b"vendor": Odd("160000", "1" * 40),
        b"model.bin": pointer,
        b"gone.py": b"gone = 1\n",
    }
    base = case.main(start)
    after = {
        b"crlf.bat": b"a\r\nc\r\n",
        b"latin.txt": b"caf\xe9s\n",
        b"bom.cs": b"\xef\xbb\xbfb\n",
        b"wide.txt": "b\n".encode("utf-16"),
        b"logo.png": b"\x89PNG\0\0",
        b"end": b"no end!",
        b"mode": Odd("100755", script),
        b"link": Odd("120000", case.repository.object("blob", b"y")),
        b"vendor": Odd("160000", "2" * 40),
        b"model.bin": pointer + b"\n",
        b"empty": b"",
        b"caf\xe9.py": b"x = 1\n",
    }
    head = case.head(1, after, base)
    case.tell(1, base_sha=base, head_sha=head, changed_files=13)
    assert case.row()["notes"] == ["path_quoted"]
    files = {
        row["path"]: (row["kind"], row["encoding"], row["line_ends"], row["final_newline"])
        for row in case.rows("changes")
    }
    assert files == {
        "crlf.bat": ("text", "utf-8", "crlf", True),
        "latin.txt": ("text", "latin-1", "lf", True),
        "bom.cs": ("text", "utf-8-sig", "lf", True),
        "wide.txt": ("text", "utf-16-le", "lf", True),
        "logo.png": ("binary", None, None, None),
        "end": ("text", "utf-8", "none", False),
        "mode": ("text", "utf-8", "lf", True),
        "link": ("symlink", None, None, None),
        "vendor": ("submodule", None, None, None),
        "model.bin": ("lfs", None, None, None),
        "gone.py": ("text", "utf-8", "lf", True),
        "empty": ("text", "utf-8", "none", True),
        '"caf\\351.py"': ("text", "utf-8", "lf", True),
    }
    status = {row["path"]: row["status"] for row in case.rows("changes")}
    assert (status["mode"], status["gone.py"], status["empty"]) == ("changed", "removed", "added")


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

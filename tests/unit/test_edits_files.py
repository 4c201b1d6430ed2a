"""A patch on files on disk: all of it or nothing, and nothing outside the root."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from goldpan.code.edits.apply import Edit, EditError, FileError, MalformedError, NoMatchError
from goldpan.code.edits.files import Applied, AppliedFile, apply_patch, apply_patch_files
from goldpan.code.edits.find import find_edits
from goldpan.code.edits.parse import format_edits
from goldpan.core.errors import UsageError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "a.py").write_bytes(b"x = 1\ny = 2\n")
    (folder / "b.txt").write_bytes(b"one\r\ntwo")
    (folder / "empty").write_bytes(b"")
    return folder


def patch(path: str, search: str, replace: str) -> str:
    return format_edits(path, [Edit(search, replace)])


def files(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()
    }


def test_files_change_are_made_and_go(root: Path) -> None:
    text = (
        patch("src/a.py", "x = 1\n", "x = 3\n")
        + patch("new/deep/c.py", "", "c\n")
        + patch("empty", "", "now\n")
        + format_edits("b.txt", [Edit("one\r\ntwo", "")], removes=True)
    )
    tried = apply_patch_files(text, root, write=False)
    assert files(root) == {"src/a.py": b"x = 1\ny = 2\n", "b.txt": b"one\r\ntwo", "empty": b""}
    done = apply_patch_files(text, root, write=True)
    changed = {"src/a.py": b"x = 3\ny = 2\n", "new/deep/c.py": b"c\n", "empty": b"now\n"}
    assert files(root) == changed
    assert tried == Applied(done.files, written=False)
    assert done.written
    assert done.files == (
        AppliedFile("src/a.py", "modified", 1),
        AppliedFile("new/deep/c.py", "created", 1),
        AppliedFile("empty", "modified", 1),
        AppliedFile("b.txt", "removed", 1),
    )


@pytest.mark.parametrize(
    "bad",
    [
        patch("src/a.py", "z\n", ""),
        patch("absent.py", "z\n", ""),
        format_edits("src/a.py", [Edit("x = 1\n", "")], removes=True),
        format_edits("absent.py", [Edit("", "")], removes=True),
        patch("src", "", "z\n"),
        patch("src/a.py/b", "", "z\n"),
        patch("./b.txt", "one\r\n", ""),
        "<<<<<<< SEARCH\n",
    ],
)
def test_one_bad_file_stops_all(root: Path, bad: str) -> None:
    before = files(root)
    good = patch("b.txt", "two", "2") + patch("new/n.py", "", "n\n")
    with pytest.raises(EditError):
        apply_patch_files(good + bad, root, write=True)
    assert files(root) == before
    assert not (root / "new").exists()


def test_what_cannot_be_written_is_undone(root: Path) -> None:
    before = files(root)
    text = (
        patch("src/a.py", "x = 1\n", "x = 3\n")
        + format_edits("empty", [Edit("", "")], removes=True)
        + patch("new/n.py", "", "n\n")
        + patch("odd", "", "a file\n")
        + patch("odd/file.py", "", "and a folder of that name\n")
    )
    with pytest.raises(FileError, match=r"cannot be written.*no file was changed"):
        apply_patch_files(text, root, write=True)
    assert files(root) == before
    assert sorted(path.name for path in root.iterdir()) == ["b.txt", "empty", "src"]


@pytest.mark.parametrize(
    "path",
    [
        *("../out.py", "/etc/passwd", "src/../../out.py", "src/../b.txt", "..", ".", "", "/"),
        *("out/x.py", "link.py", ".git/hooks/pre-commit", "src/.GIT/config", "sub/config", "a\0b"),
        *("loop", "~/../../x", "//etc/x", "n" * 300, "/".join(["n" * 200] * 30)),
    ],
)
def test_paths_that_leave_the_root_are_refused(root: Path, tmp_path: Path, path: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept.py").write_text("kept\n")
    (root / "out").symlink_to(outside)
    (root / "link.py").symlink_to(outside / "kept.py")
    (root / "loop").symlink_to(root / "loop")
    (root / ".git").mkdir()
    (root / "sub").symlink_to(root / ".git")
    before = files(tmp_path)
    for text in (patch(path, "", "bad\n"), patch(path, "kept\n", "bad\n")):
        with pytest.raises(FileError, match=r"leads out of|does not exist|too long"):
            apply_patch_files(text, root, write=True)
    assert files(tmp_path) == before


def test_a_link_inside_the_root_stays_a_link(root: Path) -> None:
    (root / "link.py").symlink_to("src/a.py")
    apply_patch_files(patch("link.py", "x = 1\n", "x = 3\n"), root, write=True)
    assert (root / "link.py").is_symlink()
    assert (root / "src" / "a.py").read_bytes() == b"x = 3\ny = 2\n"


def test_one_file_under_two_names_is_refused(root: Path) -> None:
    (root / "link.py").symlink_to("src/a.py")
    text = patch("src/a.py", "x = 1\n", "") + patch("link.py", "y = 2\n", "")
    with pytest.raises(FileError, match="are the same file"):
        apply_patch_files(text, root, write=True)


def test_modes_stay(root: Path) -> None:
    (root / "src" / "a.py").chmod(0o750)
    mask = os.umask(0o027)
    try:
        text = patch("src/a.py", "x = 1\n", "") + patch("new.py", "", "n\n")
        apply_patch_files(text, root, write=True)
    finally:
        os.umask(mask)
    assert stat.S_IMODE((root / "src" / "a.py").stat().st_mode) == 0o750
    assert stat.S_IMODE((root / "new.py").stat().st_mode) == 0o640


@pytest.mark.parametrize(
    ("data", "after"),
    [
        (b"\xef\xbb\xbfx\r\n", b"\xef\xbb\xbf\xc3\xa9\r\n"),
        (b"\xe9\nx\r\n", b"\xe9\n\xe9\r\n"),
        ("\ufeff\nx\r\n".encode("utf-16-le"), "\ufeff\né\r\n".encode("utf-16-le")),
        ("\ufeff\nx\r\n".encode("utf-16-be"), "\ufeff\né\r\n".encode("utf-16-be")),
        (b"a\rx\r\nb", b"a\r\xc3\xa9\r\nb"),
    ],
)
def test_encodings_and_line_ends_stay(root: Path, data: bytes, after: bytes) -> None:
    (root / "file").write_bytes(data)
    apply_patch_files(patch("file", "x\r\n", "é\r\n"), root, write=True)
    assert (root / "file").read_bytes() == after


def test_what_an_encoding_lacks_is_told(root: Path) -> None:
    (root / "file").write_bytes(b"\xe9\n")
    with pytest.raises(FileError, match="'file': The file is latin-1, which lacks '→'"):
        apply_patch_files(patch("file", "é\n", "→\n"), root, write=True)
    (root / "file").write_bytes(b"\0\n")
    with pytest.raises(FileError, match="'file': It is binary"):
        apply_patch_files(patch("file", "a\n", ""), root, write=True)


def test_errors_name_the_file(root: Path) -> None:
    with pytest.raises(NoMatchError, match=r"'src/a\.py': Block 1 of 1 does not match"):
        apply_patch_files(patch("src/a.py", "z\n", ""), root, write=False)
    with pytest.raises(FileError, match="names no file"):
        apply_patch_files(format_edits(None, [Edit("a", "b")]), root, write=False)
    with pytest.raises(FileError, match="The patch has no block"):
        apply_patch_files("I would not change anything.", root, write=False)
    with pytest.raises(FileError, match="does not exist"):
        apply_patch_files(patch("a", "", "b"), root / "absent", write=False)


def test_a_patch_in_a_file(root: Path, tmp_path: Path) -> None:
    path = tmp_path / "change.patch"
    path.write_bytes(b"\xef\xbb\xbf" + patch("b.txt", "one\r\n", "1\r\n").encode())
    assert apply_patch(path, root, write=True).files[0].path == "b.txt"
    assert (root / "b.txt").read_bytes() == b"1\r\ntwo"
    path.write_bytes(b"\xff")
    with pytest.raises(FileError, match="is not UTF-8"):
        apply_patch(path, root, write=True)
    with pytest.raises(UsageError, match="There is no file"):
        apply_patch(tmp_path / "absent", root, write=True)
    path.write_text("<<<<<<< SEARCH\n")
    with pytest.raises(MalformedError):
        apply_patch(path, root, write=True)


def test_a_diff_sets_modes(root: Path) -> None:
    (root / "b.txt").chmod(0o755)
    (root / "empty").chmod(0o755)
    created = (
        "diff --git a/{0} b/{0}\nnew file mode {1}\n--- /dev/null\n+++ b/{0}\n@@ -0,0 +1 @@\n+x\n"
    )
    moved = "similarity index 100%\nrename from b.txt\nrename to c.txt\n"
    text = (
        f"diff --git a/b.txt b/c.txt\n{moved}"
        "diff --git a/src/a.py b/src/a.py\nold mode 100644\nnew mode 100755\n"
        "diff --git a/empty b/empty\nold mode 100755\nnew mode 100644\n"
    )
    done = apply_patch_files(text + created.format("run", "100755"), root, write=True)
    made = {file.path: file.action for file in done.files if file.action != "modified"}
    assert made == {"b.txt": "removed", "c.txt": "created", "run": "created"}
    runnable = {name for name in files(root) if os.access(root / name, os.X_OK)}
    assert runnable == {"c.txt", "src/a.py", "run"}


def test_a_file_is_read_as_both_versions_can_be(root: Path) -> None:
    for before, after, shared in (
        (b"\xef\xbb\xbfa\n", b"b\n", "utf-8"),
        (b"\xc3\xa9\n", b"\xe9\n", "latin-1"),
    ):
        (root / "file").write_bytes(before)
        text = patch("file", before.decode(shared), after.decode(shared))
        apply_patch_files(text, root, write=True)
        assert (root / "file").read_bytes() == after


CHARACTERS = st.characters(exclude_characters="\0\ufeff", exclude_categories=["Cs"])
VERSION = st.none() | st.text(CHARACTERS, max_size=8)


@given(VERSION, st.sampled_from(["", "a\n", "a\r\nb"]) | VERSION)
def test_the_law_holds_on_disk(
    tmp_path_factory: pytest.TempPathFactory, before: str | None, after: str | None
) -> None:
    assume(before != after)
    root = tmp_path_factory.mktemp("law")
    if before is not None:
        (root / "file").write_bytes(before.encode())
    edits = find_edits(before or "", after or "") or (Edit("", ""),)
    text = format_edits("file", edits, removes=after is None)
    apply_patch_files(text, root, write=True)
    assert files(root) == ({} if after is None else {"file": after.encode()})

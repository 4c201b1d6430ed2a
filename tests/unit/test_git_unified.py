"""Unified diffs are read and applied exactly, or refused."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldpan.code.patch import FileDiff, apply, parse_diff, part_patch, split_patch
from tests.git_repositories import Odd, Repository
from tests.twin.history import git

_PIECES = (
    *(b"a\n", b"b\n", b"\n", b"a", b"\r\n", b"\r", b"- x\n", b"+++ y\n"),
    *(b"\xff\xfe\n", b"@@ -1 +1 @@\n"),
)


def shown(repository: Repository, before: str, after: str, *options: str) -> bytes:
    return git(f"--git-dir={repository.path}", "diff", "-M", *options, before, after)


def random_texts(dice: Random, count: int) -> dict[bytes, bytes]:
    return {
        b"%d" % index: b"".join(dice.choice(_PIECES) for _ in range(dice.randrange(12)))
        for index in range(count)
    }


@pytest.mark.parametrize("context", ["-U0", "-U3", "-U99"])
def test_applying_what_git_shows_gives_what_git_has(tmp_path: Path, context: str) -> None:
    repository = Repository.create(tmp_path / "r.git")
    dice = Random(context)
    old, new = random_texts(dice, 60), random_texts(dice, 60)
    before, after = repository.commit(old), repository.commit(new)
    files = parse_diff(shown(repository, before, after, context, "--text", "--no-renames"))
    assert len(files) == sum(old[name] != new[name] for name in old)
    for file in files:
        assert apply(old[file.before], file.hunks) == new[file.after]
        assert file.before == file.after


def test_every_kind_of_header(tmp_path: Path) -> None:
    repository = Repository.create(tmp_path / "r.git")
    long = b"".join(b"line %d of a long file\n" % index for index in range(30))
    script = repository.object("blob", b"x\n")
    before = repository.commit(
        {
            b"gone dir/f": b"nothing\nlike it\n",
            b"moved": long,
            b"moved on": long[::-1] + b"\n",
            b"mode": b"x\n",
            b'odd\t"\n\\ caf\xe9': b"1\n",
            b"bin": b"\0a",
            b"sub": Odd("160000", "1" * 40),
        }
    )
    after = repository.commit(
        {
            b"b/moved": long,
            b"moved too": long[::-1] + b"more\n",
            b"mode": Odd("100755", script),
            b'odd\t"\n\\ caf\xe9': b"2\n",
            b"bin": b"\0b",
            b"new": b"1\n",
            b"empty": b"",
            b"sub": Odd("160000", "2" * 40),
        }
    )
    diff = shown(repository, before, after)
    files = {file.after: file for file in parse_diff(diff)}

    def summary(file: FileDiff) -> tuple[object, ...]:
        modes = (file.mode_before, file.mode_after)
        return (file.letter, file.before, *modes, file.is_binary, len(file.hunks))

    assert {name: summary(file) for name, file in files.items()} == {
        b"gone dir/f": ("D", b"gone dir/f", "100644", None, False, 1),
        b"b/moved": ("R", b"moved", None, None, False, 0),
        b"moved too": ("R", b"moved on", None, None, False, 1),
        b"mode": ("M", b"mode", "100644", "100755", False, 0),
        b'odd\t"\n\\ caf\xe9': ("M", b'odd\t"\n\\ caf\xe9', None, None, False, 1),
        b"bin": ("M", b"bin", None, None, True, 0),
        b"new": ("A", b"new", None, "100644", False, 1),
        b"empty": ("A", b"empty", None, "100644", False, 0),
        b"sub": ("M", b"sub", None, None, False, 1),
    }
    blob = repository.git("rev-parse", f"{after}:new")
    assert blob.startswith(files[b"new"].id_after)
    assert (files[b"new"].count(b"+"), files[b"gone dir/f"].count(b"-")) == (1, 2)


@pytest.mark.parametrize(
    ("diff", "problem"),
    [
        (b"<html>no diff</html>", "not a diff"),
        (b"no diff\n", "does not begin"),
        (b"diff --git a/x b/x\nold mode 1", "cut off"),
        (b"diff --git a/x b/x\n@@ -1,2 +1,2 @@\n a\n", "cut off"),
        (b"diff --git a/x b/x\n@@ -1,999999999 +1 @@\n a\n", "cut off"),
        (b"diff --git a/x b/x\n@@ -1 +1 @@\n\n-a\n+b\n", "cut off"),
    ],
)
def test_what_is_no_diff_is_refused(diff: bytes, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        parse_diff(diff)


@pytest.mark.parametrize(
    ("before", "hunk"),
    [
        (b"a\nb\n", b"@@ -1 +1 @@\n-x\n+y\n"),
        (b"a\nb\n", b"@@ -3 +3 @@\n-a\n+y\n"),
        (b"a\n", b"@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+y\n"),
        (b"a", b"@@ -1 +1 @@\n-a\n+y\n"),
        (b"a\nb\n", b"@@ -2 +2 @@\n-b\n+y\n@@ -1 +1 @@\n-a\n+y\n"),
        (b"a\n", b"@@ -9,0 +9 @@\n+y\n"),
        (b"a\n", b"@@ -0 +1 @@\n-a\n+y\n"),
    ],
)
def test_what_does_not_fit_is_refused(before: bytes, hunk: bytes) -> None:
    (file,) = parse_diff(b"diff --git a/x b/x\n--- a/x\n+++ b/x\n" + hunk)
    with pytest.raises(ValueError, match=r"of the file is another|not in order"):
        apply(before, file.hunks)


@given(
    st.lists(
        st.sampled_from(
            [
                *(b"diff --git a/x b/x\n", b"@@ -1 +1,2 @@\n", b" a\n", b"+b\n", b"-c\n"),
                *(b"\\ No\n", b"index 12345..67890\n", b"--- a/x\n", b'rename from "\n', b"\n"),
            ]
        )
    )
)
def test_any_text_is_read_or_refused(lines: list[bytes]) -> None:
    try:
        files = parse_diff(b"".join(lines))
    except ValueError:
        return
    assert len(files) <= len(lines)


@pytest.mark.timeout(600)  # where it is not, it takes far longer
def test_a_long_diff_takes_time_in_proportion() -> None:
    head = b"diff --git a/x b/x\n--- a/x\n+++ b/x\n"
    hunks = b"".join(b"@@ -%d +%d @@\n-a\n+b\n" % (line, line) for line in range(1, 60_001, 2))
    (file,) = parse_diff(head + hunks)
    assert apply(b"a\n" * 60_001, file.hunks).count(b"b") == 30_000


CHANGE = """\
diff --git a/src/a.py b/src/a.py
index 1111111..2222222 100644
--- a/src/a.py
+++ b/src/a.py
@@ -1,2 +1,2 @@
 x = 1
-diff --git a/fake.py b/fake.py
+--- a/fake.py
"""
RENAME = """\
diff --git a/old name.py b/new name.py
similarity index 100%
rename from old name.py
rename to new name.py
"""
DELETION = """\
diff --git a/tests/test_b.py b/tests/test_b.py
deleted file mode 100644
index 3333333..0000000
--- a/tests/test_b.py
+++ /dev/null
@@ -1 +0,0 @@
-gone
"""
EMPTY = """\
diff --git a/tests/__init__.py b/tests/__init__.py
new file mode 100644
index 0000000..e69de29
"""
ODD = """\
diff --git "a/tests/a\\tb.py" "b/tests/a\\tb.py"
index 1111111..2222222 100644
--- "a/tests/a\\tb.py"
+++ "b/tests/a\\tb.py"
@@ -1 +1 @@
-1
+2
"""
BINARY = """\
diff --git a/logo.png b/logo.png
index 1111111..2222222 100644
Binary files a/logo.png and b/logo.png differ
"""
ALL = CHANGE + RENAME + DELETION + EMPTY + ODD + BINARY


def test_the_parts_name_their_files_and_are_the_diff_again() -> None:
    parts = split_patch(ALL)
    assert [part.path for part in parts] == [
        *("src/a.py", "new name.py", "tests/test_b.py", "tests/__init__.py"),
        *("tests/a\tb.py", "logo.png"),
    ]
    assert "".join(part.text for part in parts) == ALL
    assert [part.path for part in parts if part.is_binary] == ["logo.png"]


def test_a_line_of_a_file_that_looks_like_a_header_is_none() -> None:
    assert len(split_patch(CHANGE)) == 1


def test_the_chosen_files_and_the_others_are_all_of_it() -> None:
    tests, code = part_patch(ALL, lambda path: path.startswith("tests/"))
    assert tests == DELETION + EMPTY + ODD
    assert code == CHANGE + RENAME + BINARY


def test_what_git_did_not_write_is_refused() -> None:
    with pytest.raises(ValueError, match="diff --git"):
        split_patch("--- a\n+++ b\n@@ -1 +1 @@\n-1\n+2\n")
    assert split_patch("") == ()

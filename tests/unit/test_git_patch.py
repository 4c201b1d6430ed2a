"""A diff is parted by file, as git wrote it."""

from __future__ import annotations

import pytest

from goldpan.code.patch import part_patch, split_patch

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


@pytest.mark.parametrize(
    ("head", "path"),
    [
        ("diff --git git2.old git2.old\nold mode 100644\nnew mode 100755\n", "git2.old"),
        ("diff --git i/a.py w/a.py\n--- i/a.py\n+++ w/a.py\n@@ -1 +1 @@\n-a\n+b\n", "a.py"),
        ("diff --git a/x.py a/x.py\n--- a/x.py\n+++ a/x.py\n@@ -1 +1 @@\n-a\n+b\n", "a/x.py"),
        ("diff --git w/x.py w/x.py\nold mode 100644\nnew mode 100755\n", "w/x.py"),
    ],
)
def test_names_have_the_prefixes_that_git_was_told(head: str, path: str) -> None:
    """Without prefixes (`diff.noprefix`), a folder may be called as one of them is."""
    (part,) = split_patch(head)
    assert part.path == path


def test_a_diff_in_crlf_names_the_same_files() -> None:
    parts = zip(split_patch(ALL), split_patch(ALL.replace("\n", "\r\n")), strict=True)
    assert all(one.path == other.path for one, other in parts)

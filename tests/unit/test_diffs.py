"""Unified diffs: what git takes is taken, what it refuses is refused, and nothing is dropped."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldpan.code.edits.apply import EditError, MalformedError
from goldpan.code.edits.files import apply_patch_files
from goldpan.evaluation.metrics.estimate import Totals
from goldpan.evaluation.metrics.patches import PatchPair, apply_answer, patch_evidence
from goldpan.git.apply import DiffError, read_diff
from tests.drawing import examples
from tests.twin.history import git

FILE = b"one\ntwo\nthree\nfour\nfive\n"
HUNK = "@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n"
PLAIN = f"--- a/f.py\n+++ b/f.py\n{HUNK}"
CHANGED = {"f.py": FILE.replace(b"two", b"TWO")}
LINK_END = "\\ No newline at end of file\n"


def link(sign: str, path: str, target: str) -> str:
    kind = "new" if sign == "+" else "deleted"
    names = ("/dev/null", f"b/{path}") if sign == "+" else (f"a/{path}", "/dev/null")
    return (
        f"diff --git a/{path} b/{path}\n{kind} file mode 120000\n--- {names[0]}\n+++ {names[1]}\n"
        f"@@ {'-0,0 +1' if sign == '+' else '-1 +0,0'} @@\n{sign}{target}\n{LINK_END}"
    )


def lay_out(root: Path, files: dict[str, bytes | str]) -> Path:
    """Write files; a text is the target of a link."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            path.symlink_to(content)
        else:
            path.write_bytes(content)
    return root


def files(root: Path) -> dict[str, bytes | str]:
    return {
        str(path.relative_to(root)): str(path.readlink())
        if path.is_symlink()
        else path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_symlink() or path.is_file()
    }


def marked(path: str, content: bytes, encoding: str) -> dict[str, bytes | str]:
    return {path: f"\ufeff{content.decode()}".encode(encoding)}


TOP = "--- a/f.py\n+++ b/f.py\n@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n"
AT_TOP = FILE.replace(b"one", b"ONE")
TAKEN: dict[str, tuple[dict[str, bytes | str], str, dict[str, bytes | str]]] = {
    "a byte-order mark": (marked("f.py", FILE, "utf-8"), TOP, marked("f.py", AT_TOP, "utf-8")),
    "UTF-16 without its mark": (
        marked("f.py", FILE, "utf-16-le"),
        TOP,
        marked("f.py", AT_TOP, "utf-16-le"),
    ),
    "mnemonic prefixes": (
        {"f.py": FILE},
        f"diff --git c/f.py w/f.py\n--- c/f.py\n+++ w/f.py\n{HUNK}"
        "diff --git c/new.py w/new.py\nnew file mode 100644\n--- /dev/null\n+++ w/new.py\n"
        "@@ -0,0 +1 @@\n+x\n",
        {**CHANGED, "new.py": b"x\n"},
    ),
    "no prefixes": (
        {"src/f.py": FILE},
        f"diff --git src/f.py src/f.py\n--- src/f.py\n+++ src/f.py\n{HUNK}",
        {"src/f.py": CHANGED["f.py"]},
    ),
    "an empty line of context without its space": (
        {"f.py": b"one\n\ntwo\n"},
        "--- a/f.py\n+++ b/f.py\n@@ -1,3 +1,3 @@\n one\n\n-two\n+TWO\n",
        {"f.py": b"one\n\nTWO\n"},
    ),
    "other line numbers": (
        {"f.py": b"zero\n0\n" + FILE},
        PLAIN.replace("-1,3 +1,3", "-2,3 +2,3"),
        {"f.py": b"zero\n0\n" + CHANGED["f.py"]},
    ),
    "a lone carriage return": (
        {"f.py": b"a = 'x\ry'\n" + FILE},
        "--- a/f.py\n+++ b/f.py\n@@ -1,4 +1,4 @@\n a = 'x\ry'\n one\n-two\n+TWO\n three\n",
        {"f.py": b"a = 'x\ry'\n" + CHANGED["f.py"]},
    ),
    "two commits that change a file": (
        {"f.py": FILE},
        f"From 1 Mon\nSubject: a\n\n---\n f.py | 2 +-\n\n{PLAIN}-- \n2.39.5\n\nFrom 2 Mon\n\n"
        "--- a/f.py\n+++ b/f.py\n@@ -1,3 +1,3 @@\n one\n-TWO\n+2\n three\n-- \n2.39.5\n",
        {"f.py": FILE.replace(b"two", b"2")},
    ),
    "names that swap": (
        {"a": b"A\n", "b": b"B\n"},
        "diff --git a/a b/b\nsimilarity index 100%\nrename from a\nrename to b\n"
        "diff --git a/b b/a\nsimilarity index 100%\nrename from b\nrename to a\n",
        {"a": b"B\n", "b": b"A\n"},
    ),
    "a move that changes a file": (
        {"old.py": FILE},
        "Here it is:\n\ndiff --git a/old.py b/a new.py\nsimilarity index 80%\nrename from old.py\n"
        f"rename to a new.py\n--- a/old.py\n+++ b/a new.py\t\n{HUNK}",
        {"a new.py": CHANGED["f.py"]},
    ),
    "a folder where a file was": (
        {"a": b"A\n"},
        "diff --git a/a b/a/b\nsimilarity index 100%\nrename from a\nrename to a/b\n",
        {"a/b": b"A\n"},
    ),
    "a file where a folder was": (
        {"a/b/c": b"A\n"},
        "diff --git a/a/b/c b/a\nsimilarity index 100%\nrename from a/b/c\nrename to a\n",
        {"a": b"A\n"},
    ),
    "a name in quotes": (
        {'a\t"é': b"1\n"},
        '--- "a/a\\t\\"\\303\\251"\n+++ "b/a\\t\\"\\303\\251"\n@@ -1 +1 @@\n-1\n+2\n',
        {'a\t"é': b"2\n"},
    ),
    "a link": ({"f.py": FILE}, link("+", "l", "f.py"), {"f.py": FILE, "l": "f.py"}),
    "a link that goes": ({"f.py": FILE, "l": "f.py"}, link("-", "l", "f.py"), {"f.py": FILE}),
    "latin-1": (
        {"f": b"\xe9\n1\n"},
        "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n é\n-1\n+è\n",
        {"f": b"\xe9\n\xe8\n"},
    ),
    "a list behind the fence": (
        {"f.py": FILE},
        f"So:\n```diff\n{PLAIN}```\n- I changed two\n",
        {**CHANGED},
    ),
    "a list behind an empty line": ({"f.py": FILE}, f"{PLAIN}\n- I changed two\n", {**CHANGED}),
}


@pytest.mark.parametrize("name", TAKEN)
def test_what_git_takes_is_taken(tmp_path: Path, name: str) -> None:
    before, diff, after = TAKEN[name]
    apply_patch_files(diff, lay_out(tmp_path, before), write=True)
    assert files(tmp_path) == after
    assert not [path for path in tmp_path.rglob("*") if path.is_dir() and not any(path.iterdir())]


@pytest.mark.parametrize(
    ("behind", "line"),
    [
        ("-three\n+THREE\n", "line 7 is '-three'"),
        (" four\n-five\n+FIVE\n", "line 8 is '-five'"),
        ("\n-four\n", "line 8 is '-four'"),
        ("@@ def f():\n-four\n", "line 7 is '@@ def f"),
        ("@@ ... @@\n-four\n", "line 7 is '@@ ... @@'"),
        ("--- a/g.py\n+++ b/g.py\n-four\n", "line 9 is '-four'"),
        ("--- a/g.py\n+++ b/g.py\n@@@ -1 -1 +1 @@@\n--four\n", "line 9 is '@@@"),
    ],
)
def test_lines_that_git_would_drop_are_told(tmp_path: Path, behind: str, line: str) -> None:
    diff = f"--- a/f.py\n+++ b/f.py\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n{behind}"
    lay_out(tmp_path, {"f.py": FILE, "g.py": FILE})
    with pytest.raises(MalformedError, match=line.replace("(", r"\(")):
        apply_patch_files(diff, tmp_path, write=True)
    assert files(tmp_path) == {"f.py": FILE, "g.py": FILE}


NEW = "--- /dev/null\n+++ b/{}\n@@ -0,0 +1 @@\n+bad\n"


@pytest.mark.parametrize(
    "hostile",
    [
        *map(NEW.format, ("../out", "x/../../out", ".git/hooks/x", "sub/.GIT/config", "out/x")),
        *map(NEW.format, ("inside/x", "n" * 300, "f.py", "f.py/x", "." * 2)),
        link("+", "l", "../out"),
        link("+", "l", "/etc/passwd"),
        link("+", "l", ".git/config"),
        link("+", "l", "d") + NEW.format("l/x"),
        "diff --git a/s b/s\nnew file mode 160000\nindex 0000000..1111111\n--- /dev/null\n+++ b/s\n"
        f"@@ -0,0 +1 @@\n+Subproject commit {'1' * 40}\n",
        f"diff --git a/f.py b/f.py\nindex {'1' * 40}..{'2' * 40} 100644\nGIT binary patch\n"
        "literal 99999999999\nzcmeh\n\nliteral 0\nHcmV?d00001\n\n",
        "diff --git a/f.py b/g.py\nrename from f.py\nrename to ../g.py\n",
    ],
)
def test_hostile_diffs_change_nothing(tmp_path: Path, hostile: str) -> None:
    root = lay_out(tmp_path / "root", {"f.py": FILE, "d/x": b"1\n", "out": "../out", "inside": "d"})
    (root / ".git").mkdir()
    (tmp_path / "out").mkdir()
    before = files(tmp_path)
    for text in (hostile, PLAIN + hostile):
        with pytest.raises(EditError):
            apply_patch_files(text, root, write=True)
        assert files(tmp_path) == before
        assert not list(root.glob(".goldpan-*"))


def test_neither_settings_nor_attributes_take_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / ".gitconfig").write_text(
        "[apply]\n whitespace = error-all\n[core]\n autocrlf = true\n"
    )
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "home"))
    root = lay_out(tmp_path / "root", {"f.py": FILE, ".gitattributes": b"* text eol=crlf\n"})
    apply_patch_files(PLAIN.replace("+TWO", "+TWO  "), root, write=True)
    assert (root / "f.py").read_bytes() == FILE.replace(b"two", b"TWO  ")


def test_a_diff_that_is_too_large_is_told() -> None:
    with pytest.raises(DiffError, match="larger than 64 MB"):
        read_diff(PLAIN.encode() + b"\n" * (64 << 20))


def test_an_answer_may_be_a_diff_and_goes_or_is_emptied() -> None:
    before = FILE.decode()
    blocks = "f.py\n<<<<<<< SEARCH\ntwo\n=======\nTWO\n>>>>>>> REPLACE\n"
    assert apply_answer(PLAIN, "f.py", before) == (CHANGED["f.py"].decode(),)
    assert apply_answer(PLAIN, "g.py", before) is None
    assert apply_answer(PLAIN, "../f.py", before) is None
    removal = f"f.py\n<<<<<<< SEARCH\n{before}=======\n>>>>>>> DELETE\n"
    emptied = removal.replace("DELETE", "REPLACE")
    gone = "--- a/f.py\n+++ /dev/null\n@@ -1,5 +0,0 @@\n-" + before[:-1].replace("\n", "\n-") + "\n"
    answers = [(blocks, PLAIN), (removal, removal), (removal, gone), (removal, emptied)]
    evidence = patch_evidence([PatchPair(*answer, before) for answer in answers])[2]
    assert isinstance(evidence, Totals)
    names = [measure.name for measure in evidence.measures]
    assert evidence.columns[:, names.index("file_exact")].tolist() == [1, 1, 1, 0]
    assert evidence.columns[:, names.index("patch_applied")].tolist() == [1, 1, 1, 1]


WORLD = st.dictionaries(
    st.sampled_from(["a", "b c", 'q"\t', "é", "d/x", "d/y", "e/z"]),
    st.sampled_from(
        [b"", b"1\n", b"1\n2\n3\n4\n", b"1\n2\n3\n5", b"x\ry\n2\n", b"a\r\nb\r\n", b"\xe9\n2\n"]
    )
    | st.sampled_from(["a", "d"]),
    max_size=5,
)


@examples(25)
@given(WORLD, WORLD, st.sets(st.sampled_from(["a", "d/x"])), st.booleans())
def test_a_diff_between_odd_states_gives_the_one_after(
    tmp_path_factory: pytest.TempPathFactory,
    before: dict[str, bytes | str],
    after: dict[str, bytes | str],
    runnable: set[str],
    moves: bool,
) -> None:
    folder = tmp_path_factory.mktemp("odd")
    root = folder / "root"
    repository = folder / "git"
    git("init", "--quiet", "--bare", repository)
    trees = []
    for state, name in ((after, "new"), (before, "root")):
        tree = folder / name
        tree.mkdir()
        lay_out(tree, state)
        if name == "new":
            for path in runnable & {
                p for p, content in state.items() if isinstance(content, bytes)
            }:
                (tree / path).chmod(0o755)
        inside = (f"--git-dir={repository}", f"--work-tree={tree}", "-c", "core.autocrlf=false")
        git(*inside, "add", "--all", ".")
        trees.append(git(*inside, "write-tree").decode().strip())
    options = ("--find-renames",) if moves else ("--no-renames",)
    diff = git(f"--git-dir={repository}", "diff", "--text", *options, trees[1], trees[0])
    if not diff:
        return
    apply_patch_files(diff.decode("utf-8", "surrogateescape"), root, write=True)
    assert files(root) == files(folder / "new")
    modes = {name: os.access(root / name, os.X_OK) for name in files(root)}
    assert modes == {name: os.access(folder / "new" / name, os.X_OK) for name in files(root)}


LINES = st.sampled_from(
    [
        *(
            b"diff --git a/x b/x\n",
            b"--- a/x\n",
            b"+++ b/x\n",
            b"@@ -1 +1,2 @@\n",
            b" a\n",
            b"+b\n",
        ),
        *(
            b"-c\n",
            b"\\ No\n",
            b"index 12345..67890\n",
            b'rename from "\n',
            b"\n",
            b"-- \n",
            b"@@\n",
        ),
    ]
)


@examples(40)
@given(st.lists(LINES))
def test_any_text_is_read_or_refused(lines: list[bytes]) -> None:
    try:
        diff = read_diff(b"".join(lines))
    except DiffError:
        return
    assert set(diff.paths) <= {b"x"}

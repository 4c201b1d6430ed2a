"""What differs between commits, and patches of it: as git tells, whatever else is broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldpan.git import trees
from goldpan.git.trees import CommitPair, Depth, Patch, Touched, compare, patches
from tests.git_repositories import Odd, Repository
from tests.twin.history import git

LINES = b"".join(
    b"line %d of a file that is long enough to be known again\n" % n for n in range(20)
)
FILES = {b"a.py": b"a = 1\n", b"old.py": LINES, b"gone": b"gone\n", b"d/x": b"x\n"}
BOTH = pytest.mark.parametrize("depth", list(Depth))


@pytest.fixture
def source(tmp_path: Path) -> Repository:
    return Repository.create(tmp_path / "source.git")


def test_every_kind_of_change(source: Repository) -> None:
    script = source.object("blob", b"x\n")
    before = source.commit({**FILES, b"t": b"a", b'tab\t\n"': b"1\n", b"bin": b"\0a"})
    after = source.commit(
        {
            b"a.py": b"a = 1\nb = 2\n",
            b"new.py": LINES + b"more\n",
            b"d/x": Odd("100755", script),
            b"t": Odd("120000", script),
            b"sub": Odd("160000", "1" * 40),
            b'tab\t\n"': b"2\n",
            b"bin": b"\0b",
            b"empty": b"",
        },
        before,
    )
    ((*files,),) = (
        group or () for group in compare(source.path, [CommitPair(before, after)], Depth.FILES)
    )
    facts = {
        file.path: (file.letter, file.previous, file.additions, file.deletions, file.mode_after)
        for file in files
    }
    assert facts == {
        b"a.py": ("M", None, 1, 0, "100644"),
        b"new.py": ("R", b"old.py", 1, 0, "100644"),
        b"gone": ("D", None, 0, 1, None),
        b"d/x": ("M", None, 0, 0, "100755"),
        b"t": ("T", None, 1, 1, "120000"),
        b"sub": ("A", None, 1, 0, "160000"),
        b'tab\t\n"': ("M", None, 1, 1, "100644"),
        b"bin": ("M", None, None, None, "100644"),
        b"empty": ("A", None, 0, 0, "100644"),
    }
    ((*shallow,),) = (
        group or () for group in compare(source.path, [CommitPair(before, after)], Depth.FOLDERS)
    )
    assert {(file.path, file.letter) for file in shallow} == {
        *((file.path, file.letter) for file in files if file.letter != "R"),
        (b"new.py", "A"),
        (b"old.py", "D"),
    }


@BOTH
def test_pairs_without_difference_and_the_same_head_twice(source: Repository, depth: Depth) -> None:
    first = source.commit(FILES)
    second = source.commit({**FILES, b"a.py": b"2\n"}, first)
    third = source.commit(FILES, second)
    pairs = [
        CommitPair(*pair)
        for pair in ((first, second), (first, third), (second, third), (first, second))
    ]
    results = [tuple(touched or ()) for touched in compare(source.path, pairs, depth)]
    assert [len(touched) for touched in results] == [1, 0, 1, 1]
    assert results[0] == results[3]
    assert list(compare(source.path, [], depth)) == []


def broken_history(source: Repository) -> tuple[list[CommitPair], set[int]]:
    """Return pairs, and which of them nobody can compare since a file is missing."""
    pairs, lost = [], set()
    for index in range(9):
        before = source.commit({b"f": b"%d\n" % index})
        after = source.commit({b"f": b"%d!\n" % index}, before)
        pairs.append(CommitPair(before, after))
        if index in (0, 3, 4, 8):
            lost.add(index)
            blob = source.git("rev-parse", f"{after}:f")
            (source.path / "objects" / blob[:2] / blob[2:]).unlink()
    return pairs, lost


def test_a_missing_file_costs_its_own_pair_alone(source: Repository) -> None:
    pairs, lost = broken_history(source)
    results = list(compare(source.path, pairs, Depth.FILES))
    assert {index for index, touched in enumerate(results) if touched is None} == lost
    assert [group and group[0].additions for group in results] == [
        None if index in lost else 1 for index in range(9)
    ]
    assert all(compare(source.path, pairs, Depth.FOLDERS))
    patched = list(patches(source.path, [(n, *pair(change)) for n, change in enumerate(pairs)]))
    assert [patch.number for patch in patched] == list(range(9))
    assert {patch.number for patch in patched if patch.text is None} == lost
    assert all(f"+{patch.number}!" in patch.text for patch in patched if patch.text is not None)


@BOTH
def test_a_missing_folder_costs_its_own_pair_alone(source: Repository, depth: Depth) -> None:
    first = source.commit(FILES)
    second = source.commit({**FILES, b"e/y": b"y"}, first)
    tree = source.git("rev-parse", f"{second}:e")
    third = source.commit({**FILES, b"a.py": b"3\n"}, second)
    (source.path / "objects" / tree[:2] / tree[2:]).unlink()
    pairs = [CommitPair(first, third), CommitPair(first, second), CommitPair(first, third)]
    results = list(compare(source.path, pairs, depth))
    assert [group is not None for group in results] == [True, False, True]


def test_a_change_of_very_many_files_is_not_read(
    source: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trees, "MOST_TOUCHED", 100)
    first = source.commit(FILES)
    some, many = (
        source.commit({b"%d" % index: b"%d" % index for index in range(count)}, first)
        for count in (96, 97)  # and the four that are gone
    )
    pairs = [CommitPair(first, many), CommitPair(first, some), CommitPair(first, many)]
    for depth in Depth:
        assert [group and len(group) for group in compare(source.path, pairs, depth)] == [
            None,
            100,
            None,
        ]


def test_attributes_of_the_repository_change_no_counts(source: Repository) -> None:
    files = {**FILES, b".gitattributes": b"*.py binary -diff\n* text=auto eol=crlf filter=x\n"}
    first = source.commit(files)
    second = source.commit({**files, b"a.py": b"a = 2\r\n"}, first, ref="refs/heads/main")
    ((file,),) = (
        group or () for group in compare(source.path, [CommitPair(first, second)], Depth.FILES)
    )
    assert isinstance(file, Touched)
    assert (file.additions, file.deletions) == (1, 1)


def test_patches_are_those_of_git(source: Repository) -> None:
    first = source.commit({**FILES, b"u": b"caf\xe9\n", b"n": b"no end"})
    sha = b"0123456789abcdef0123456789abcdef01234567\n"
    second = source.commit(
        {b"a.py": sha, b"new.py": LINES + sha, b"u": b"caf\xe9s\n", b"n": b"no end!"}, first
    )
    third = source.commit({}, second)
    requests = [(7, first, second), (3, second, second), (5, second, third), (9, second, first)]
    for patch, (number, before, after) in zip(
        patches(source.path, requests), requests, strict=True
    ):
        shown = git(f"--git-dir={source.path}", "diff", "--full-index", before, after)
        assert patch == Patch(number, shown.decode("utf-8", "replace"))
    assert list(patches(source.path, [])) == []


def pair(change: CommitPair) -> tuple[str, str]:
    return change.before, change.after

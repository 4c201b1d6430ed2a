"""Objects, what differs between commits, and patches: as git tells, whatever is hostile or lost."""

from __future__ import annotations

import hashlib
import os
import resource
from pathlib import Path

import pytest

from goldpan.core.errors import GitError
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.git import objects as objects_module
from goldpan.git import trees
from goldpan.git.clone import clone, prefetch
from goldpan.git.objects import Objects
from goldpan.git.trees import CommitPair, Depth, Touched, compare, patches
from tests.git_repositories import REPO, Odd, Repository
from tests.git_server import GitServer
from tests.mining import Notes
from tests.twin.history import git

NOWHERE = "1" * 40


@pytest.fixture
def source(tmp_path: Path) -> Repository:
    return Repository.create(tmp_path / "source.git")


def test_reads_blobs_trees_and_commits(source: Repository) -> None:
    files = {b"a.py": b"a\n", b"src/b.py": b"", b"src/deep/c": b"\0\n\n"}
    commit = source.commit(files)
    with Objects(source.path) as objects:
        entry = objects.find(commit, b"src/deep/c")
        assert entry is not None
        assert (entry.mode, objects.blob(entry.id)) == ("100644", b"\0\n\n")
        assert objects.find(commit, b"src/none") is objects.find(commit, b"a.py/b") is None
        folder = objects.find(commit, b"src")
        assert folder is not None
        assert [entry.name for entry in objects.tree(folder.id) or ()] == [b"b.py", b"deep"]
        assert objects.root(commit) == source.git("rev-parse", f"{commit}^{{tree}}")
        assert [file.path for file in objects.files(commit)] == ["a.py", "src/b.py", "src/deep/c"]


def test_many_are_read_in_the_order_asked(source: Repository) -> None:
    contents = [b"%d\n" % index * (index % 7) for index in range(50)] * 30
    ids = [source.object("blob", content) for content in contents[:50]] * 30
    ids[70], ids[900] = NOWHERE, "no id at all\n" + ids[0]
    with Objects(source.path) as objects:
        blobs = list(objects.read(ids))
        kinds = list(objects.info(ids))
    for index, (blob, info) in enumerate(zip(blobs, kinds, strict=True)):
        if index in (70, 900):
            assert blob is info is None
        else:
            assert blob is not None and info is not None
            assert (blob.id, blob.data) == (ids[index], contents[index])
            assert (info.kind, info.size) == ("blob", len(contents[index]))


def test_reading_within_reading(source: Repository) -> None:
    ids = [source.object("blob", b"%d" % index) for index in range(20)]
    with Objects(source.path) as objects:
        for index, content in enumerate(objects.read(ids)):
            assert content is not None
            assert objects.blob(ids[-1 - index]) == b"%d" % (19 - index)
            if index == 10:
                break
        assert objects.blob(ids[0]) == b"0"


def test_a_large_file_is_known_and_never_read(source: Repository) -> None:
    large = source.object("blob", b"x" * (100 << 20))
    small = source.object("blob", b"y" * 100)
    commit = source.commit({b"large": Odd("100644", large)})
    with Objects(source.path, most_bytes=100) as objects:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        contents = list(objects.read([large, small]))
        assert objects.blob(large) is None
        assert objects.blob(small) == b"y" * 100
        assert [file.path for file in objects.files(commit)] == ["large"]
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert contents[0] is not None
    assert (contents[0].data, contents[0].size) == (None, 100 << 20)
    assert grown < 40_000  # kilobytes


def test_paths_that_no_checkout_may_hold_are_left_out(source: Repository) -> None:
    blob = source.object("blob", b"evil")
    inner = source.raw_tree([("100644", b"config", blob)])
    tree = source.raw_tree(
        [
            ("40000", b".git", inner),
            ("40000", b".GIT", inner),
            ("40000", b"..", inner),
            ("100644", b"../../etc/passwd", blob),
            ("100644", b"/etc/passwd", blob),
            ("100644", b"", blob),
            ("100644", b".", blob),
            ("100644", b".gitmodules", blob),
        ]
    )
    commit = source.commit(tree)
    with Objects(source.path) as objects:
        assert [file.path for file in objects.files(commit)] == [".gitmodules"]


def test_objects_that_are_missing_damaged_or_malformed(source: Repository) -> None:
    good = source.object("blob", b"good")
    bad = source.object("blob", os.urandom(5_000))
    path = source.path / "objects" / bad[:2] / bad[2:]
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[:1_000])
    torn = source.object("tree", b"100644 a\0" + b"x" * 7)
    no_tree = source.object("commit", b"hello")
    padded = source.raw_tree([("0100644", b"a", good), ("100664", b"b", good)])
    with Objects(source.path) as objects:
        assert {entry.name: entry.mode for entry in objects.tree(padded) or ()} == {
            b"a": "100644",
            b"b": "100644",
        }
        assert objects.blob(bad) is None
        assert [
            content and content.data for content in objects.read([good, bad, NOWHERE, good])
        ] == [b"good", None, None, b"good"]
        assert objects.tree(torn) is objects.tree(good) is objects.tree(NOWHERE) is None
        assert objects.root(no_tree) is None
        assert objects.find(no_tree, b"a") is None
        for id in (NOWHERE, no_tree, good):
            with pytest.raises(GitError, match="is not in"):
                objects.files(id)
        with pytest.raises(GitError, match="not in the clone"):
            objects.files(source.commit(torn))
        assert objects.blob("--help") is objects.blob("HEAD") is None


def test_a_tree_that_unfolds_without_end_is_refused(
    source: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(objects_module, "MOST_FILES", 5_000)
    tree = source.raw_tree([("100644", b"f", source.object("blob", b"boom"))])
    for _ in range(20):
        tree = source.raw_tree([("40000", b"%d" % index, tree) for index in range(10)])
    commit = source.commit(tree)
    with Objects(source.path) as objects, pytest.raises(GitError, match="more than 5,000"):
        objects.files(commit)


def test_folders_in_folders_without_end(source: Repository) -> None:
    tree = source.raw_tree([("100644", b"f", source.object("blob", b"deep"))])
    for _ in range(250):
        data = b"40000 d\0" + bytes.fromhex(tree)
        tree = hashlib.sha1(b"tree %d\0" % len(data) + data).hexdigest()
        source.object("tree", data)
    with Objects(source.path) as objects:
        assert objects.files(source.commit(tree)) == []


def test_a_history_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(GitError, match="Run goldpan clone"), Objects(tmp_path / "none"):
        pass
    with pytest.raises(GitError, match="is not a git repository"), Objects(tmp_path):
        pass


def partial(source: Repository, tmp_path: Path, url: str | None = None) -> Path:
    workspace = WorkspaceLayout(tmp_path / "workspace")
    return clone(workspace, REPO, Notes(), source=url or source.path.as_uri()).path


def test_prefetch_fetches_all_at_once(source: Repository, tmp_path: Path) -> None:
    files = {b"%d.py" % index: b"%d\n" % index for index in range(300)}
    source.commit(files, ref="refs/heads/main")
    ids = [source.object("blob", content) for content in files.values()]
    with GitServer(source.path.parent) as server:
        path = partial(source, tmp_path, server.address("source.git"))
        posts = server.posts
        assert prefetch(path, ids + ids, Notes()) == 300
        assert server.posts == posts + 1
        assert prefetch(path, ids, Notes()) == 0
        assert server.posts == posts + 1
    with Objects(path) as objects:
        assert [content and content.data for content in objects.read(ids)] == list(files.values())


def test_prefetch_goes_around_what_the_server_lacks(source: Repository, tmp_path: Path) -> None:
    files = {b"%d.py" % index: b"%d\n" % index for index in range(40)}
    source.commit(files, ref="refs/heads/main")
    ids = [source.object("blob", content) for content in files.values()]
    lacking = [NOWHERE, "0" * 39 + "1", "f" * 40]
    with GitServer(source.path.parent) as server:
        path = partial(source, tmp_path, server.address("source.git"))
        posts = server.posts
        assert prefetch(path, [*ids, *lacking], Notes()) == 40
        assert server.posts < posts + 12
    with Objects(path) as objects:
        assert None not in list(objects.info(ids))
        assert list(objects.info(lacking)) == [None] * 3


def test_prefetch_leaves_whole_clones_and_says_when_the_source_is_gone(
    source: Repository, tmp_path: Path
) -> None:
    source.commit({b"a": b"a"}, ref="refs/heads/main")
    whole = clone(WorkspaceLayout(tmp_path / "whole"), REPO, Notes(), source=source.path)
    assert prefetch(whole.path, [NOWHERE], Notes()) == 0
    path = partial(source, tmp_path)
    source.path.rename(tmp_path / "elsewhere.git")
    with pytest.raises(GitError, match="is not a git repository"):
        prefetch(path, [hashlib.sha1(b"blob 1\0a").hexdigest()], Notes())


LINES = b"".join(
    b"line %d of a file that is long enough to be known again\n" % n for n in range(20)
)
FILES = {b"a.py": b"a = 1\n", b"old.py": LINES, b"gone": b"gone\n", b"d/x": b"x\n"}
BOTH = pytest.mark.parametrize("depth", list(Depth))


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
    patched = list(patches(source.path, pairs))
    assert {number for number, patch in enumerate(patched) if patch is None} == lost
    assert all(f"+{number}!" in patch for number, patch in enumerate(patched) if patch is not None)


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
    after = {b"a.py": sha, b"new.py": LINES + sha, b"u": b"caf\xe9s\n", b"n": b"no end!"}
    second = source.commit(after, first)
    third = source.commit({}, second)
    sides = ((first, second), (second, second), (second, third), (second, first))
    pairs = [CommitPair(*commits) for commits in sides]
    for patch, pair in zip(patches(source.path, pairs), pairs, strict=True):
        shown = git(f"--git-dir={source.path}", "diff", "--full-index", *pair)
        assert patch == shown.decode("utf-8", "replace")
    assert list(patches(source.path, [])) == []


def test_names_are_told_as_they_can_be(source: Repository) -> None:
    odd = {
        b"tab\there": "tab\there",
        b"line\nend": "line\nend",
        b'quote"d': 'quote"d',
        b'"begins': '"\\"begins"',
        b"caf\xe9": '"caf\\351"',
        "café".encode(): "café",
        b"back\\slash": "back\\slash",
        b"-rf": "-rf",
        b":(glob)*": ":(glob)*",
        b"sp ace ": "sp ace ",
    }
    commit = source.commit({b"d/" + name: name for name in odd})
    with Objects(source.path) as objects:
        listed = {file.path: file.id for file in objects.files(commit)}
        for name in odd:
            entry = objects.find(commit, b"d/" + name)
            assert entry is not None
            assert objects.blob(entry.id) == name
    names = {f"d/{text}" if not text.startswith('"') else f'"d/{text[1:]}' for text in odd.values()}
    names = names - {'"d/\\"begins"'} | {'d/"begins'}
    assert set(listed) == names

"""Clones and their updates: whole or not at all, and nothing that was seen is lost."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from goldpan.core.errors import GitError, UsageError
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.git.clone import clone, prefetch, promisor, read_heads
from goldpan.git.objects import Objects
from goldpan.git.refs import find_ref_flaws, read_refs, verify_clone
from tests.git_repositories import REPO, Repository, fails
from tests.git_server import GitServer
from tests.mining import Notes
from tests.program import start
from tests.twin.history import git

FILES = {b"a.py": b"a = 1\n", b"src/b.py": b"b = 1\n"}

_KILLED = """
import sys
from pathlib import Path
from goldpan.git.clone import clone
from goldpan.core.terminal import Reporter
from goldpan.core.storage.workspace import WorkspaceLayout
clone(WorkspaceLayout(Path(sys.argv[1])), "o/n", Reporter(quiet=True), source=sys.argv[2])
"""


@pytest.fixture
def source(tmp_path: Path) -> Repository:
    """A repository with a branch, a tag, two pull requests and a merge that GitHub tried."""
    made = Repository.create(tmp_path / "source.git")
    first = made.commit(FILES, ref="refs/heads/main")
    made.point("refs/tags/v1", first)
    made.commit({**FILES, b"a.py": b"a = 2\n"}, first, ref="refs/pull/1/head")
    made.commit({**FILES, b"a.py": b"a = 3\n"}, first, ref="refs/pull/2/head")
    made.commit(FILES, first, ref="refs/pull/2/merge")
    return made


@pytest.fixture
def workspace(tmp_path: Path) -> WorkspaceLayout:
    return WorkspaceLayout(tmp_path / "workspace")


def has(path: Path, *ids: str) -> list[bool]:
    with Objects(path) as objects:
        return [info is not None for info in objects.info(ids)]


def test_a_folder_a_bundle_and_an_address_give_the_same_clone(
    source: Repository, workspace: WorkspaceLayout, tmp_path: Path
) -> None:
    """From an address it comes without files."""
    commit, blob = source.git("rev-parse", "main", "main:src/b.py").split()
    names = ("heads/main", "tags/v1", "pull/1/head", "pull/2/head")
    bundle, digests = source.bundle(tmp_path / "all.bundle"), set()
    with GitServer(source.path.parent) as server:
        address = server.address("source.git")
        for name, origin in (("folder", source.path), ("bundle", bundle), (address, address)):
            is_partial = origin == address
            made = clone(workspace, f"o/{name[-6:]}", Notes(), source=origin)
            assert (made.fresh, made.refs, made.kept, made.partial) == (True, 4, 0, is_partial)
            assert set(read_refs(made.path)) == {f"refs/{name}" for name in names}
            assert has(made.path, commit, blob) == [True, not is_partial]
            assert promisor(made.path) == (address if is_partial else None)
            assert (made.path / "HEAD").read_text().strip() == "ref: refs/heads/main"
            heads = read_heads(made.path)
            assert (heads.source, heads.head) == (name, commit)
            digests.add(heads.refs)
        assert len(digests) == 1
        posts = server.posts
        clone(workspace, f"o/{address[-6:]}", Notes(), source=address)
        assert server.posts == posts + 1, "it lists the refs and that is all"
    with Objects(made.path) as objects:
        assert [file.path for file in objects.files(commit)] == ["a.py", "src/b.py"]
    assert fails("git", f"--git-dir={made.path}", "cat-file", "-e", blob), "no git fetches it"


def test_a_server_that_cannot_leave_files_out_gives_all(
    source: Repository, workspace: WorkspaceLayout
) -> None:
    source.git("config", "uploadpack.allowFilter", "false")
    main = source.git("rev-parse", "main")
    commands = "".join(f"create refs/pull/{number}/head {main}\n" for number in range(10, 400))
    source.git("update-ref", "--stdin", stdin=commands.encode())
    made = clone(workspace, REPO, Notes(), source=source.path.as_uri())
    assert not made.partial
    assert has(made.path, source.git("rev-parse", "main:a.py")) == [True]


def test_an_update_keeps_what_a_force_push_and_deletions_removed(
    source: Repository, workspace: WorkspaceLayout
) -> None:
    made = clone(workspace, REPO, Notes(), source=source.path)
    before = read_refs(made.path)
    first = before["refs/tags/v1"]
    source.point("refs/heads/gone", source.commit(FILES, first))
    assert clone(workspace, REPO, Notes(), source=source.path).kept == 0
    gone = read_refs(made.path)["refs/heads/gone"]
    pushed = source.commit({b"a.py": b"a = 4\n"}, first, ref="refs/pull/1/head")
    for ref in ("refs/pull/2/head", "refs/heads/gone"):
        source.git("update-ref", "-d", ref)
    source.commit(FILES, first, ref="refs/heads/gone/deeper")  # where a file was stands a folder
    again = clone(workspace, REPO, Notes(), source=source.path)
    after = read_refs(made.path)
    assert (again.fresh, again.kept) == (False, 2)
    assert after["refs/pull/1/head"] == pushed
    assert after["refs/pull/2/head"] == before["refs/pull/2/head"]
    assert "refs/heads/gone" not in after
    git(f"--git-dir={made.path}", "reflog", "expire", "--expire=now", "--all")
    git(f"--git-dir={made.path}", "gc", "--quiet", "--prune=now")
    assert all(has(made.path, before["refs/pull/1/head"], gone, pushed))
    source.point("refs/heads/dev", first)
    clone(workspace, REPO, Notes(), source=source.path)
    source.git("update-ref", "-d", "refs/heads/gone/deeper")
    source.git("symbolic-ref", "HEAD", "refs/heads/dev")
    assert clone(workspace, REPO, Notes(), source=source.path).kept == 1
    assert "refs/heads/gone/deeper" not in read_refs(made.path)
    assert (made.path / "HEAD").read_text().strip() == "ref: refs/heads/dev"
    assert clone(workspace, REPO, Notes(), source=source.path).kept == 0


@pytest.mark.parametrize("content", [b"", b"0" * 17, b"f" * 40 + b"\n", None])
def test_a_clone_whose_refs_somebody_changed_is_set_aside(
    content: bytes | None, source: Repository, workspace: WorkspaceLayout
) -> None:
    made = clone(workspace, REPO, Notes(), source=source.path)
    source.commit({b"a.py": b"a = 4\n"}, ref="refs/pull/1/head")
    assert clone(workspace, REPO, Notes(), source=source.path).kept == 1
    before = read_refs(made.path)
    assert find_ref_flaws(made.path) == []
    names = {name for name in before if "kept" in name or name == "refs/heads/main"}
    for name in names:
        path = made.path / name
        path.unlink() if content is None else path.write_bytes(content)
    assert find_ref_flaws(made.path)
    with pytest.raises(GitError, match=r"was changed: .* goldpan clone --repo o/n --source FOLDER"):
        verify_clone(made.path)
    notes = Notes()
    assert clone(workspace, REPO, notes, source=source.path).fresh
    assert "set aside as" in notes.lines[-1]
    aside = made.path.with_name("n.git.damaged-1")
    assert find_ref_flaws(aside)
    assert set(before) - set(read_refs(made.path)) == {name for name in before if "kept" in name}
    verify_clone(made.path)


def test_a_clone_whose_record_settings_or_head_were_changed_is_told(
    source: Repository, workspace: WorkspaceLayout
) -> None:
    made = clone(workspace, REPO, Notes(), source=source.path)
    for name, text in (("HEAD", "ref: refs/heads/other\n"), ("config", "[core\n")):
        (made.path / name).write_text(text)
        assert [flaw.path.name for flaw in find_ref_flaws(made.path)] == [name]
        clone(workspace, REPO, Notes(), source=source.path)
        verify_clone(made.path)
    (made.path / "refs/heads/new").write_bytes((made.path / "refs/heads/main").read_bytes())
    with pytest.raises(GitError, match="says nothing of it"):
        verify_clone(made.path)
    record = made.path / "goldpan.json"
    record.write_bytes(record.read_bytes()[:-3])
    with pytest.raises(GitError, match=r"was changed after it was written.* Run goldpan clone"):
        verify_clone(made.path)
    record.unlink()
    with pytest.raises(GitError, match="is gone"):
        verify_clone(made.path)
    assert not clone(workspace, REPO, Notes(), source=source.path).fresh
    verify_clone(made.path)


def test_refs_that_git_packs_and_names_in_no_encoding_are_no_damage(
    source: Repository, workspace: WorkspaceLayout
) -> None:
    main = source.git("rev-parse", "main").encode()
    source.git("update-ref", "--stdin", stdin=b"create refs/heads/caf\xe9 " + main + b"\n")
    made = clone(workspace, REPO, Notes(), source=source.path)
    verify_clone(made.path)
    git(f"--git-dir={made.path}", "pack-refs", "--all")
    verify_clone(made.path)


def test_a_clone_can_be_brought_up_to_date_from_anywhere(
    source: Repository, workspace: WorkspaceLayout, tmp_path: Path
) -> None:
    """From an address to a bundle and back: old files may lack, new ones come as they can."""
    first = source.git("rev-parse", "main")
    old = source.git("rev-parse", "main:src/b.py")
    source.point("refs/tags/blob", source.object("blob", b"a key\n"))
    source.point("refs/tags/tree", source.git("rev-parse", "main^{tree}"))
    made = clone(workspace, REPO, Notes(), source=source.path.as_uri())
    second = source.commit({**FILES, b"a.py": b"new\n"}, first, ref="refs/heads/main")
    bundle = source.bundle(tmp_path / "all.bundle")
    assert clone(workspace, REPO, Notes(), source=bundle).partial
    third = source.commit({**FILES, b"a.py": b"newer\n"}, second, ref="refs/heads/main")
    again = clone(workspace, REPO, Notes(), source=source.path.as_uri())
    assert (again.partial, again.refs) == (True, 6)
    assert all(has(made.path, first, second, third))
    prefetch(made.path, [old], Notes())
    assert has(made.path, old, source.git("rev-parse", "main:a.py")) == [True, False]
    whole = clone(workspace, "o/whole", Notes(), source=bundle)
    assert not whole.partial
    assert clone(workspace, "o/whole", Notes(), source=source.path.as_uri()).partial
    assert has(whole.path, old, source.git("rev-parse", "main:a.py")) == [True, False]


def test_a_source_that_lacks_objects_is_named_as_such(
    source: Repository, workspace: WorkspaceLayout, tmp_path: Path
) -> None:
    shared = tmp_path / "shared.git"  # a clone of a clone that is gone
    git("clone", "--quiet", "--bare", "--shared", source.path, shared)
    (shared / "objects" / "info" / "alternates").unlink()
    tree = source.git("rev-parse", "main^{tree}")
    (source.path / "objects" / tree[:2] / tree[2:]).unlink()
    for place in (shared, source.path.as_uri()):
        with pytest.raises(GitError, match="lacks objects that its commits name") as caught:
            clone(workspace, REPO, Notes(), source=place)
        assert "git fsck" in str(caught.value)
        assert not workspace.clone(REPO).exists()


def test_where_no_head_is_told_the_only_or_usual_branch_is_the_default(
    source: Repository, workspace: WorkspaceLayout, tmp_path: Path
) -> None:
    main = source.git("rev-parse", "main")
    bundle = tmp_path / "main.bundle"
    source.git("bundle", "create", "--quiet", str(bundle), "main")
    source.git("symbolic-ref", "HEAD", "refs/heads/gone")
    for name, place in (("o/bundle", bundle), ("o/gone", source.path)):
        made = clone(workspace, name, Notes(), source=place)
        assert read_heads(made.path).head == main


def test_an_empty_repository_is_a_clone_too(workspace: WorkspaceLayout, tmp_path: Path) -> None:
    empty = Repository.create(tmp_path / "empty.git")
    assert clone(workspace, REPO, Notes(), source=empty.path).refs == 0
    commit = empty.commit(FILES, ref="refs/heads/main")
    assert clone(workspace, REPO, Notes(), source=empty.path).refs == 1
    assert has(workspace.clone(REPO), commit) == [True]


def test_a_cut_fetch_leaves_no_clone_and_an_update_as_it_was(
    source: Repository, workspace: WorkspaceLayout
) -> None:
    noise = os.urandom(200_000)
    source.commit({b"noise": noise}, ref="refs/heads/noise")
    source.git("config", "uploadpack.allowFilter", "false")
    with GitServer(source.path.parent, cut_after=20_000) as server:
        address = server.address("source.git")
        with pytest.raises(GitError, match="connection failed or was cut") as caught:
            clone(workspace, REPO, Notes(), source=address)
        assert address in str(caught.value)
        assert not workspace.clone(REPO).exists()
        assert list((workspace.root / "tmp").iterdir()) == []
        server.cut_after = 0
        made = clone(workspace, REPO, Notes(), source=address)
        before = read_refs(made.path)
        source.commit({b"noise": noise[::-1]}, ref="refs/heads/more")
        server.cut_after = 20_000
        with pytest.raises(GitError, match="connection failed or was cut"):
            clone(workspace, REPO, Notes(), source=address)
        assert read_refs(made.path) == before
        server.cut_after = 0
        assert clone(workspace, REPO, Notes(), source=address).refs == 6


def test_a_killed_clone_is_made_anew(source: Repository, workspace: WorkspaceLayout) -> None:
    for index in range(8):
        source.commit({b"noise": os.urandom(400_000)}, ref=f"refs/heads/{index}")
    with start(workspace.root, source.path, program=_KILLED) as running:
        running.until(lambda: any(workspace.root.glob("tmp/*/*.git/objects/pack/*")))
        running.kill()
    assert not workspace.clone(REPO).exists()
    assert clone(workspace, REPO, Notes(), source=source.path).refs == 12
    git(f"--git-dir={workspace.clone(REPO)}", "fsck", "--full")


def test_sources_that_are_none_are_refused(source: Repository, workspace: WorkspaceLayout) -> None:
    for wrong in (
        *("ext::sh -c true", "--upload-pack=touch /tmp/x", "-x", "fd::7", "no/such/folder"),
        *("ftp://example.org/x", "https:///x", "https://example.org/a b", "ssh://["),
        "git@-oProxyCommand=x:y",
    ):
        with pytest.raises(UsageError, match="address"):
            clone(workspace, REPO, Notes(), source=wrong)
    for named in ("https://me:secret@example.org/x", "https://ghp_secret@example.org/x"):
        with pytest.raises(UsageError, match="holds a name or a password") as caught:
            clone(workspace, REPO, Notes(), source=named)
        assert "secret" not in str(caught.value)
    assert not (workspace.root / "git").exists()


def test_what_cannot_be_read_is_told_in_one_sentence(
    source: Repository, workspace: WorkspaceLayout, tmp_path: Path
) -> None:
    text = tmp_path / "text.bundle"
    text.write_text("# no bundle\n")
    cut = tmp_path / "cut.bundle"
    whole = source.bundle(tmp_path / "whole.bundle").read_bytes()
    cut.write_bytes(whole[: len(whole) - 100])
    source.git("bundle", "create", str(tmp_path / "new.bundle"), "main..refs/pull/1/head")
    head = tmp_path / "head.bundle"  # as of a clone whose HEAD is detached
    source.git("bundle", "create", str(head), "HEAD")
    empty = tmp_path / "empty"
    empty.mkdir()
    newer = tmp_path / "newer"
    git("init", "--quiet", "--object-format=sha256", newer)
    author = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    git("-C", newer, *author, "commit", "--quiet", "--allow-empty", "--message=a")
    git("-C", newer, "bundle", "create", "--quiet", tmp_path / "sha256.bundle", "--all")
    for path, problem in (
        (text, "is not a git bundle"),
        (tmp_path / "none", "cannot be read: No such file"),
        (empty, "is not a git repository that can be found"),
        (cut, "is cut off or damaged"),
        (newer, "names its objects by SHA-256"),
        (tmp_path / "sha256.bundle", "names its objects by SHA-256"),
        (tmp_path / "new.bundle", "bundle of newer commits only"),
        (head, "has a HEAD and no branches"),
    ):
        with pytest.raises(GitError, match=problem) as caught:
            clone(workspace, REPO, Notes(), source=path)
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)
    with pytest.raises(GitError, match="connection failed"):
        clone(workspace, REPO, Notes(), source="http://127.0.0.1:9/x.git")
    with pytest.raises(GitError, match="is not a git repository"):
        clone(workspace, REPO, Notes(), source=(tmp_path / "gone.git").as_uri())


def test_a_folder_that_is_no_clone_is_not_touched(
    source: Repository, workspace: WorkspaceLayout
) -> None:
    directory = workspace.clone(REPO)
    directory.mkdir(parents=True)
    (directory / "mine.txt").write_text("mine")
    with pytest.raises(GitError, match="is not a clone"):
        clone(workspace, REPO, Notes(), source=source.path)
    assert (directory / "mine.txt").read_text() == "mine"


@pytest.mark.parametrize("form", ["folder", "checkout", "address"])
def test_a_shallow_source_is_called_shallow_with_what_deepens_it(
    source: Repository, workspace: WorkspaceLayout, tmp_path: Path, form: str
) -> None:
    source.commit(FILES, source.git("rev-parse", "main"), ref="refs/heads/main")
    bare = [] if form == "checkout" else ["--bare"]
    shallow = tmp_path / "shallow clone"
    options = ["--quiet", "--depth", "1", *bare]
    subprocess.run(["git", "clone", *options, source.path.as_uri(), shallow], check=True)
    named = shallow.as_uri() if form == "address" else str(shallow)
    with pytest.raises(GitError, match="is a shallow clone") as caught:
        clone(workspace, "o/n", Notes(), source=named)
    assert caught.value.remedy == f"Deepen it with git -C '{shallow}' fetch --unshallow"
    subprocess.run(["git", "-C", shallow, "fetch", "--quiet", "--unshallow"], check=True)
    assert clone(workspace, "o/n", Notes(), source=named).fresh

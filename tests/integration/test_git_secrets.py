"""What git is told and may do: tokens stay secret, and nobody's settings take part."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest

from goldpan.core.errors import GitError
from goldpan.core.secrets import register
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.git.clone import clone, promisor
from goldpan.git.process import check_version, environment, failure, git
from goldpan.git.remote import find_remote
from tests.git_repositories import REPO, Repository
from tests.git_server import GitServer
from tests.local_server import Server
from tests.mining import Notes

TOKEN = "ghp_verysecret0123456789"
FILES = {b"a.py": b"a = 1\n"}

_SPY = """#!/bin/sh
printf '%s\\n' "$@" >> {log}
exec {git} "$@"
"""


@pytest.fixture
def source(tmp_path: Path) -> Repository:
    made = Repository.create(tmp_path / "served" / "n.git")
    made.commit(FILES, ref="refs/heads/main")
    return made


@pytest.fixture
def workspace(tmp_path: Path) -> WorkspaceLayout:
    return WorkspaceLayout(tmp_path / "workspace")


def script(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_the_token_opens_the_door_and_is_seen_nowhere(
    source: Repository, workspace: WorkspaceLayout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "arguments"
    script(tmp_path / "bin" / "git", _SPY.format(log=log, git=shutil.which("git")))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    notes = Notes()
    with GitServer(source.path.parent, token=TOKEN) as server:
        options = {"source": server.address("n.git"), "host": server.host}
        assert clone(workspace, REPO, notes, token=TOKEN, **options).refs == 1
        assert any(sent for sent in server.authorizations)
        with pytest.raises(GitError, match="needs a token") as caught:
            clone(workspace, REPO, notes, token="wrong0123", **options)
    assert "fetch" in log.read_text()
    texts = [path.read_bytes() for path in workspace.root.rglob("*") if path.is_file()]
    texts += [log.read_bytes(), "\n".join(notes.lines).encode()]
    assert not [text for text in texts if TOKEN[:14].encode() in text or b"Authorization" in text]
    assert "wrong0123" not in str(caught.value)


def test_the_token_goes_to_its_host_alone_and_never_in_the_clear() -> None:
    def sends_token(source: str | None) -> bool:
        remote = find_remote(REPO, source, TOKEN, "git.example.org")
        return any(name.endswith("extraHeader") for name, _ in remote.reach)

    assert sends_token(None)
    assert sends_token("https://git.example.org/o/n.git")
    assert sends_token("https://GIT.example.org:443/o/n.git")
    for source in (
        "http://git.example.org/o/n.git",
        "https://example.org/o/n.git",
        "https://git.example.org:8443/o/n.git",
        "https://git.example.org.evil.org/o/n.git",
        "ssh://git@git.example.org/o/n.git",
        "git@git.example.org:o/n.git",
        "git://git.example.org/o/n.git",
    ):
        assert not sends_token(source)
    assert TOKEN not in repr(find_remote(REPO, None, TOKEN))
    assert TOKEN not in repr(find_remote(REPO, None, TOKEN).reach)


def test_a_renamed_repository_is_followed_on_its_own_host(
    source: Repository, workspace: WorkspaceLayout
) -> None:
    with GitServer(source.path.parent, token=TOKEN) as server:
        server.renamed = {"old.git": "/older.git", "older.git": server.address("n.git")}
        options = {"source": server.address("old.git"), "token": TOKEN, "host": server.host}
        made = clone(workspace, REPO, Notes(), **options)
        assert (made.refs, promisor(made.path)) == (1, server.address("n.git"))
        server.renamed["n.git"] = server.address("old.git")
        with pytest.raises(GitError, match="redirects again and again"):
            clone(workspace, REPO, Notes(), **options)


def test_a_redirect_takes_the_token_to_no_other_place(
    source: Repository, workspace: WorkspaceLayout
) -> None:
    with GitServer(source.path.parent) as server, GitServer(source.path.parent) as other:
        _, _, port = server.host.partition(":")
        for target in (other.address("n.git"), f"http://localhost:{port}/n.git", "file:///etc"):
            server.renamed = {"old.git": target}
            options = {"source": server.address("old.git"), "token": TOKEN, "host": server.host}
            with pytest.raises(GitError, match="redirects to another place") as caught:
                clone(workspace, REPO, Notes(), **options)
            assert target in str(caught.value)
        assert other.authorizations == []
        # Without a token there is nothing to take along.
        server.renamed = {"old.git": other.address("n.git")}
        assert clone(workspace, REPO, Notes(), source=server.address("old.git")).refs == 1
        assert set(other.authorizations) == {None}


def test_neither_proxies_nor_helpers_nor_children_get_the_token(
    source: Repository, workspace: WorkspaceLayout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "asked"
    script(tmp_path / "bin" / "git-credential-spy", f"#!/bin/sh\ncat >> {log}\nenv >> {log}\n")
    script(tmp_path / "bin" / "askpass", f"#!/bin/sh\nenv >> {log}\n")
    (tmp_path / ".gitconfig").write_text("[credential]\n\thelper = spy\n")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("SSH_ASKPASS", "GIT_ASKPASS"):
        monkeypatch.setenv(name, str(tmp_path / "bin" / "askpass"))
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    with GitServer(source.path.parent, token=TOKEN) as server, Server() as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        options = {"source": server.address("n.git"), "host": server.host}
        assert clone(workspace, REPO, Notes(), token=TOKEN, **options).refs == 1
        assert proxy.got == []
        monkeypatch.delenv("http_proxy")
        with pytest.raises(GitError, match="needs a token"):
            clone(workspace, REPO, Notes(), token="ghp_wrong0123456789", **options)
    assert not log.exists()
    assert TOKEN not in str(environment(find_remote(REPO, source.path).reach))


def test_what_a_server_says_cannot_show_secrets_or_move_the_cursor() -> None:
    stderr = f"fatal: no {TOKEN} \x1b[2J\u202e here\n".encode() + b"x" * 9_000
    register(TOKEN)
    message = str(failure("https://h/x", stderr, 128))
    assert TOKEN not in message
    assert message.isprintable()
    assert len(message) < 500


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "ssh: connect to host h port 22: Connection refused",
            "was cut (connect to host h port 22",
        ),
        ("kex_exchange_identification: Connection closed by remote host", "failed or was cut"),
        ("git@h: Permission denied (password,publickey).", "does not let us in over ssh"),
        ("remote: The project you were looking for could not be found", "that can be found"),
    ],
)
def test_what_ssh_says_is_told(said: str, told: str) -> None:
    """A last line that is always there says only that nothing was read."""
    stderr = f"{said}\nfatal: Could not read from remote repository.\n".encode()
    assert told in str(failure("git@h:o/n.git", stderr, 128))


def test_settings_and_hooks_of_the_user_take_no_part(
    source: Repository, workspace: WorkspaceLayout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    harm = tmp_path / "harm"
    script(tmp_path / "hooks" / "reference-transaction", f"#!/bin/sh\ntouch {harm}\n")
    settings = tmp_path / "settings"
    settings.write_text(
        f"[core]\n\thooksPath = {tmp_path / 'hooks'}\n"
        f'[url "{tmp_path}/elsewhere"]\n\tinsteadOf = {source.path}\n'
        '[protocol]\n\tallow = never\n[fetch]\n\tprune = true\n[init]\n\tdefaultBranch = "x y"\n'
    )
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "wrong"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(tmp_path / "wrong"))
    made = clone(workspace, REPO, Notes(), source=source.path)
    assert made.refs == 1
    assert not harm.exists()
    with pytest.raises(GitError, match="not follow"):
        git("ls-remote", source.path.as_uri(), subject="x")


def test_git_that_is_missing_or_old(
    source: Repository, workspace: WorkspaceLayout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    check_version.cache_clear()
    with pytest.raises(GitError, match=r"git is not installed\. Install git"):
        clone(workspace, REPO, Notes(), source=source.path)
    script(tmp_path / "bin" / "git", "#!/bin/sh\necho git version 2.20.1\n")
    with pytest.raises(GitError, match=r"git version 2\.20\.1 is too old\. Install git 2\.32"):
        clone(workspace, REPO, Notes(), source=source.path)
    check_version.cache_clear()


def test_a_full_disk_is_told(
    source: Repository, workspace: WorkspaceLayout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(
        tmp_path / "bin" / "git",
        "#!/bin/sh\n"
        'case "$1" in --version) echo git version 2.40.0;; ls-remote) exit 0;; *)\n'
        "echo 'fatal: write error: No space left on device' >&2; exit 128;; esac\n",
    )
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    with pytest.raises(GitError, match=r"the disk is full .*Free some space"):
        clone(workspace, REPO, Notes(), source=source.path)

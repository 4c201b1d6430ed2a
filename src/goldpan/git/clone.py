"""Clones a repository's history: a bare clone with the heads of all pull requests.

From an address the clone is partial: commits and folders come at once, files when
`prefetch` asks for them. Nothing is ever checked out, and what a ref pointed to before an update
stays: a force push or a deletion upstream loses nothing here. A clone that is damaged is set
aside, and cloned anew.
"""

from __future__ import annotations

import hashlib
import re
import shlex
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from subprocess import PIPE
from typing import cast
from urllib.parse import unquote, urlsplit

from goldpan.core.errors import GitError
from goldpan.core.result import count
from goldpan.core.storage.workspace import WorkspaceLayout, publish
from goldpan.core.terminal import Reporter
from goldpan.git.objects import Objects
from goldpan.git.process import GitSettings, failure, git, start
from goldpan.git.refs import RECORD, read_refs, verify_clone, write_refs_record
from goldpan.git.remote import NAME, Remote, find_remote, follow, was_redirected

_OPTIONS = (
    *("--progress", "--stdin", "--no-tags", "--no-write-fetch-head"),
    *("--no-auto-gc", "--no-recurse-submodules"),
)
_INIT = ("--quiet", "--bare", "--template=", "--object-format=sha1")
_PROGRESS = re.compile(rb"Receiving objects: +(\d{1,3})%")
_ENDS = re.compile(rb"[\r\n]")
# Nothing, a ref that was written, or how far something is.
_CHATTER = re.compile(rb"\s|\Z|From |remote: +\Z|[^%]{1,80}: +\d{1,3}% ")
_MOST_LINES = 200
_LONGEST_LINE = 2_000
NO_FILTER = b"filtering not recognized by server"


def fetch(
    clone: Path,
    remote: Remote,
    ids: Iterable[str],
    reporter: Reporter,
    title: str,
    settings: GitSettings = (),
) -> bool:
    """Fetch refspecs or object ids, and tell whether files stayed behind on the server.

    Raises `GitError`; refs that were written before a cut are whole, the others as they were.
    """
    reach = (*remote.reach, *settings)
    options = (*_OPTIONS, *(("--filter=blob:none",) if remote.is_partial else ()))
    with tempfile.TemporaryFile() as wanted_file, reporter.task(title, 100) as task:
        wanted_file.writelines(f"{id_}\n".encode() for id_ in ids)
        wanted_file.seek(0)
        lines: list[bytes] = []
        process = start(
            "fetch", *options, NAME, clone=clone, stdin=wanted_file, stderr=PIPE, reach=reach
        )
        with process:
            try:
                for line in _lines(cast(BufferedReader, process.stderr)):
                    if match := _PROGRESS.search(line):
                        task.advance(max(0, int(match[1]) - task.done))
                    elif len(lines) < _MOST_LINES and not _CHATTER.match(line):
                        lines.append(line)
            except BaseException:  # Ctrl-C too: git must not go on fetching for nobody
                process.terminate()
                raise
        complaint = b"\n".join(lines)
        if process.returncode:
            raise failure(remote.url, complaint, process.returncode, remote.kind)
    return remote.is_partial and NO_FILTER not in complaint


def _lines(source: BufferedReader) -> Iterator[bytes]:
    """Yield git's messages as they come: progress lines end with a carriage return."""
    unfinished = b""
    while block := source.read1(1 << 16):
        *lines, unfinished = _ENDS.split(unfinished + block)
        yield from lines
        unfinished = unfinished[-_LONGEST_LINE:]
    yield unfinished


_NOT_THERE = re.compile(r"not our ref ([0-9a-f]{40})")
# The commits that we have do not tell the server which files to leave out.
_SETTINGS = (("fetch.negotiationAlgorithm", "noop"),)


def prefetch(
    clone: Path,
    ids: Iterable[str],
    reporter: Reporter,
    *,
    token: str | None = None,
    host: str = "github.com",
) -> int:
    """Fetch those of these blobs that a partial clone lacks, and return how many came.

    A server rejects a whole request for one object that it does not have. So the ids must be of
    blobs (a submodule's is a commit of another repository), and what is rejected all the same
    is told apart by halving. A whole clone is left as it is. Raises `GitError` where the source
    cannot be reached.
    """
    address = promisor(clone)
    if address is None:
        return 0
    ordered = sorted(set(ids))
    with Objects(clone) as objects:
        absent = [id_ for id_, info in zip(ordered, objects.info(ordered), strict=True) if not info]
    remote = find_remote(clone.stem, address, token, host)
    title = f"Fetching {count(len(absent), 'file')}"
    waiting = [absent] if absent else []
    missing = 0
    while waiting:
        batch = waiting.pop()
        try:
            fetch(clone, remote, batch, reporter, title, _SETTINGS)
        except GitError as error:
            refused = _NOT_THERE.search(error.problem)
            if refused is None or refused[1] not in batch:
                raise
            missing += 1
            remaining = [id_ for id_ in batch if id_ != refused[1]]
            half = len(remaining) // 2
            waiting += [part for part in (remaining[half:], remaining[:half]) if part]
    return len(absent) - missing


_BRANCHES = "refs/heads/"
_KEPT = "refs/goldpan/kept/"
_TAGS = "refs/tags/"
_WANTED = re.compile(r"refs/(?:(?:heads|tags)/.*(?<!\^\{\})|pull/\d+/head)", re.DOTALL)
_REFSPECS = (
    "+refs/heads/*:refs/heads/*",
    "+refs/tags/*:refs/tags/*",
    "+refs/pull/*/head:refs/pull/*/head",
)
PROMISOR = "goldpan.promisor"
"""The setting of a partial clone that names the address of its missing files."""
SOURCE = "goldpan.source"
"""The setting of a clone that names the address it was last fetched from, else folder or bundle."""


@dataclass(frozen=True, slots=True)
class CloneResult:
    """The result of cloning or updating a repository."""

    repo: str
    path: Path
    fresh: bool
    """True where there was no clone before."""
    refs: int
    """Branches, tags and heads of pull requests at the source."""
    kept: int
    """Commits that refs pointed to before and do not any more; they are kept."""
    partial: bool
    """True where files are fetched only when they are needed."""


def clone(
    workspace: WorkspaceLayout,
    repo: str,
    reporter: Reporter,
    *,
    source: str | Path | None = None,
    token: str | None = None,
    host: str = "github.com",
) -> CloneResult:
    """Make or update the clone of a repository; call it under the workspace's lock.

    `source` is an address, a folder or a bundle; without one, the repository's address on
    `host`, to which alone `token` goes. A clone that was cut off leaves nothing: it is published
    by a rename. Raises `GitError`, `UsageError` for what is no source.
    """
    remote = find_remote(repo, source, token, host)
    _refuse_shallow(remote)
    remote, refs, head = _list_refs(remote)
    target = workspace.clone(repo)
    title = f"Fetching the history of {repo}"
    if (target / RECORD).exists():  # else the last update did not end
        _set_damaged_aside(target, reporter)
    if target.exists():
        kept_refs = _update(target, remote, refs, head, reporter, title)
        return CloneResult(repo, target, False, len(refs), kept_refs, promisor(target) is not None)
    with workspace.scratch() as scratch:
        fresh = scratch / target.name
        git("init", *_INIT, fresh, subject=str(fresh))
        partial = _fetch(fresh, remote, refs, reporter, title)
        _point_head(fresh, head)
        write_refs_record(fresh)
        publish({fresh: target})
    return CloneResult(repo, target, True, len(refs), 0, partial)


def _set_damaged_aside(path: Path, reporter: Reporter) -> None:
    try:
        verify_clone(path)
    except GitError as error:
        number = 1
        while (aside := path.with_name(f"{path.name}.damaged-{number}")).exists():
            number += 1
        publish({path: aside})
        reporter.note(f"{error.problem}. The clone is set aside as {aside}, and made anew")


def _refuse_shallow(remote: Remote) -> None:
    """Raise `GitError` for a source on this machine that lacks older commits."""
    folder = Path(unquote(urlsplit(remote.url).path) if "://" in remote.url else remote.url)
    if remote.is_local and folder.is_dir():
        state = git("-C", folder, "rev-parse", "--is-shallow-repository", subject=remote.url)
        if state.strip() == b"true":
            raise GitError(
                f"{remote.url} is a shallow clone, which lacks the older commits",
                f"Deepen it with git -C {shlex.quote(str(folder))} fetch --unshallow",
            )


def promisor(path: Path) -> str | None:
    """Return the address of a partial clone's missing files, None for a whole clone."""
    return _setting(path, PROMISOR)


@dataclass(frozen=True, slots=True)
class Heads:
    """The state of a clone: its source and where its refs lead."""

    source: str | None
    """The address it was last fetched from, or folder or bundle; None where that is not known."""
    head: str | None
    """The commit of the default branch; None where it has none."""
    refs: str
    """The SHA-256 over all refs of the source and where they lead."""


def read_heads(path: Path) -> Heads:
    """Return a clone's source and heads; refs that it merely kept do not count."""
    refs = {name: value for name, value in read_refs(path).items() if not name.startswith(_KEPT)}
    listed = "".join(f"{value} {name}\n" for name, value in sorted(refs.items()))
    digest = hashlib.sha256(listed.encode("utf-8", "surrogateescape")).hexdigest()
    branch = git("symbolic-ref", "HEAD", clone=path, subject=str(path)).decode(
        "utf-8", "surrogateescape"
    )
    return Heads(_setting(path, SOURCE), refs.get(branch.strip()), digest)


def _setting(path: Path, name: str) -> str | None:
    configured = git("config", "--default", "", "--get", name, clone=path, subject=str(path))
    return configured.decode().strip() or None


def _list_refs(remote: Remote) -> tuple[Remote, Mapping[str, str], str | None]:
    """Return a source at the address that it has now, its refs, and the branch of its HEAD."""
    try:
        listed = _ls_remote(remote)
    except GitError as error:
        if remote.token is None or not was_redirected(error):
            raise
        remote = follow(remote)
        listed = _ls_remote(remote)
    refs: dict[str, str] = {}
    head = tip = None
    for line in listed.decode("utf-8", "surrogateescape").split("\n"):
        value, _, name = line.partition("\t")
        if name == "HEAD" and value.startswith("ref: "):
            head = value.removeprefix("ref: ")
        elif name == "HEAD":
            tip = value
        elif _WANTED.fullmatch(name):
            refs[name] = value
    if tip is not None and not refs:  # a checkout of CI, or a bundle of HEAD alone
        raise GitError(
            f"{remote.url} has a HEAD and no branches",
            "Name a git clone --mirror, or what git bundle create FILE --all makes",
        )
    if head is None:  # a bundle tells at most where its HEAD is
        branches = sorted(name for name in refs if name.startswith(_BRANCHES))
        at_tip = [name for name in branches if refs[name] == (tip or refs[name])]
        usual = [name for name in at_tip if name in ("refs/heads/main", "refs/heads/master")]
        sure = at_tip if tip or len(at_tip) == 1 else ()
        head = next(iter((*usual, *sure)), None)
    return remote, refs, head


def _ls_remote(remote: Remote) -> bytes:
    return git("ls-remote", "--symref", remote.url, subject=remote.url, reach=remote.reach)


def _fetch(
    path: Path, remote: Remote, refs: Mapping[str, str], reporter: Reporter, title: str
) -> bool:
    """Fetch all refs, and tell whether files stayed behind."""
    partial = False
    if refs:
        before = promisor(path)
        if remote.is_partial:  # first, so that no kill leaves a clone that hides its lack of files
            git("config", PROMISOR, remote.url, clone=path, subject=str(path))
        partial = fetch(path, remote, _REFSPECS, reporter, title)
        if remote.is_partial and not partial and before is None:
            git("config", "--unset", PROMISOR, clone=path, subject=str(path))
    source = remote.url
    if remote.is_local:  # no path of this machine is published
        source = "bundle" if remote.kind == "bundle" else "folder"
    git("config", SOURCE, source, clone=path, subject=str(path))
    return partial


def _point_head(path: Path, head: str | None) -> None:
    if head is not None and head.startswith(_BRANCHES):
        git("symbolic-ref", "HEAD", head, clone=path, subject=str(path))


def _update(
    path: Path,
    remote: Remote,
    refs: Mapping[str, str],
    head: str | None,
    reporter: Reporter,
    title: str,
) -> int:
    """Fetch what is new and keep what refs pointed to before; return how many commits that are."""
    if not (path / "HEAD").is_file():
        raise GitError(f"{path} is not a clone", "Delete it and run the same command again")
    (path / RECORD).unlink(missing_ok=True)  # until the refs are those of the source
    try:
        before = read_refs(path)
        gone = {
            name: value
            for name, value in before.items()
            if name.startswith((_BRANCHES, _TAGS)) and name not in refs
        }
        # A branch that is gone may stand in the way of a new one: a file where a folder must be.
        _write_refs(path, set(gone.values()), gone)
        if any(before.get(name) != value for name, value in refs.items()):
            _fetch(path, remote, refs, reporter, title)
        _point_head(path, head)
        after = read_refs(path)
        moved = {value for name, value in before.items() if after.get(name, value) != value}
        _write_refs(path, moved, {})
        return len({*gone.values(), *moved})
    finally:  # a fetch that was cut moved some refs, and whole ones
        write_refs_record(path)


def _write_refs(path: Path, keep: set[str], delete: Mapping[str, str]) -> None:
    lines = [f"update {_KEPT}{value} {value}\n" for value in sorted(keep)]
    lines += [f"delete {name} {value}\n" for name, value in delete.items()]
    if lines:
        text = "".join(lines).encode("utf-8", "surrogateescape")
        git("update-ref", "--stdin", clone=path, subject=str(path), stdin=text)

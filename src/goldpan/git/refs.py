"""The refs of a clone, and the commits whose files are read.

Git's objects bear their own digests; refs, HEAD and settings do not. So each clone holds
``goldpan.json`` with what `goldpan clone` left there, sealed as all records are. The objects'
digests are checked, too: git takes an object that it cannot unpack for a missing one, so tables
would differ, and nothing would say why.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import orjson

from goldpan.core.errors import DamagedError, GitError, UsageError
from goldpan.core.storage.parquet import read_table, reading
from goldpan.core.storage.sealed import once_a_change, read_json, sealed_json
from goldpan.core.storage.workspace import WorkspaceLayout, write_whole
from goldpan.git.process import git

RECORD = "goldpan.json"
_FORMAT = 1
_OTHER = "git's checksum differs"
_TEXTS = ("HEAD", "config")
"""Files of a clone that are kept as they are: they say where it is from and where it stands."""
_LOCAL = re.compile(rb"^\tsource = (folder|bundle)$", re.M)


_PACKED = (".pack", ".idx", ".rev")
_SHA1 = 20
_BYTES_AT_ONCE = 1 << 20


def object_files(clone: Path) -> list[Path]:
    """Return the packs of a clone with their indexes; `Remote.reach` has git write no others."""
    packs = sorted((clone / "objects" / "pack").glob("*"))
    return [path for path in packs if path.suffix in _PACKED]


@once_a_change
def is_damaged(path: Path) -> bool:
    """Tell whether a file does not match the checksum at its end."""
    digest = hashlib.sha1(usedforsecurity=False)
    remaining = path.stat().st_size - _SHA1
    with path.open("rb") as file:
        while remaining > 0 and (block := file.read(min(remaining, _BYTES_AT_ONCE))):
            digest.update(block)
            remaining -= len(block)
        return remaining != 0 or file.read() != digest.digest()


@dataclass(frozen=True, slots=True)
class RefFlaw:
    """A file of a clone that is not as `goldpan clone` left it."""

    path: Path
    reason: str


def read_refs(path: Path) -> dict[str, str]:
    """Return where each ref of a clone leads, by its whole name."""
    output = git(
        "for-each-ref", "--format=%(objectname) %(refname)", clone=path, subject=str(path)
    ).decode("utf-8", "surrogateescape")
    return {
        name: value
        for value, _, name in (line.partition(" ") for line in output.split("\n") if line)
    }


def write_refs_record(clone: Path) -> None:
    """Record where all refs lead, and the clone's own settings."""
    plain = {
        "format": _FORMAT,
        "files": {name: (clone / name).read_text("utf-8") for name in _TEXTS},
        # No ref's name holds a backslash, so no two are written alike.
        "refs": {_plain(name): value for name, value in read_refs(clone).items()},
    }
    write_whole(clone / RECORD, sealed_json(plain))


def find_ref_flaws(clone: Path) -> list[RefFlaw]:
    """Return what of a clone is not as its record has it, the record first."""
    try:
        record = read_json(clone / RECORD)
        files, recorded = dict(record["files"]), dict(record["refs"])
    except FileNotFoundError:
        return [RefFlaw(clone / RECORD, "the record of its refs is gone")]
    except (DamagedError, orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        return [RefFlaw(clone / RECORD, "the record of its refs was changed after it was written")]
    changed = [name for name, text in files.items() if _content(clone / name) != text.encode()]
    if changed:  # git may not even read it
        return [RefFlaw(clone / name, "it is not what the clone's record says") for name in changed]
    loose = {
        _plain(str(path.relative_to(clone))): _content(path)
        for path in (clone / "refs").rglob("*")
        if path.is_file()
    }
    # What git reads of a file may be the same in spite of a wrong byte.
    names = {name for name, text in loose.items() if text != f"{recorded.get(name)}\n".encode()}
    try:
        present = {_plain(name): value for name, value in read_refs(clone).items()}
    except GitError as error:
        if not names:
            return [RefFlaw(clone / "refs", error.problem)]
        present = recorded
    names |= {name for name in {*recorded, *present} if recorded.get(name) != present.get(name)}
    return [
        RefFlaw(clone / name, f"the clone's record says {recorded.get(name, 'nothing of it')}")
        for name in sorted(names)
    ]


def verify_clone(clone: Path) -> None:
    """Raise `GitError` where packs, refs or settings are not as git and Goldpan wrote them.

    A folder that is no clone is left to its reader.
    """
    flaws = [RefFlaw(path, _OTHER) for path in object_files(clone) if is_damaged(path)]
    flaws += find_ref_flaws(clone) if clone.is_dir() else []
    if flaws:
        more = f", and {len(flaws) - 1:,} more" if len(flaws) > 1 else ""
        raise GitError(f"{flaws[0].path} was changed: {flaws[0].reason}{more}", remedy(clone))


def remedy(clone: Path) -> str:
    """Return the command that sets a damaged clone aside and clones anew."""
    again = f"goldpan clone --repo {clone.parent.name}/{clone.stem}"
    local = _LOCAL.search(_content(clone / "config") or b"")
    again += f" --source {local[1].decode().upper()}" if local else ""
    return f"Run {again}, which sets it aside and clones anew"


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _plain(name: str) -> str:
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit, and what GitHub says of its repository."""

    repo: str
    clone: Path
    id: str
    at: datetime
    """When it was committed."""
    license: str | None
    """Null where the repository was not mined."""


def cloned_repositories(workspace: WorkspaceLayout, named: Sequence[str]) -> list[str]:
    """Return these repositories, else all of which the workspace has a clone.

    Each comes once, in lower case and in order, however they are named. Raises `UsageError`
    where there is none.
    """
    clones = (workspace.root / "git").glob("*/*.git")
    cloned = sorted(f"{path.parent.name}/{path.stem}" for path in clones)
    names = sorted({name.lower() for name in named}) or cloned
    if not names:
        raise UsageError(
            f"{workspace.root} holds no history of code",
            "Run goldpan mine and goldpan clone, each with --repo OWNER/NAME",
        )
    return names


def find_commits(
    workspace: WorkspaceLayout, repos: Sequence[str], revision: str | None
) -> list[Commit]:
    """Return the commit of each repository; raises `UsageError` for a revision of several."""
    if revision is not None and len(repos) != 1:
        raise UsageError("--revision applies to one repository", "Give exactly one --repo")
    return [find_commit(workspace, repo, revision) for repo in repos]


def find_commit(workspace: WorkspaceLayout, repo: str, revision: str | None) -> Commit:
    """Return the commit that a revision names, else that of the default branch as cloned.

    Raises `GitError` where there is no clone, and `UsageError` where there is no such commit
    or it bears no date.
    """
    clone = workspace.clone(repo)
    if not clone.is_dir():
        raise GitError(f"There is no history in {clone}", f"Run goldpan clone --repo {repo}")
    name = f"{revision or 'HEAD'}^{{commit}}"
    try:
        output = git(
            "rev-parse", "--verify", "--quiet", "--end-of-options", name, clone=clone, subject=repo
        )
    except GitError:
        raise UsageError(
            f"{repo} has no commit {revision!r}" if revision else f"{repo} has no default branch",
            "Give --revision a commit, a branch or a tag of the clone",
        ) from None
    commit = output.decode().strip()
    seconds = git("show", "--no-patch", "--format=%ct", commit, clone=clone, subject=repo)
    try:
        at = datetime.fromtimestamp(int(seconds), UTC)
    except (ValueError, OverflowError):
        raise UsageError(
            f"Commit {commit} of {repo} has an invalid date", "Give another --revision"
        ) from None
    facts = _mined_facts(workspace, repo)
    return Commit(str(facts.get("repo") or repo), clone, commit, at, facts.get("license"))


def _mined_facts(workspace: WorkspaceLayout, repo: str) -> dict[str, str | None]:
    """Return the repository's name as GitHub writes it, and its license, where it was mined."""
    path = workspace.table(repo, "repositories")
    if not path.exists():
        return {}
    with reading(path, "Rebuild it with goldpan normalize"):
        rows = read_table(path, columns=["repo", "license"]).to_pylist()
    return dict(rows[0]) if rows else {}

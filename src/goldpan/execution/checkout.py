"""Lays out the files of a commit, and applies patches to them, without a repository around them.

Files come as git stores them: no attribute, filter or hook of the repository takes part. Without
`.git`, what runs there learns nothing of the fix.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from posixpath import normpath
from urllib.parse import urlsplit

from packaging.version import InvalidVersion, Version

from goldpan.core.errors import GitError, UsageError
from goldpan.core.settings.config import repository_name
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.git.process import environment, git

_LAST_SECOND = int(datetime(9999, 12, 31, tzinfo=UTC).timestamp())
_RELEASE = re.compile(r"\d{1,9}(?:\.\d{1,9}){0,9}")
_NO_ATTRIBUTES = "* -text -eol -ident -filter -working-tree-encoding\n"


def check_out(clone: Path, commit: str, directory: Path, index: Path) -> None:
    """Write the files of a commit into a directory, and what they look like into `index`.

    With the index of an earlier call, only the files that changed since are written again, which
    undoes what building did to them. Raises `GitError` where the commit or one of its files is not
    in the clone.
    """
    with tempfile.TemporaryDirectory(prefix="goldpan-") as scratch:
        variables = {
            **environment(clone=clone),
            "GIT_DIR": str(_plain_repository(Path(scratch, "git"))),
            "GIT_OBJECT_DIRECTORY": str(clone.absolute() / "objects"),
            "GIT_WORK_TREE": str(directory),
            "GIT_INDEX_FILE": str(index),
        }
        tree = ("read-tree", "--end-of-options", f"{commit}^{{tree}}")
        files = ("checkout-index", "--all", "--force", "--index")
        for arguments in (files,) if index.exists() else (tree, files):
            process = subprocess.run(  # noqa: S603 - git with our own arguments
                ["git", *arguments],  # noqa: S607
                env=variables,
                cwd=directory,
                capture_output=True,
                check=False,
            )
            if process.returncode:
                raise GitError(
                    f"Commit {commit[:12]} cannot be checked out: "
                    f"{process.stderr.decode('utf-8', 'replace').strip()[:200]}",
                    "Run goldpan clone again, with --whole to get all files",
                )


def _plain_repository(path: Path) -> Path:
    """Make an empty repository in which no attribute of a work tree changes a file."""
    for name in ("objects", "refs", "info"):
        (path / name).mkdir(parents=True)
    (path / "HEAD").write_text("ref: refs/heads/none\n", encoding="utf-8")
    (path / "info" / "attributes").write_text(_NO_ATTRIBUTES, encoding="utf-8")
    return path


def committed_at(clone: Path, commit: str) -> str:
    """Return when a commit was made, as ISO 8601 in UTC; the nearest year where it has none."""
    seconds = git(
        "show", "--no-patch", "--format=%ct", "--end-of-options", commit,
        clone=clone,
        subject=commit,
    )  # fmt: skip
    moment = datetime.fromtimestamp(min(max(int(seconds), 0), _LAST_SECOND), UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def nearest_version(clone: Path, commit: str) -> str:
    """Return the version of the newest tag that a commit descends from; 0.0 for none."""
    try:
        output = git(
            "describe", "--tags", "--abbrev=0", "--match", "*[0-9]*", "--end-of-options", commit,
            clone=clone,
            subject=commit,
        )  # fmt: skip
    except GitError:
        return "0.0"
    version = output.decode("utf-8", "replace").strip().lstrip("abcdefghijklmnopqrstuvwxyzV-_/")
    with suppress(InvalidVersion):
        Version(version)
        return version
    release = _RELEASE.match(version)  # of a tag that no installer takes for a version
    return release[0] if release else "0.0"


def leaves(directory: Path, path: str) -> bool:
    """Return whether a path leads out of a directory, even through a link of foreign code."""
    root = directory.resolve()
    try:
        parent = (root / path).parent.resolve()
    except (OSError, RuntimeError, ValueError):
        return True
    return not parent.is_relative_to(root) or (root / path).name in ("", "..")


def make_accessible(directory: Path) -> None:
    """Let us read and remove all below a directory, whose modes foreign code may have changed."""
    subprocess.run(  # noqa: S603 - chmod with our own arguments
        ["chmod", "--recursive", "u+rwX", "--", os.fspath(directory)],  # noqa: S607
        capture_output=True,
        check=False,
    )


@contextmanager
def copied_tree(source: Path, target: Path) -> Iterator[Path]:
    """Give a copy of a directory with its links and times, sharing blocks where the disk can.

    Raises `OSError` where the disk has no room.
    """
    process = subprocess.run(  # noqa: S603 - cp with our own arguments
        ["cp", "--archive", "--reflink=auto", "--", os.fspath(source), os.fspath(target)],  # noqa: S607
        env=environment(),
        check=False,
        capture_output=True,
    )
    if process.returncode:
        problem = process.stderr.decode("utf-8", "replace").strip()[-200:]
        full = "No space left" in problem
        raise OSError(errno.ENOSPC if full else errno.EIO, problem, str(target))
    try:
        yield target
    finally:
        make_accessible(target)
        shutil.rmtree(target, ignore_errors=True)


_SUBMODULE = re.compile(rb"160000 commit ([0-9a-f]{40})\t(.*)", re.DOTALL)
_SCP = re.compile(r"(?:[\w.-]+@)?[\w.-]+:(?!//)(.+)")


@dataclass(frozen=True, slots=True)
class Submodule:
    """A folder of a commit whose files are another repository's."""

    path: str
    repo: str
    """OWNER/NAME, as its address ends; empty where that names no such repository."""
    commit: str


def submodules(clone: Path, repo: str, commit: str) -> tuple[Submodule, ...]:
    """Return the submodules of a commit, by path; raises `GitError` where it is not there."""
    tree = git(
        "ls-tree", "-r", "-z", "--end-of-options", commit, clone=clone, subject=commit
    )  # fmt: skip
    links = {
        match[2].decode("utf-8", "surrogateescape"): match[1].decode()
        for entry in tree.split(b"\0")
        if (match := _SUBMODULE.fullmatch(entry))
    }
    if not links:
        return ()
    addresses = dict(_addresses(clone, commit))
    return tuple(
        Submodule(path, _repository(addresses.get(path, ""), repo), links[path])
        for path in sorted(links)
    )


def lay_out_submodules(
    workspace: WorkspaceLayout, listed: tuple[Submodule, ...], directory: Path, scratch: Path
) -> tuple[str, ...]:
    """Write the files of submodules, and return the paths of those that no clone here has."""
    missing = []
    for number, submodule in enumerate(listed):
        clone = workspace.clone(submodule.repo) if submodule.repo else None
        target = directory / submodule.path
        if clone is None or not clone.exists() or leaves(directory, submodule.path):
            missing.append(submodule.path)
            continue
        target.mkdir(parents=True, exist_ok=True)
        try:
            check_out(clone, submodule.commit, target, scratch / f"index-{number}")
        except GitError:
            missing.append(submodule.path)
    return tuple(missing)


def _addresses(clone: Path, commit: str) -> Iterator[tuple[str, str]]:
    """Yield the path and address of each submodule that `.gitmodules` declares."""
    try:
        output = git(
            "config", "--null", "--blob", f"{commit}:.gitmodules",
            "--get-regexp", r"^submodule\..*\.(path|url)$",
            clone=clone,
            subject=commit,
        )  # fmt: skip
    except GitError:
        return
    values: dict[str, dict[str, str]] = {}
    for entry in output.decode("utf-8", "surrogateescape").split("\0"):
        key, _, value = entry.partition("\n")
        name, _, field = key.rpartition(".")
        values.setdefault(name, {})[field] = value
    for fields in values.values():
        if "path" in fields and "url" in fields:
            yield fields["path"], fields["url"]


def _repository(address: str, repo: str) -> str:
    """Return OWNER/NAME of an address; one that is relative starts at the repository's own."""
    if address.startswith(("./", "../")):
        path = normpath(f"{repo}/{address}")
    else:
        scp = _SCP.fullmatch(address)
        path = scp[1] if scp else urlsplit(address).path
    try:
        return repository_name(path.strip("/").removesuffix(".git"))
    except UsageError:
        return ""

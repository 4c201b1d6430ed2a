"""Lays out the submodules of a commit, from clones that the workspace has of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from goldpan.core.config import repository_name
from goldpan.core.errors import GitError, UsageError
from goldpan.core.workspace import Workspace
from goldpan.execution.checkout import check_out, leaves
from goldpan.git.process import git

_LINK = re.compile(rb"160000 commit ([0-9a-f]{40})\t(.*)", re.DOTALL)
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
        if (match := _LINK.fullmatch(entry))
    }
    if not links:
        return ()
    addresses = dict(_addresses(clone, commit))
    return tuple(
        Submodule(path, _repository(addresses.get(path, ""), repo), links[path])
        for path in sorted(links)
    )


def lay_out_submodules(
    workspace: Workspace, listed: tuple[Submodule, ...], directory: Path, scratch: Path
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
        parts = repo.split("/")
        for step in address.split("/"):
            if step == "..":
                parts = parts[:-1]
            elif step not in ("", "."):
                parts.append(step)
        path = "/".join(parts)
    else:
        scp = _SCP.fullmatch(address)
        path = scp[1] if scp else urlsplit(address).path
    try:
        return repository_name(path.strip("/").removesuffix(".git"))
    except UsageError:
        return ""

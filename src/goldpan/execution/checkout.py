"""Lays out the files of a commit, and applies patches to them, without a repository around them.

Files come as git stores them: no attribute, filter or hook of the repository takes part. Without
`.git`, what runs there learns nothing of the fix.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from goldpan.core.errors import GitError
from goldpan.git.process import NOWHERE, environment, git


def check_out(clone: Path, commit: str, directory: Path) -> None:
    """Write the files of a commit into an empty directory.

    Raises `GitError` where the commit or one of its files is not in the clone.
    """
    with tempfile.TemporaryDirectory(prefix="goldpan-") as scratch:
        variables = {
            **environment(NOWHERE, clone),
            "GIT_DIR": str(clone),
            "GIT_WORK_TREE": str(directory),
            "GIT_INDEX_FILE": str(Path(scratch, "index")),
        }
        for arguments in (("read-tree", commit), ("checkout-index", "--all", "--force")):
            ended = subprocess.run(  # noqa: S603 - git with our own arguments
                ["git", *arguments],  # noqa: S607
                env=variables,
                cwd=directory,
                capture_output=True,
                check=False,
            )
            if ended.returncode:
                raise GitError(
                    f"Commit {commit[:12]} cannot be checked out: "
                    f"{ended.stderr.decode('utf-8', 'replace').strip()[:200]}",
                    "Run goldpan clone again, with --whole to get all files",
                )


def applies(directory: Path, patch: str) -> bool:
    """Apply a git diff to files; say whether it applied, as a whole or not at all."""
    if not patch:
        return True
    variables = {
        **environment(NOWHERE),
        # A repository further up would take the paths for its own.
        "GIT_CEILING_DIRECTORIES": str(directory.resolve().parent),
    }
    ended = subprocess.run(
        ["git", "apply", "--whitespace=nowarn", "-"],  # noqa: S607
        input=patch.encode("utf-8", "surrogateescape"),
        env=variables,
        cwd=directory,
        capture_output=True,
        check=False,
    )
    return ended.returncode == 0


def committed_at(clone: Path, commit: str) -> str:
    """Return when a commit was made, as ISO 8601 in UTC."""
    told = git(
        "show", "--no-patch", "--format=%cd", "--date=format-local:%Y-%m-%dT%H:%M:%SZ", commit,
        clone=clone,
        subject=commit,
    )  # fmt: skip
    return told.decode().strip()


def nearest_version(clone: Path, commit: str) -> str:
    """Return the version of the newest tag that a commit descends from; 0.0 for none."""
    try:
        told = git(
            "describe", "--tags", "--abbrev=0", "--match", "*[0-9]*", commit,
            clone=clone,
            subject=commit,
        )  # fmt: skip
    except GitError:
        return "0.0"
    digits = told.decode("utf-8", "replace").strip().lstrip("abcdefghijklmnopqrstuvwxyzV-_/")
    return digits if digits[:1].isdigit() else "0.0"


def copy_tree(source: Path, target: Path) -> None:
    """Copy a directory with its links and times, sharing blocks where the disk can."""
    subprocess.run(  # noqa: S603 - cp with our own arguments
        ["cp", "--archive", "--reflink=auto", "--", os.fspath(source), os.fspath(target)],  # noqa: S607
        check=True,
        capture_output=True,
    )

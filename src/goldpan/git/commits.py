"""The commits whose files are read, one a repository."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa

from goldpan.core.errors import GitError, UsageError, WorkspaceError
from goldpan.core.parquet import read_table
from goldpan.core.workspace import Workspace
from goldpan.git.process import git


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


def cloned_repositories(workspace: Workspace, named: Sequence[str]) -> list[str]:
    """Return these repositories, else all of which the workspace has a clone.

    Raises `UsageError` where there is none.
    """
    clones = (workspace.root / "git").glob("*/*.git")
    names = list(named) or sorted(f"{path.parent.name}/{path.stem}" for path in clones)
    if not names:
        raise UsageError(
            f"{workspace.root} holds no history of code",
            "Run goldpan mine and goldpan clone, each with --repo OWNER/NAME",
        )
    return names


def find_commits(workspace: Workspace, repos: Sequence[str], revision: str | None) -> list[Commit]:
    """Return the commit of each repository; raises `UsageError` for a revision of several."""
    if revision is not None and len(repos) != 1:
        raise UsageError("--revision applies to one repository", "Give exactly one --repo")
    return [find_commit(workspace, repo, revision) for repo in repos]


def find_commit(workspace: Workspace, repo: str, revision: str | None) -> Commit:
    """Return the commit that a revision names, else that of the default branch as cloned.

    Raises `GitError` where there is no clone, and `UsageError` where there is no such commit.
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
    facts = _mined_facts(workspace, repo)
    return Commit(
        str(facts.get("repo") or repo),
        clone,
        commit,
        datetime.fromtimestamp(int(seconds), UTC),
        facts.get("license"),
    )


def _mined_facts(workspace: Workspace, repo: str) -> dict[str, str | None]:
    """Return the repository's name as GitHub writes it, and its license, where it was mined."""
    path = workspace.table(repo, "repositories")
    if not path.exists():
        return {}
    try:
        rows = read_table(path, columns=["repo", "license"]).to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise WorkspaceError(
            f"{path} cannot be read ({str(error).splitlines()[0]})",
            "Rebuild it with goldpan normalize",
        ) from None
    return dict(rows[0]) if rows else {}

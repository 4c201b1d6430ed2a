"""Reads stored verdicts, and knows whether they still hold."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import pyarrow as pa

from goldpan.core.errors import WorkspaceError
from goldpan.core.parquet import read_metadata, read_table
from goldpan.core.sealed import file_digest, verify_parquet
from goldpan.core.workspace import Workspace
from goldpan.filters.basis import filtered_by
from goldpan.filters.catalogue import criteria
from goldpan.filters.profile import Profile

INPUTS_KEY = b"goldpan.inputs"
"""The key in the file's metadata under which the digest of the tables stands."""

_INPUTS = (
    "repositories",
    "entries",
    "comments",
    "references",
    "files",
    "pairs",
    "revisions",
    "changes",
)


def read_verdicts(
    workspace: Workspace, repo: str, profile: str, columns: Sequence[str] | None = None
) -> pa.Table:
    """Return a repository's verdicts under a profile, or some of their columns.

    Raises `WorkspaceError` where there are none or their file is damaged.
    """
    path = workspace.verdicts(repo, profile)
    if not path.exists():
        others = " and ".join(filtered_by(workspace, repo))
        raise WorkspaceError(
            f"{repo} was not filtered by the profile {profile}"
            + (f", only by {others}" if others else ""),
            f"Run {_command(workspace, repo, profile)}",
        )
    try:
        return read_table(path, columns)
    except (OSError, pa.ArrowException) as error:
        raise WorkspaceError(
            f"{path} cannot be read ({str(error).splitlines()[0]})",
            f"Remove it and run {_command(workspace, repo, profile)}",
        ) from error


def profile_verdicts(
    workspace: Workspace, repo: str, profile: Profile, columns: Sequence[str] | None = None
) -> pa.Table:
    """Return a repository's verdicts, of which the same criteria decide as in the profile.

    Of some `columns`, `criterion` and `decides` have to be two. Raises `WorkspaceError` where there
    are none, or others decided when they were made.
    """
    verdicts = read_verdicts(workspace, repo, profile.name, columns)
    decided = set(verdicts.filter(verdicts["decides"])["criterion"].unique().to_pylist())
    others = set(verdicts["criterion"].unique().to_pylist()) - decided
    if not decided <= set(profile.decide) or others & set(profile.decide):
        raise WorkspaceError(
            f"The profile {profile.name} changed since {repo} was filtered",
            f"Run {_command(workspace, repo, profile.name)} again",
        )
    return verdicts


def current_verdicts(workspace: Workspace, repo: str, profile: Profile) -> pa.Table:
    """Return a repository's verdicts, made of today's tables with today's settings.

    Raises `WorkspaceError` where they are older than the tables or the profile.
    """
    verdicts = profile_verdicts(workspace, repo, profile)
    metadata = read_metadata(workspace.verdicts(repo, profile.name))
    remedy = f"Run {_command(workspace, repo, profile.name)} again"
    if metadata.get(INPUTS_KEY) != inputs_digest(workspace, repo).encode():
        raise WorkspaceError(f"The tables of {repo} changed since they were filtered", remedy)
    stored = verdicts.group_by(["criterion", "settings"]).aggregate([]).to_pylist()
    for row in stored:
        criterion = criteria().get(row["criterion"])
        if criterion is None:
            raise WorkspaceError(
                f"{repo} was filtered with the criterion {row['criterion']}, which is not known",
                "Give the --plugin that brings it, or run goldpan filter again without it",
            )
        if profile.digest(criterion) != row["settings"]:
            raise WorkspaceError(
                f"The criterion {row['criterion']} changed since {repo} was filtered", remedy
            )
    return verdicts


def _command(workspace: Workspace, repo: str, profile: str) -> str:
    rules = workspace.rules_of(repo)
    command = f"goldpan filter --repo {repo} --profile {profile}"
    return command if rules is None else f"{command} --rules {rules}"


def inputs_digest(workspace: Workspace, repo: str) -> str:
    """Return a hash of all tables that criteria read.

    Raises `DamagedError` for one that is not as it was written.
    """
    whole = hashlib.sha256()
    for name in _INPUTS:
        path = workspace.table(repo, name)
        whole.update(name.encode())
        if path.exists():
            whole.update(bytes.fromhex(file_digest(verify_parquet(path))))
    return whole.hexdigest()

"""Reads stored verdicts and the profiles behind them, and checks that they are up to date."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa

from goldpan.core.errors import WorkspaceError
from goldpan.core.plugins.loading import digests
from goldpan.core.result import json_data
from goldpan.core.storage.parquet import count_rows, read_metadata, read_table, reading
from goldpan.core.storage.sealed import file_digest, verify_parquet
from goldpan.core.storage.workspace import DEFAULT_RULES, WorkspaceLayout
from goldpan.filters.basis import filtered_by
from goldpan.filters.profile import (
    PROFILES,
    Profile,
    change_settings,
    criteria,
    load_profile,
    profile_name,
    profile_of,
    shipped_profiles,
)

INPUTS_KEY = b"goldpan.inputs"
"""The key in the file's metadata under which the digest of the tables stands."""
PROFILE_KEY = b"goldpan.profile"
"""The key under which stands the profile, and which criteria judged."""

_INPUTS = (
    *("repositories", "entries", "comments", "commits", "events", "references", "files"),
    *("pairs", "revisions", "changes"),
)
_OF_DISCUSSIONS = ("discussions", "discussion_comments")
"""Tables that count where they have rows: most repositories are mined without."""


def find_profile(
    workspace: WorkspaceLayout,
    repos: Sequence[str],
    name: str,
    settings: Mapping[str, Any] | None = None,
) -> Profile:
    """Return a profile by the path of its file, or by its name: a shipped or a stored one.

    `settings` of criteria, by ``CRITERION.KEY``, take the place of its own. Raises `UsageError` as
    `load_profile` does.
    """
    label = profile_name(name)
    paths = [path for repo in repos for path in _verdict_files(workspace, repo)]
    own = [path for path in paths if path.stem == label]
    own.sort(key=lambda path: path.parent.name != workspace.rules)
    stored = next(filter(None, map(read_stored_profile, own)), None)
    if name.endswith(".toml") or name in shipped_profiles():
        profile = load_profile(name)
    elif stored:
        profile = profile_of(stored)
    else:
        stored_names = sorted(path.stem for path in paths)
        raise PROFILES.unknown(name, dict.fromkeys([*shipped_profiles(), *stored_names]))
    return change_settings(profile, settings) if settings else profile


def _verdict_files(workspace: WorkspaceLayout, repo: str) -> list[Path]:
    """Return the files of a repository's verdicts by filters, of all rules."""
    folder = workspace.root / "verdicts" / repo.lower()
    return [path for path in sorted(folder.glob("*/*.parquet")) if "." not in path.stem]


def read_stored_profile(path: Path) -> dict[str, Any]:
    """Return the profile behind verdicts, what it judged by, and which plugins that needs.

    Empty where that is not stored.
    """
    try:
        text = read_metadata(path).get(PROFILE_KEY) if path.exists() else None
    except (OSError, pa.ArrowException):  # the damage is reported where the verdicts are read
        text = None
    return dict(orjson.loads(text)) if text else {}


def stored_profile(profile: Profile, judged: Sequence[str]) -> bytes:
    """Return the record of a profile that is stored with verdicts by these criteria."""
    record = {
        **json_data(profile),
        "judged": judged,
        "plugins": digests(*(("criterion", name) for name in judged)),
    }
    return orjson.dumps(record, option=orjson.OPT_SORT_KEYS)


def read_verdicts(
    workspace: WorkspaceLayout, repo: str, profile: str, *, option: str = ""
) -> pa.Table:
    """Return a repository's verdicts under a profile.

    `option` has the command's option for the profile, where that is not its name. Raises
    `WorkspaceError` where there are none or their file is damaged.
    """
    path = workspace.verdicts(repo, profile)
    again = _command(workspace, repo, option or f"--profile {profile}")
    if not path.exists():
        repos = workspace.repositories("tables")
        if sum(not workspace.verdicts(one, profile).exists() for one in repos) > 1:
            again = again.replace(f" --repo {repo}", "")
        others = filtered_by(workspace, repo)
        raise WorkspaceError(
            f"{repo} was not filtered by the profile {profile}"
            + (f", only by {' and '.join(others)}" if others else ""),
            (f"Add --profile {' or --profile '.join(others)}, or r" if others else "R")
            + f"un {again}",
        )
    with reading(path, f"Remove it and run {again}"):
        return read_table(path)


def profile_verdicts(workspace: WorkspaceLayout, repo: str, profile: Profile) -> pa.Table:
    """Return a repository's verdicts, in which the same criteria decide as in the profile.

    Raises `WorkspaceError` where there are no verdicts, or other criteria decided then.
    """
    verdicts = read_verdicts(workspace, repo, profile.name, option=profile.option)
    decided = set(verdicts.filter(verdicts["decides"])["criterion"].unique().to_pylist())
    others = set(verdicts["criterion"].unique().to_pylist()) - decided
    stored = read_stored_profile(workspace.verdicts(repo, profile.name))
    lacking = set(profile.decide) - set(stored["judged"]) if stored else set()
    if not decided <= set(profile.decide) or others & set(profile.decide) or lacking:
        raise WorkspaceError(
            f"The profile {profile.name} changed since {repo} was filtered",
            f"Run {_command(workspace, repo, profile.option)} again",
        )
    return verdicts


def current_verdicts(workspace: WorkspaceLayout, repo: str, profile: Profile) -> pa.Table:
    """Return a repository's verdicts, which are up to date with its tables and settings.

    Those of a criterion that is not known here, as of a plugin that is not loaded, are taken as
    stored. Raises `WorkspaceError` where they are older than the tables or the profile.
    """
    verdicts = profile_verdicts(workspace, repo, profile)
    metadata = read_metadata(workspace.verdicts(repo, profile.name))
    known = criteria()
    remedy = f"Run {_command(workspace, repo, profile.option)} again"
    if metadata.get(INPUTS_KEY) != inputs_digest(workspace, repo).encode():
        raise WorkspaceError(f"The tables of {repo} changed since they were filtered", remedy)
    stored = verdicts.group_by(["criterion", "settings"]).aggregate([]).to_pylist()
    for row in stored:
        name = row["criterion"]
        if name in known and profile.digest(name) != row["settings"]:
            raise WorkspaceError(f"The criterion {name} changed since {repo} was filtered", remedy)
    return verdicts


def _command(workspace: WorkspaceLayout, repo: str, option: str) -> str:
    rules = workspace.rules_of(repo)
    by = "" if rules in (None, DEFAULT_RULES) else f" --rules {rules}"
    return f"goldpan filter --repo {repo} {option}{by}"


def inputs_digest(workspace: WorkspaceLayout, repo: str) -> str:
    """Return a hash of all tables that criteria read; raises `DamagedError` for a damaged one."""
    whole = hashlib.sha256()
    for name in _INPUTS:
        path = workspace.table(repo, name)
        whole.update(name.encode())
        if path.exists():
            whole.update(bytes.fromhex(file_digest(verify_parquet(path))))
    for name in _OF_DISCUSSIONS:
        path = workspace.table(repo, name)
        if path.exists() and count_rows(path):
            whole.update(name.encode() + bytes.fromhex(file_digest(verify_parquet(path))))
    return whole.hexdigest()

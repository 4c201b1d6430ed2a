"""A repository's metadata as of mining time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from goldpan.core.errors import ServerError
from goldpan.miners.journal_state import JournalState
from goldpan.miners.replies import parse_json

STATED = "stated by the user"
MINED = "mined"
"""The value that withdraws a stated license: the one that was mined counts again."""


@dataclass(frozen=True, slots=True)
class Facts:
    """A repository's canonical name, the hosts its links may name, and its table row."""

    repo: str
    hosts: tuple[str, ...]
    row: dict[str, Any]
    former: Mapping[str, str]
    """Names that the repository had, each with the one that it has now; case does not count."""


def link_hosts(host: str) -> tuple[str, ...]:
    """Return the hosts that links in texts may name, given the repository's."""
    return tuple(dict.fromkeys((host, "github.com")))


def read_facts(state: JournalState) -> Facts | None:
    """Read the newest facts of a repository; None where there are none."""
    newest = state.repository
    if newest is None:
        return None
    plans = {begin.run: begin.meta["plan"] for begin in state.begins}
    plan = plans.get(newest.run, {"host": "github.com", "via": ""})
    row = facts_row(parse_json(newest.read()))
    if state.stated_license not in (None, MINED):
        row |= {"license": state.stated_license, "license_source": STATED}
    elif row["license"] is not None:
        row["license_source"] = "backup" if plan["via"] == "backup" else "GitHub"
    repo = str(row["repo"])
    spellings = {old.lower(): old for old in sorted(state.former) if old.lower() != repo.lower()}
    spelling_of = dict.fromkeys(sorted(spellings.values()), repo)
    return Facts(repo, link_hosts(plan["host"]), row, spelling_of)


def facts_row(data: Any) -> dict[str, Any]:
    """Return the row of `repositories` that a GraphQL or REST reply holds.

    Raises `ServerError` for a reply that holds none, as of a server that is no GitHub.
    """
    try:
        return _row(data)
    except (LookupError, TypeError, AttributeError) as error:
        raise ServerError(
            f"The facts of a repository came without what they hold at GitHub ({error!r})",
            "Check --api-url: GitHub's own is https://api.github.com",
        ) from None


def _row(data: Any) -> dict[str, Any]:
    if "data" not in data:
        repo, license = data["full_name"], (data.get("license") or {}).get("spdx_id")
        row = {column: data.get(name) for column, (_, name) in _COLUMNS.items()}
        return {**row, "repo": repo, "license": license}
    node = data["data"]["repository"]
    row = {column: node[name] for column, (name, _) in _COLUMNS.items()}
    for column, name in (("default_branch", "name"), ("language", "name"), ("license", "spdxId")):
        row[column] = row[column][name] if row[column] else None
    return row


_COLUMNS = {
    "repo": ("nameWithOwner", "full_name"),
    "description": ("description", "description"),
    "default_branch": ("defaultBranchRef", "default_branch"),
    "language": ("primaryLanguage", "language"),
    "license": ("licenseInfo", "license"),
    "stars": ("stargazerCount", "stargazers_count"),
    "forks": ("forkCount", "forks_count"),
    "is_fork": ("isFork", "fork"),
    "is_archived": ("isArchived", "archived"),
    "is_private": ("isPrivate", "private"),
    "created_at": ("createdAt", "created_at"),
    "pushed_at": ("pushedAt", "pushed_at"),
}
"""Columns of `repositories`, each as GraphQL and REST call it."""

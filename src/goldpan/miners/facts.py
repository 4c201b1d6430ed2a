"""A repository's metadata as of mining time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from goldpan.core.errors import ServerError
from goldpan.core.storage.archive import Record
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


def stated_license(records: Iterable[Record]) -> str | None:
    """Return the license that the user stated last, or `MINED`; None where none ever was."""
    stated = [r.meta["license"] for r in records if r.meta["part"] == "license"]
    return str(stated[-1]) if stated else None


def read_facts(records: list[Record]) -> Facts | None:
    """Read the newest facts among a repository's records."""
    hosts: dict[int, str] = {}
    backups: set[int] = set()
    newest: Record | None = None
    former: dict[str, str] = {}
    stated = stated_license(records)
    for record in records:
        if record.meta["part"] == "begin":
            hosts[record.run] = record.meta["plan"]["host"]
            if record.meta["plan"]["via"] == "backup":
                backups.add(record.run)
        if record.meta["part"] == "repository":
            newest = record
        if record.meta["part"] == "former":
            former.update(record.meta["names"])
    if newest is None:
        return None
    row = facts_row(parse_json(newest.read()))
    if stated not in (None, MINED):
        row |= {"license": stated, "license_source": STATED}
    elif row["license"] is not None:
        row["license_source"] = "backup" if newest.run in backups else "GitHub"
    host = hosts.get(newest.run, "github.com")
    repo = str(row["repo"])
    spellings = {old.lower(): old for old in sorted(former) if old.lower() != repo.lower()}
    spelling_of = dict.fromkeys(sorted(spellings.values()), repo)
    return Facts(repo, link_hosts(host), row, spelling_of)


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

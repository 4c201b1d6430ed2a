"""What a repository said of itself at mining time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from goldpan.miners.archive import Record
from goldpan.miners.replies import parse_json


@dataclass(frozen=True, slots=True)
class Facts:
    """A repository's canonical name, the hosts its links may name, and its table row."""

    repo: str
    hosts: tuple[str, ...]
    row: dict[str, Any]


def read_facts(records: list[Record]) -> Facts | None:
    """Read the newest facts among a repository's records."""
    hosts: dict[int, str] = {}
    newest: Record | None = None
    for record in records:
        if record.meta["part"] == "begin":
            hosts[record.run] = record.meta["plan"]["host"]
        if record.meta["part"] == "repository":
            newest = record
    if newest is None:
        return None
    row = facts_row(parse_json(newest.read()))
    host = hosts.get(newest.run, "github.com")
    return Facts(row["repo"], tuple(dict.fromkeys((host, "github.com"))), row)


def facts_row(data: dict[str, Any]) -> dict[str, Any]:
    """Return the row of `repositories` that a GraphQL or REST reply holds."""
    if "data" in data:
        node = data["data"]["repository"]
        branch, language, licence = (
            node["defaultBranchRef"],
            node["primaryLanguage"],
            node["licenseInfo"],
        )
        return {
            "repo": node["nameWithOwner"],
            "description": node["description"],
            "default_branch": branch["name"] if branch else None,
            "language": language["name"] if language else None,
            "license": licence["spdxId"] if licence else None,
            "stars": node["stargazerCount"],
            "forks": node["forkCount"],
            "is_fork": node["isFork"],
            "is_archived": node["isArchived"],
            "is_private": node["isPrivate"],
            "created_at": node["createdAt"],
            "pushed_at": node["pushedAt"],
        }
    return {
        "repo": data["full_name"],
        "description": data.get("description"),
        "default_branch": data.get("default_branch"),
        "language": data.get("language"),
        "license": (data.get("license") or {}).get("spdx_id"),
        "stars": data.get("stargazers_count"),
        "forks": data.get("forks_count"),
        "is_fork": data.get("fork"),
        "is_archived": data.get("archived"),
        "is_private": data.get("private"),
        "created_at": data.get("created_at"),
        "pushed_at": data.get("pushed_at"),
    }

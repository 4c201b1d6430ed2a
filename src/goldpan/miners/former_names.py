"""Learns a repository's former names: texts and links keep naming it by them."""

from __future__ import annotations

from collections.abc import Sequence

from goldpan.core.query import open_tables
from goldpan.core.workspace import Workspace
from goldpan.miners.github.client import GitHub
from goldpan.miners.github.request import NoAnswerError
from goldpan.miners.journal import Journal
from goldpan.miners.replies import errors_of

_MOST_NAMES = 100
_CANDIDATES = """
SELECT name, count(*) AS uses FROM (
  SELECT target_repo AS name FROM refs UNION ALL SELECT repo FROM refs
) WHERE name LIKE '%_/_%' AND name NOT LIKE '%/%/%' AND lower(name) <> lower($repo)
  AND (split_part(lower(name), '/', 1) = split_part(lower($repo), '/', 1)
    OR split_part(lower(name), '/', 2) = split_part(lower($repo), '/', 2))
GROUP BY name ORDER BY uses DESC, name LIMIT $most
"""
_NOT_OURS = ("NOT_FOUND", "FORBIDDEN")
_WITHOUT_TOKEN = 5  # names that are asked for one by one, where 60 requests an hour are all


def candidate_names(workspace: Workspace, repo: str) -> list[str]:
    """Return other names that links use and that may once have been this repository's.

    They share its owner or its name with it; the most used ones come first.
    """
    with open_tables(workspace, repo, ("references",)) as connection:
        rows = connection.execute(_CANDIDATES, {"repo": repo, "most": _MOST_NAMES}).fetchall()
    return [str(name) for name, _ in rows]


async def ask_former_names(
    github: GitHub, journal: Journal, workspace: Workspace, repo: str
) -> bool:
    """Ask GitHub which other names that the texts use lead to this repository.

    Names are asked for once. Returns whether there are new ones, so that the tables change;
    raises `NoAnswerError` where GitHub did not tell.
    """
    asked = {
        name
        for record in journal.archive.records
        if record.meta["part"] == "former"
        for name in record.meta["asked"]
    }
    names = [name for name in candidate_names(workspace, repo) if name not in asked]
    if not any(token.secret for token in github.pool.tokens):
        names = names[:_WITHOUT_TOKEN]
    if not names:
        return False
    names_now = await (
        _by_graphql(github, names)
        if any(token.secret for token in github.pool.tokens)
        else _by_rest(github, names)
    )
    former = {old: new for old, new in names_now.items() if new.lower() == repo.lower()}
    journal.mark("former", [], asked=names, names=former)
    return bool(former)


async def _by_graphql(github: GitHub, names: Sequence[str]) -> dict[str, str]:
    variables: dict[str, object] = {}
    for index, name in enumerate(names):
        variables[f"o{index}"], variables[f"n{index}"] = name.split("/")
    declared = ", ".join(f"${name}: String!" for name in variables)
    aliases = "\n".join(
        f"  r{i}: repository(owner: $o{i}, name: $n{i}) {{ nameWithOwner }}"
        for i in range(len(names))
    )
    document = f"query FormerNames({declared}) {{\n{aliases}\n  rateLimit {{ cost }}\n}}"
    for left in reversed(range(github.retries)):  # what fails may pass
        try:
            reply = await github.graphql(document, variables)
        except NoAnswerError:
            if not left:
                raise
            continue
        if all(error.get("type") in _NOT_OURS for error in errors_of(reply.data)):
            break
    else:
        raise NoAnswerError("A query for former names", reply)
    data = reply.data["data"]
    return {
        name: data[f"r{index}"]["nameWithOwner"]
        for index, name in enumerate(names)
        if data.get(f"r{index}")
    }


async def _by_rest(github: GitHub, names: Sequence[str]) -> dict[str, str]:
    names_now: dict[str, str] = {}
    for name in names:
        reply = await github.get(f"/repos/{name}")
        if reply.status == 200 and isinstance(reply.data, dict):
            names_now[name] = str(reply.data.get("full_name", ""))
    return names_now

"""Who wrote something, told alike whichever API told it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from goldpan.miners.tables.columns import Unreadable


class Person(NamedTuple):
    """An account; all null for a deleted one ("ghost")."""

    login: Any
    id: Any
    type: Any


_GHOST = Person(None, None, None)
_RENAMED = {"Copilot[bot]": "copilot-swe-agent[bot]"}
"""Logins that REST spells in its own way."""


def actor(data: Any) -> Person:
    """Read a GraphQL actor."""
    return _person(data, "__typename", "databaseId")


def login_of(data: Any) -> Any:
    """Return a GraphQL actor's login."""
    return actor(data).login


def user(data: Any) -> Person:
    """Read a REST user."""
    if isinstance(data, dict) and data.get("login") in (None, "", "ghost"):
        return _GHOST
    return _person(data, "type", "id")


def _person(data: Any, kind_key: str, id_key: str) -> Person:
    if not data:
        return _GHOST
    if not isinstance(data, dict):
        return Person(Unreadable(data), None, None)
    login, kind, number = data.get("login"), data.get(kind_key) or "User", data.get(id_key)
    if not isinstance(login, str) or not isinstance(kind, str):
        return Person(Unreadable(login), number, Unreadable(kind))
    return (
        _account(login, kind, number)
        if isinstance(number, int)
        else _person_of(login, kind, number)
    )


def _person_of(login: str, kind: str, number: Any) -> Person:
    if kind == "Bot" and not login.endswith("[bot]"):
        login += "[bot]"
    return Person(_RENAMED.get(login, login), number, _snake(kind))


_account = lru_cache(maxsize=4_096, typed=True)(_person_of)
"""The same few people write most of a repository."""


@lru_cache(maxsize=64)
def _snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() and i else c.lower() for i, c in enumerate(name))

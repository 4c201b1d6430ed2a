"""Who wrote something, told alike whichever API told it."""

from __future__ import annotations

from typing import Any, NamedTuple


class Person(NamedTuple):
    """An account; all null for a deleted one ("ghost")."""

    login: str | None
    id: int | None
    type: str | None


_GHOST = Person(None, None, None)


def actor(data: dict[str, Any] | None) -> Person:
    """Read a GraphQL actor."""
    if not data:
        return _GHOST
    kind = str(data["__typename"])
    login = str(data["login"])
    if kind == "Bot" and not login.endswith("[bot]"):
        login += "[bot]"
    return Person(login, data.get("databaseId"), _snake(kind))


def user(data: dict[str, Any] | None) -> Person:
    """Read a REST user."""
    if not data or not data.get("login") or data["login"] == "ghost":
        return _GHOST
    login, kind = str(data["login"]), str(data.get("type") or "User")
    if kind == "Bot" and not login.endswith("[bot]"):
        login += "[bot]"
    return Person(login, data.get("id"), _snake(kind))


def _snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() and i else c.lower() for i, c in enumerate(name))

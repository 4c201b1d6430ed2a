"""Names annotators without naming them: pseudonyms by a keyed hash.

The key is a random salt in the workspace that is never published. A pseudonym is made of the
account's number and the moment at which it was made, so it stays when an annotator is renamed
and is the same in every project on that server.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from goldpan.annotation.studio.client import User
from goldpan.annotation.studio.project import Project
from goldpan.core.errors import WorkspaceError
from goldpan.core.workspace import write_whole

_LENGTH = 10


@dataclass(frozen=True, slots=True)
class Annotator:
    """An annotator as this project knows them."""

    annotator: str
    """The pseudonym."""
    called: str
    """A keyed hash of their address and names, to see that they changed."""


class People:
    """The annotators of one project, by their number on the server."""

    def __init__(self, project: Project) -> None:
        self._path = project.path("people.json")
        self._salt = _salt(project.root.parent / "salt")
        self._by_number: dict[int, Annotator] = {}
        self._addresses: dict[int, str] = {}
        self.renamed: list[str] = []
        """Pseudonyms of those whose address or name changed since the last pull."""
        if self._path.exists():
            stored = orjson.loads(self._path.read_bytes())
            self._by_number = {
                int(number): Annotator(**person) for number, person in stored.items()
            }

    def meet(self, users: Sequence[User]) -> None:
        """Take in who has an account now, and keep it."""
        for user in users:
            self._addresses[user.number] = user.address
            name_hash = self._hash(f"called {user.address.lower()} {user.name}")
            known = self._by_number.get(user.number)
            if known is None:
                pseudonym = self._hash(f"account {user.number} {user.joined}")
                self._by_number[user.number] = Annotator(pseudonym, name_hash)
            elif known.called != name_hash:
                self.renamed.append(known.annotator)
                self._by_number[user.number] = Annotator(known.annotator, name_hash)
        stored = {str(number): asdict(person) for number, person in sorted(self._by_number.items())}
        write_whole(self._path, orjson.dumps(stored, option=orjson.OPT_INDENT_2), private=True)

    def annotator(self, number: int | None, *, named: bool = False) -> str:
        """Return an annotator's pseudonym, or their address where names are wanted."""
        if number is None:
            return "unknown"
        if named and number in self._addresses:
            return self._addresses[number]
        if number in self._by_number:
            return self._by_number[number].annotator
        # An account that was removed before the first pull.
        return self._hash(f"account {number}")

    def _hash(self, text: str) -> str:
        return hmac.new(self._salt, text.encode(), hashlib.sha256).hexdigest()[:_LENGTH]


def _salt(path: Path) -> bytes:
    """Return the workspace's salt, made on first use and readable by its owner alone."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        salt = path.read_bytes()
        if len(salt) < 16:
            raise WorkspaceError(
                f"{path} is damaged", "Restore it, because pseudonyms change without it"
            ) from None
        return salt
    with os.fdopen(descriptor, "wb") as file:
        salt = secrets.token_bytes(32)
        file.write(salt)
    return salt

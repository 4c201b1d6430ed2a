"""The names that a backup's entries show: the repository's own, its former ones, and others'."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from goldpan.core.errors import UsageError
from goldpan.miners.backup_entries import BackupEntry, Tally
from goldpan.miners.backup_shapes import Place, base_repository, read_shape
from goldpan.miners.replies import parse_json


class Names:
    """Collects the names of entries that pass by.

    A name other than the repository's is a former one, unless GitHub's ids tell otherwise: those
    of the repositories that pull requests name, or those of entries that share a number.
    """

    def __init__(self, repo: str, host: str) -> None:
        self.repo = repo
        self.host = host
        self.examples = Tally()
        """Entries that show another name."""
        self._spelling: dict[str, str] = {}
        self._counts: Counter[str] = Counter()
        self._identities: defaultdict[str, set[int]] = defaultdict(set)
        self._entries: dict[int, tuple[str, int]] = {}
        self._unlike: defaultdict[str, set[str]] = defaultdict(set)
        self._newest: dict[str, BackupEntry] = {}  # pull requests that tell of their repository

    def own(self, entries: Iterator[BackupEntry]) -> Iterator[BackupEntry]:
        """Pass entries on; raises `UsageError` for one of another host."""
        for entry in entries:
            self._note(entry)
            yield entry

    def other(self, place: Place) -> str | None:
        """Return the name that an entry shows if it is not the repository's."""
        return place.repo if place.repo and place.repo.lower() != self.repo.lower() else None

    def former(self) -> list[str]:
        """Return the former names."""
        return sorted(self._spelling[name] for name in {*self._spelling} - self._strange())

    def strangers(self) -> list[str]:
        """Return the names of other repositories."""
        return sorted(self._spelling[name] for name in self._strange())

    def repository(self) -> dict[str, Any] | None:
        """Return what the newest pull request tells of the repository, under its name of now."""
        own = [self.repo.lower(), *sorted({*self._newest} - self._strange())]
        entry = next((self._newest[name] for name in own if name in self._newest), None)
        shaped = read_shape(parse_json(entry.body)) if entry else None
        repository = base_repository(shaped["pull"]) if shaped else None
        if repository is None or entry is None or self.other(entry.about.place) is None:
            return repository
        return {**repository, "full_name": self.repo}

    def _note(self, entry: BackupEntry) -> None:
        place, number = entry.about.place, entry.about.number
        if place.host not in (None, self.host):
            raise UsageError(
                f"{entry.location} is of {place.host}, and the entries before it of {self.host}",
                "Import the entries of each host into a workspace of its own",
            )
        name = (place.repo or self.repo).lower()
        if (other := self.other(place)) is not None:
            self._spelling.setdefault(name, other)
            self.examples.add(f"{entry.location} names {other}")
        self._counts[name] += 1
        if place.identity is not None:
            self._identities[name].add(place.identity)
        if entry.about.tells_repository:
            self._newest[name] = entry
        if entry.about.identity is not None:
            first, identity = self._entries.setdefault(number, (name, entry.about.identity))
            if first != name and identity != entry.about.identity:
                self._unlike[first].add(name)
                self._unlike[name].add(first)

    def _strange(self) -> set[str]:
        """Return the other names that are not the repository's, in lower case."""
        own = self.repo.lower()
        if own not in self._counts and self._spelling:  # renamed since: most entries name it
            own = max(sorted(self._spelling), key=self._counts.__getitem__)
        known = self._identities[own]
        return {
            name
            for name in self._spelling
            if name in self._unlike[own]
            or (known and self._identities[name] and known.isdisjoint(self._identities[name]))
        }

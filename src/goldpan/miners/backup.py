"""Mines a metadata backup on disk: issues and pull requests as REST gave them.

A backup is a file, or a folder of files, in one of the shapes that `backup_shapes` knows. The text
of each entry is archived as it is, so the tables come out of the same machinery as mined ones.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import orjson

from goldpan.core.errors import UsageError
from goldpan.core.locks import lock_repository
from goldpan.core.result import count
from goldpan.core.settings.config import PUBLIC_API, Settings, repository_name
from goldpan.core.storage.archive import Archive
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.miners.backup_entries import Backup, BackupEntry, Tally, list_files, read_entries
from goldpan.miners.backup_shapes import RIGHT_ONE, Place, base_repository, read_shape
from goldpan.miners.coverage import Coverage, measure_coverage
from goldpan.miners.journal import Journal
from goldpan.miners.journal_state import JournalState
from goldpan.miners.replies import HttpReply, Verdict, parse_json
from goldpan.miners.tables.normalize import normalize

_MB = 1_000_000


def mine_backup(
    settings: Settings, source: Path, repo: str, reporter: Reporter, *, license: str | None = None
) -> Coverage:
    """Take a backup into the workspace and make the tables.

    `license` is what the user states, whatever the backup says.
    Entries that are archived already, byte for byte, are passed over; so are files that hold
    none. The coverage lists entries that cannot be read as missing. Raises `UsageError` where
    there is no entry at all.
    """
    repo = repository_name(repo)
    workspace = WorkspaceLayout(settings.workspace)
    backup = list_files(source, repo)
    entries = read_entries(backup)
    first = next(entries, None)
    if first is None:
        raise _no_entry(source, backup, repo)
    names = Names(repo, _host(settings, first, source))
    with lock_repository(workspace, repo):
        found = chain((first,), entries)
        runs = _take(settings, workspace, found, names, backup, reporter, license)
    return measure_coverage(workspace, repo, runs)


def _host(settings: Settings, first: BackupEntry, source: Path) -> str:
    """Return the host that entries show, else that of `--api-url`."""
    shown = first.about.place.host or settings.web_host
    if settings.api_url != PUBLIC_API and shown != settings.web_host:
        raise UsageError(
            f"{source} is of {shown}, and --api-url names {settings.web_host}",
            "Leave out --api-url: the entries show their host",
        )
    return shown


def _take(
    settings: Settings,
    workspace: WorkspaceLayout,
    entries: Iterator[BackupEntry],
    names: Names,
    backup: Backup,
    reporter: Reporter,
    license: str | None,
) -> JournalState:
    """Archive the entries, make the tables, and return where runs begin and end."""
    repo, host = names.repo, names.host
    with Archive(workspace.raw(repo)) as archive:
        journal = Journal(archive)
        git_host = settings.git_host if host == settings.web_host else host
        journal.begin({"via": "backup", "repo": repo, "host": host, "since": None}, git_host)
        whole, halves = set[int](), set[int]()
        with reporter.task("Backup read, MB", -(-backup.size // _MB)) as task:
            for entry in entries:
                names.note(entry)
                (halves if entry.about.is_half else whole).add(entry.about.number)
                _keep(journal, names, entry)
                task.advance(entry.bytes_read // _MB - task.done)
        _end_run(journal, names, backup, halves - whole, reporter, license)
        runs = [record for record in archive.records if record.meta["part"] in ("begin", "end")]
        del journal  # merging needs the memory
        normalize(workspace, repo, reporter, workers=settings.workers, archive=archive)
    return JournalState(runs)


def _end_run(
    journal: Journal,
    names: Names,
    backup: Backup,
    halves: set[int],
    reporter: Reporter,
    license: str | None,
) -> None:
    """Archive what there is beside entries, and tell what is not complete.

    `halves` are the numbers of the pull requests without branches.
    """
    repo = names.repo
    facts = names.repository()
    if facts is not None or journal.state.repository is None:
        described = orjson.dumps(facts or {"full_name": repo})
        journal.keep("repository", [], {"file": backup.name}, _reply(described))
    _note_names(journal, names, reporter)
    if license is not None:
        journal.mark("license", license=license)
    if backup.unreadable.count:
        counted = count(backup.unreadable.count, "entry")
        journal.fail(None, "backup", f"{counted} cannot be read: {backup.unreadable}")
    journal.end({})
    if (skipped := backup.without_entries).count:
        reporter.note(f"Passed over {count(skipped.count, 'file')} without entries: {skipped}")
    if halves:
        reporter.note(
            f"Of {count(len(halves), 'pull request')} only what lists of issues tell is "
            "there: no base and head, no commits, reviews and files. To know base and head "
            f"too, import what gh api 'repos/{repo}/pulls?state=all&per_page=100' --paginate "
            "writes besides"
        )


def _note_names(journal: Journal, names: Names, reporter: Reporter) -> None:
    """Archive and tell which of the other names of entries are the repository's own."""
    repo = names.repo
    if former := names.former():
        journal.mark("former", asked=[], names=dict.fromkeys(former, repo))
        reporter.note(
            f"Took the entries of {', '.join(former)} as those of {repo} ({names.examples}). If it "
            "was not renamed, mine it by its own name"
        )
    if strangers := names.strangers():
        journal.mark("elsewhere", names=strangers)
        reporter.note(
            f"Passed over the entries of other repositories: {', '.join(strangers)}. Import each "
            "with its own --repo"
        )


def _keep(journal: Journal, names: Names, entry: BackupEntry) -> None:
    """Archive an entry unless it is there byte for byte."""
    about = entry.about
    key = f"backup|{about.number}|{hashlib.sha256(entry.body).hexdigest()}"
    if journal.find(key) is not None:
        return
    other = names.other(about.place)
    journal.keep(
        "backup",
        [key],
        {"file": entry.location},
        _reply(entry.body),
        sync=False,
        number=about.number,
        kind=about.kind,
        updated=about.updated,
        **({"half": True} if about.is_half else {}),
        **({"bare": True} if about.is_bare else {}),
        **({"named": other} if other else {}),
    )


def _reply(body: bytes) -> HttpReply:
    return HttpReply(200, {}, body, None, Verdict.DONE)


def _no_entry(source: Path, backup: Backup, repo: str) -> UsageError:
    reasons = [str(tally) for tally in (backup.unreadable, backup.other) if tally.count]
    held = f"no entry that can be read ({'; '.join(reasons)})" if reasons else "no entries"
    command = RIGHT_ONE.format(repo=repo)
    mending = "Correct it, or copy it again; this" if backup.unreadable.count else "This"
    return UsageError(f"{source} holds {held}", f"{mending} writes what can be read: {command}")


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

    def note(self, entry: BackupEntry) -> None:
        """Learn the names that an entry shows; raises `UsageError` for one of another host."""
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

"""Mines a metadata backup on disk: issues and pull requests as REST gave them.

A backup is a ``.jsonl`` file (also ``.jsonl.xz`` or ``.jsonl.gz``) or a folder of such files and
of ``.json`` files with one entry each, in a shape that `backup_entries` knows. The bytes of each
entry are archived as they are, so the tables come out of the same machinery as mined ones.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import Any

import orjson

from goldpan.core.errors import UsageError
from goldpan.core.settings.config import Settings, repository_name
from goldpan.core.storage.archive import Archive, Record
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import ProgressTask, Reporter
from goldpan.miners.backup_entries import (
    Backup,
    BackupEntry,
    base_repository,
    list_files,
    read_entries,
    read_shape,
)
from goldpan.miners.coverage import Coverage, measure_coverage
from goldpan.miners.facts import Facts, read_facts
from goldpan.miners.journal import Journal
from goldpan.miners.replies import HttpReply, Verdict, parse_json
from goldpan.miners.tables.current_records import find_current_records
from goldpan.miners.tables.normalize import Parsing, normalize

_BATCH = 1 << 20  # bytes of entries that are archived at once
_AHEAD = 2  # such batches that wait
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
    backup = list_files(source)
    entries = read_entries(backup)
    first = next(entries, None)
    if first is None:
        raise _no_entry(source, backup)
    with workspace.lock(repo):
        all_entries = chain((first,), entries)
        runs = _take(settings, workspace, all_entries, backup, repo, reporter, license)
        if runs is None:
            normalize(workspace, repo, reporter, workers=settings.workers)
    return measure_coverage(workspace, repo, runs)


def _take(
    settings: Settings,
    workspace: WorkspaceLayout,
    entries: Iterator[BackupEntry],
    backup: Backup,
    repo: str,
    reporter: Reporter,
    license: str | None,
) -> list[Record] | None:
    """Archive the entries, and make the tables meanwhile where nothing was archived before.

    Returns, where the tables were made, the records of the beginnings and ends of runs.
    """
    parsed = Facts(repo, ("github.com",), {}, {})
    with (
        Archive(workspace.raw(repo)) as archive,
        Parsing(workspace, parsed, settings.workers) as parsing,
    ):
        journal = Journal(archive)
        is_new = not archive.records
        journal.begin({"via": "backup", "repo": repo, "host": "github.com", "since": None})
        with reporter.task("Backup read, MB", -(-backup.size // _MB)) as task:
            own = _noting_others(entries, backup, repo)
            repository_entry = _archive(journal, repo, own, task, parsing if is_new else None)
        if repository_entry is not None or read_facts(archive.records) is None:
            facts = orjson.dumps(repository_entry or {"full_name": repo})
            journal.keep("repository", [], {"file": backup.name}, _reply(facts))
        if license is not None:
            journal.mark("license", license=license)
        if backup.unreadable.count:
            reason = f"{backup.unreadable.count:,} entries cannot be read: {backup.unreadable}"
            journal.fail(None, "backup", reason)
        journal.end({})
        if (skipped := backup.without_entries).count:
            reporter.note(f"Passed over {skipped.count:,} files without entries: {skipped}")
        if (others := backup.elsewhere).count:
            reporter.note(
                f"Took {others.count:,} pull requests as those of {repo}, though they name another "
                f"repository: {others}. If it was not renamed, mine it by its own name"
            )
        archived = read_facts(archive.records)
        if not is_new or archived is None or archived.repo != parsed.repo:
            return None
        live, seals = find_current_records(archive.records), archive.seals()
        runs = [record for record in archive.records if record.meta["part"] in ("begin", "end")]
        del journal  # merging needs the memory
        archive.records.clear()
        parsing.publish(repo, archived, live, seals, reporter)
        return runs


def _noting_others(
    entries: Iterator[BackupEntry], backup: Backup, repo: str
) -> Iterator[BackupEntry]:
    for entry in entries:
        if isinstance(entry.base, str) and not _same(entry.base, repo):
            backup.elsewhere.add(f"{entry.location} names {entry.base}")
        yield entry


def _archive(
    journal: Journal,
    repo: str,
    entries: Iterator[BackupEntry],
    task: ProgressTask,
    parsing: Parsing | None,
) -> dict[str, Any] | None:
    """Archive entries while the next ones are read; returns the newest facts of the repository."""
    repository_entry: BackupEntry | None = None
    with ThreadPoolExecutor(1) as writer:
        batches: deque[Future[list[Record]]] = deque()

        def take_batch() -> None:
            for record in batches.popleft().result():
                if parsing is not None:
                    parsing.add(record)

        for batch in _batches(entries):
            repository_entry = next(
                (entry for entry in reversed(batch) if _same(entry.base, repo)), repository_entry
            )
            batches.append(writer.submit(_keep, journal, batch))
            if len(batches) > _AHEAD:
                take_batch()
            task.advance(batch[-1].bytes_read // _MB - task.done)
        while batches:
            take_batch()
    if repository_entry is None:
        return None
    data = read_shape(parse_json(repository_entry.body))
    return base_repository(data["pull"]) if data else None


def _batches(entries: Iterator[BackupEntry]) -> Iterator[list[BackupEntry]]:
    batch: list[BackupEntry] = []
    size = 0
    for entry in entries:
        batch.append(entry)
        size += len(entry.body)
        if size >= _BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _keep(journal: Journal, entries: list[BackupEntry]) -> list[Record]:
    """Archive the entries that are not there byte for byte, and return their records."""
    records = []
    for entry in entries:
        digest = hashlib.sha256(entry.body).hexdigest()
        key = f"backup|{entry.number}|{digest}"
        if journal.find(key) is None:
            record = journal.keep(
                "backup",
                [key],
                {"file": entry.location},
                _reply(entry.body),
                sync=False,
                digest=digest,
                number=entry.number,
                kind=entry.kind,
            )
            records.append(record)
    return records


def _reply(body: bytes) -> HttpReply:
    return HttpReply(200, {}, body, None, Verdict.DONE)


def _same(name: Any, repo: str) -> bool:
    return isinstance(name, str) and name.lower() == repo.lower()


def _no_entry(source: Path, backup: Backup) -> UsageError:
    if backup.unreadable.count:
        return UsageError(
            f"{source} holds no entry that can be read ({backup.unreadable})",
            "Correct it; docs/mining.md says what an entry looks like",
        )
    return UsageError(
        f"{source} holds no entries", "Name a backup's folder or .jsonl file (docs/mining.md)"
    )

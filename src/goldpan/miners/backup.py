"""Mines a metadata backup on disk: entries in REST's shape, one JSON object each.

A backup is a ``.jsonl`` file (also ``.jsonl.xz`` or ``.jsonl.gz``) or a directory of such files
and of ``.json`` files with one entry each. An entry is ``{"type": "issue" | "pull", "issue" or
"pull": {...}, "events": [...], "comments": [...]}``, its events the entry's timeline and its
comments a pull request's review comments. The bytes of each entry are archived as they are, so
the tables come out of the same machinery as mined ones.
"""

from __future__ import annotations

import gzip
import hashlib
import lzma
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import orjson

from goldpan.config import Settings, repository_name
from goldpan.errors import UsageError
from goldpan.miners.archive import Archive
from goldpan.miners.coverage import Coverage, measure_coverage
from goldpan.miners.facts import read_facts
from goldpan.miners.journal import Journal
from goldpan.miners.replies import Reply, Verdict, parse_json
from goldpan.miners.tables.normalize import MALFORMED, normalize
from goldpan.miners.tables.parse_rest import parse_backup
from goldpan.miners.tables.rows import Rows
from goldpan.miners.texts.mentions import LARGEST_NUMBER
from goldpan.progress import Reporter
from goldpan.workspace import Workspace

_OPENERS: dict[str, Any] = {".xz": lzma.open, ".gz": gzip.open}


def mine_backup(settings: Settings, source: Path, repo: str, reporter: Reporter) -> Coverage:
    """Take a backup into the workspace and make the tables.

    Entries that are archived already, byte for byte, are passed over. Raises `UsageError` that
    names the file and line of an entry that is none.
    """
    repo = repository_name(repo)
    workspace = Workspace(settings.workspace)
    entries = _entries(source)
    first = next(entries, None)
    if first is None:
        raise UsageError(f"{source} holds no entries", "Name a backup's folder or .jsonl file")
    with workspace.lock(repo), Archive(workspace.raw(repo)) as archive:
        journal = Journal(archive)
        journal.begin({"via": "backup", "repo": repo, "host": "github.com", "since": None})
        home: dict[str, Any] | None = None
        with reporter.task("Entries", 0) as task:
            for place, body in chain((first,), entries):
                data = _check(place, body, repo)
                entry = data.get("pull") or data["issue"]
                base = (entry.get("base") or {}).get("repo") or {}
                if str(base.get("full_name", "")).lower() == repo.lower():
                    home = base
                number = int(entry["number"])
                key = f"backup|{number}|{hashlib.sha256(body).hexdigest()}"
                task.extend(1)
                if journal.find(key) is None:
                    journal.keep(
                        "backup",
                        [key],
                        {"file": place},
                        _reply(body),
                        sync=False,
                        number=number,
                        kind=data["type"],
                    )
                task.advance()
        if home is not None or read_facts(archive.records) is None:
            facts = orjson.dumps(home or {"full_name": repo})
            journal.keep("repository", [], {"file": source.name}, _reply(facts))
        journal.end({})
        normalize(workspace, repo, reporter, workers=settings.workers)
    return measure_coverage(workspace, repo)


def _reply(body: bytes) -> Reply:
    return Reply(200, {}, body, None, Verdict.DONE)


def _entries(source: Path) -> Iterator[tuple[str, bytes]]:
    """Yield each entry's place, for messages, and its bytes."""
    if source.is_dir():
        files = sorted(
            path
            for path in source.rglob("*")
            if ".json" in path.suffixes or ".jsonl" in path.suffixes
        )
        if not files:
            raise UsageError(f"{source} holds no .json or .jsonl files", "Name the backup's folder")
    elif source.is_file():
        files = [source]
    else:
        raise UsageError(f"{source} is not there", "Name a backup's folder or .jsonl file")
    for path in files:
        if path.suffix == ".json":
            yield path.name, path.read_bytes()
            continue
        opener = _OPENERS.get(path.suffix)
        try:
            with opener(path, "rb") if opener else path.open("rb") as lines:
                for index, line in enumerate(lines, 1):
                    if line.strip():
                        yield f"{path.name}:{index}", line.rstrip(b"\r\n")
        except (lzma.LZMAError, EOFError, gzip.BadGzipFile) as error:
            raise UsageError(
                f"{path} is cut off or not compressed as its name says ({error})",
                "Copy the file again",
            ) from None


def _check(place: str, body: bytes, repo: str) -> dict[str, Any]:
    """Return an entry that is known to parse, or say what is wrong with it."""
    try:
        data = parse_json(body)
    except ValueError as error:
        raise UsageError(f"{place} is not JSON ({error})", "Mend or remove it") from None
    kind = data.get("type") if isinstance(data, dict) else None
    entry = data.get(kind) if kind in ("issue", "pull") else None
    entry = entry if isinstance(entry, dict) else {}
    number = entry.get("number")
    if not isinstance(number, int) or not 0 < number <= LARGEST_NUMBER:
        raise UsageError(
            f'{place} is no entry: it lacks "type": "issue" or "pull" with a numbered object',
            "See docs/mining.md for the format",
        )
    rows = Rows(repo, ())
    try:
        parse_backup(rows, data)
        rows.tables()
        entry.get("base", {}).get("repo", {}).get("full_name")
    except MALFORMED as error:
        raise UsageError(
            f"{place} is not in REST's shape ({type(error).__name__}: {error})",
            "Mend or remove the entry",
        ) from None
    return dict(data)

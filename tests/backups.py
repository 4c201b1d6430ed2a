"""Backups on disk: an issue and the pull request that mends it, as tools write them."""

from __future__ import annotations

import gzip
import json
import lzma
from pathlib import Path

from goldpan.core.settings.config import Settings
from goldpan.miners.backup import mine_backup
from goldpan.miners.coverage import Coverage
from tests.mining import Notes, Row, Tables, rows, table_bytes

GEM = "octo/gem"
HASH = "5eed" * 10


def issue() -> Row:
    """Return an issue as backup tools write it: null fields are left out."""
    return _entry("issue")


def pull() -> Row:
    return _entry("pull")


def _entry(kind: str) -> Row:
    text = Path(__file__).with_name("backup_entries.json").read_text(encoding="utf-8")
    entry: Row = json.loads(text)[kind]
    return entry


def numbered(number: int) -> Row:
    return {**issue(), "issue": {**issue()["issue"], "number": number}}


def lines(entries: list[Row]) -> bytes:
    return b"".join(json.dumps(entry).encode() + b"\n" for entry in entries)


def save(root: Path, content: bytes, suffix: str = "") -> Path:
    root.mkdir(exist_ok=True)
    path = root / f"entries.jsonl{suffix}"
    path.write_bytes(content)
    return path


def as_lines(root: Path, entries: list[Row]) -> Path:
    return save(root, lines(entries))


def as_xz(root: Path, entries: list[Row]) -> Path:
    return save(root, lzma.compress(lines(entries)), ".xz")


def as_gz(root: Path, entries: list[Row]) -> Path:
    return save(root, gzip.compress(lines(entries).replace(b"\n", b"\r\n\r\n")), ".gz")


def save_texts(folder: Path, texts: dict[str, str]) -> Path:
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def take(root: Path, source: Path, notes: Notes | None = None) -> Coverage:
    settings = Settings(workspace=root / "workspace", workers=1)
    return mine_backup(settings, source, GEM, notes or Notes())


def take_entries(root: Path, *entries: Row) -> Coverage:
    return take(root, as_lines(root, [*entries]))


def tables(root: Path) -> Tables:
    return table_bytes(root / "workspace", GEM)


def read(root: Path, name: str) -> list[Row]:
    return rows(root / "workspace", name, GEM)


def checkout(root: Path) -> Path:
    """Return a folder as backups are published: a git checkout with more than entries."""
    texts = {
        ".git/objects.json": "{",
        "README.md": "# Backup",
        "state.json": '{"version": 1, "last_backup": "2024-03-09T10:00:00Z"}',
        "metadata.json": '{"number": 5, "title": "No entry", "state": "open"}',
        "labels/labels.json": '[{"name": "bug"}]',
        "issues/1.json": json.dumps(issue(), indent=2),
        "pulls/2.json": json.dumps(pull(), indent=2),
    }
    return save_texts(root / "gem-backup", texts)

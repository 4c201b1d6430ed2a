"""Backups on disk: every form gives the same tables, and importing again adds nothing."""

from __future__ import annotations

import gzip
import json
import lzma
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from goldpan.config import Settings
from goldpan.errors import GoldpanError, UsageError
from goldpan.miners.backup import mine_backup
from goldpan.miners.coverage import Coverage
from goldpan.miners.pairing import RULES, pair
from goldpan.miners.tables.normalize import normalize
from goldpan.progress import Reporter
from goldpan.workspace import Workspace
from tests.mining import Row, Tables, archive, rows, table_bytes

GEM = "octo/gem"
HASH = "5eed" * 10
API = f"https://api.github.com/repos/{GEM}"


def user(login: str, kind: str = "User") -> Row:
    return {"login": login, "id": len(login), "type": kind}


def times(day: int) -> Row:
    at = f"2024-03-{day:02}T10:00:00Z"
    return {"created_at": at, "updated_at": at}


def issue() -> Row:
    """Return an issue as backup tools write it: null fields are left out."""
    return {
        "type": "issue",
        "issue": {
            "number": 1,
            "title": "Crash \x00 and 🪙",
            "state": "closed",
            "state_reason": "completed",
            "user": user("ann"),
            "author_association": "NONE",
            "labels": [{"name": "bug"}, {"name": "a"}],
            "comments": 1,
            "closed_at": "2024-03-09T10:00:00Z",
            **times(1),
        },
        "events": [
            {"event": "commented", "id": 11, "user": user("bo"), "body": "Me too.", **times(2)},
            {"event": "labeled", "label": {"name": "bug"}, **times(2)},
            {"event": "closed", "commit_id": HASH, **times(9)},
        ],
    }


def pull() -> Row:
    repo = {"full_name": "Octo/Gem", "default_branch": "trunk", "language": "Rust"}
    person = {"date": "2024-03-03T10:00:00Z"}
    return {
        "type": "pull",
        "pull": {
            "number": 2,
            "title": "Do not crash",
            "body": "Fixes #1",
            "state": "closed",
            "user": user("renovate[bot]", "Bot"),
            "base": {"ref": "trunk", "sha": "b" * 40, "repo": repo},
            "head": {"ref": "fix", "sha": HASH},
            "merged_at": "2024-03-09T10:00:00Z",
            "merge_commit_sha": "c" * 40,
            "comments": 0,
            "additions": 3,
            "deletions": 1,
            "changed_files": 2,
            **times(3),
        },
        "events": [
            {
                "event": "committed",
                "sha": HASH,
                "message": "Fix",
                "author": person,
                "committer": person,
            },
            {
                "event": "reviewed",
                "id": 21,
                "state": "approved",
                "body": "",
                "user": user("bo"),
                "submitted_at": "2024-03-04T10:00:00Z",
            },
        ],
        "comments": [
            {
                "id": 31,
                "path": "src/a.rs",
                "body": "Why?",
                "user": user("bo"),
                "pull_request_review_id": 22,
                **times(4),
            }
        ],
    }


def lines(entries: list[Row]) -> bytes:
    return b"".join(json.dumps(entry).encode() + b"\n" for entry in entries)


def as_lines(root: Path, entries: list[Row]) -> Path:
    path = root / "entries.jsonl"
    path.write_bytes(lines(entries))
    return path


def as_xz(root: Path, entries: list[Row]) -> Path:
    path = root / "entries.jsonl.xz"
    path.write_bytes(lzma.compress(lines(entries)))
    return path


def as_gz(root: Path, entries: list[Row]) -> Path:
    path = root / "entries.jsonl.gz"
    path.write_bytes(gzip.compress(lines(entries).replace(b"\n", b"\r\n\r\n")))
    return path


def as_folder(root: Path, entries: list[Row]) -> Path:
    for entry in entries:
        path = root / "backup" / entry["type"] / f"{entry[entry['type']]['number']}.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(entry, indent=2))
    return root / "backup"


def as_mixed_folder(root: Path, entries: list[Row]) -> Path:
    (root / "mixed").mkdir()
    (root / "mixed" / "README.md").write_text("not an entry")
    for index, entry in enumerate(entries):
        (as_gz, as_xz)[index % 2](root / "mixed", [entry])
    return root / "mixed"


FORMS = (as_lines, as_xz, as_gz, as_folder, as_mixed_folder)


def take(root: Path, source: Path) -> Coverage:
    settings = Settings(workspace=root / "workspace", workers=1)
    return mine_backup(settings, source, GEM, Reporter(quiet=True))


def tables(root: Path) -> Tables:
    return table_bytes(root / "workspace", GEM)


def read(root: Path, name: str) -> list[Row]:
    return rows(root / "workspace", name, GEM)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_every_form_gives_the_same_tables(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, form: Callable[..., Path]
) -> None:
    plain = tmp_path_factory.mktemp("plain")
    take(plain, as_lines(plain, [issue(), pull()]))
    assert take(tmp_path, form(tmp_path, [issue(), pull()])).complete
    assert tables(tmp_path) == tables(plain)


def test_tables_hold_what_the_backup_holds(tmp_path: Path) -> None:
    take(tmp_path, as_lines(tmp_path, [pull(), issue()]))
    first, second = read(tmp_path, "entries")
    (repository,) = read(tmp_path, "repositories")
    known = [repository[name] for name in ("repo", "default_branch", "language", "stars")]
    assert known == ["Octo/Gem", "trunk", "Rust", None]
    assert (first["kind"], first["title"], first["body"]) == ("issue", "Crash \x00 and 🪙", "")
    assert (first["labels"], first["participants"]) == (["a", "bug"], ["ann", "bo"])
    assert (first["timeline_items"], first["comment_count"]) == (3, 1)
    assert (first["merged"], first["changed_files"]) == (None, None)
    assert (second["kind"], second["merged"], second["head_repo"]) == ("pull", True, None)
    assert (second["author"], second["author_type"]) == ("renovate[bot]", "bot")
    assert (second["merge_sha"], second["changed_files"]) == ("c" * 40, 2)
    told = [(one["number"], one["kind"], one["comment_id"]) for one in read(tmp_path, "comments")]
    assert told == [(1, "comment", 11), (2, "review", 21), (2, "review_comment", 31)]
    assert [one["sha"] for one in read(tmp_path, "commits")] == [HASH]
    assert read(tmp_path, "files") == read(tmp_path, "missing") == []
    place = Workspace(tmp_path / "workspace")
    assert pair(place, GEM, RULES["faun-eval"]).pairs == 0
    assert pair(place, GEM, RULES["unconfirmed"]).pairs == 1
    (found,) = read(tmp_path, "pairs")
    assert (found["signals"], found["keyword"]) == (["closed_by_commit", "keyword"], "fixes")


def test_importing_again_adds_nothing(tmp_path: Path) -> None:
    source = as_lines(tmp_path, [issue(), pull()])
    first = take(tmp_path, source)
    before = tables(tmp_path)
    assert replace(take(tmp_path, source), mined_at=first.mined_at) == first
    assert tables(tmp_path) == before
    kept = archive(tmp_path / "workspace", GEM).records
    assert sorted(one.meta["number"] for one in kept if one.meta["part"] == "backup") == [1, 2]
    normalize(Workspace(tmp_path / "workspace"), GEM, Reporter(quiet=True), workers=1)
    assert tables(tmp_path) == before


def test_bytes_are_archived_as_they_are(tmp_path: Path) -> None:
    source = as_lines(tmp_path, [issue(), pull()])
    take(tmp_path, source)
    kept = archive(tmp_path / "workspace", GEM).records
    bodies = [one.read() for one in kept if one.meta["part"] == "backup"]
    assert bodies == source.read_bytes().splitlines()


def test_a_changed_entry_supersedes(tmp_path: Path) -> None:
    take(tmp_path, as_lines(tmp_path, [issue(), pull()]))
    changed = issue()
    changed["issue"] |= {"title": "Crash, now with a trace", "body": "See #2", "labels": []}
    del changed["events"][0]
    changed["issue"]["comments"] = 0
    assert take(tmp_path, as_lines(tmp_path, [changed, pull()])).complete
    first, second = read(tmp_path, "entries")
    assert (first["title"], first["labels"]) == ("Crash, now with a trace", [])
    assert (first["participants"], first["timeline_items"]) == (["ann"], 2)
    assert second["title"] == "Do not crash"
    assert [one["comment_id"] for one in read(tmp_path, "comments")] == [21, 31]
    (once := tmp_path / "once").mkdir()
    take(once, as_lines(once, [changed, pull()]))
    assert tables(once) == tables(tmp_path)


def test_a_later_backup_without_pulls_forgets_no_facts(tmp_path: Path) -> None:
    take(tmp_path, as_lines(tmp_path, [issue(), pull()]))
    before = tables(tmp_path)
    take(tmp_path, as_lines(tmp_path, [issue()]))
    (found,) = read(tmp_path, "repositories")
    assert (found["repo"], found["default_branch"]) == ("Octo/Gem", "trunk")
    assert tables(tmp_path) == before


def test_coverage_tells_a_short_entry(tmp_path: Path) -> None:
    found = take(tmp_path, as_lines(tmp_path, [issue(), pull()]))
    counted = {one.kind: (one.announced, one.stored) for one in found.counts}
    assert (found.via, found.complete, found.gaps) == ("backup", True, ())
    assert counted["issues"] == counted["pulls"] == (None, 1)
    assert (counted["comments"], counted["files"]) == ((1, 1), (2, 0))
    short = issue()
    short["issue"]["comments"] = 4
    found = take(tmp_path, as_lines(tmp_path, [short]))
    (gap,) = found.gaps
    assert (gap.number, gap.part, gap.reason) == (1, "comments", "GitHub announced 4, 1 came")
    assert not found.complete


def broken(key: str, value: object) -> Row:
    entry = pull()
    entry["pull"][key] = value
    return entry


@pytest.mark.parametrize(
    "entry",
    [
        *([], 7, {}, {"type": "issue"}, {"type": "issue", "pull": {"number": 1}}),
        {"type": "discussion", "discussion": {"number": 1}},
        *(broken("number", value) for value in ("1", None, -5, 10**11, 1.5)),
        *(broken("base", value) for value in ("x", {"repo": "x"})),
        broken("created_at", "yesterday"),
        broken("title", 7),
    ],
    ids=lambda entry: json.dumps(entry)[:60],
)
def test_what_is_no_entry_is_told(tmp_path: Path, entry: object) -> None:
    """Some are told when tables are made, by the record that holds them."""
    source = tmp_path / "entries.jsonl"
    source.write_bytes(lines([issue()]) + json.dumps(entry).encode())
    with pytest.raises(GoldpanError, match=r"entries\.jsonl:2|[Rr]ecord run-0001\.zst@\d+"):
        take(tmp_path, source)


def test_a_source_that_is_not_there_leaves_no_run_behind(tmp_path: Path) -> None:
    assert take(tmp_path, as_lines(tmp_path, [issue()])).complete
    before = len(archive(tmp_path / "workspace", GEM).records)
    with pytest.raises(UsageError, match="is not there"):
        take(tmp_path, tmp_path / "entrees.jsonl")
    assert len(archive(tmp_path / "workspace", GEM).records) == before


def test_a_source_without_entries_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"entries\.jsonl"):
        take(tmp_path, as_lines(tmp_path, []))

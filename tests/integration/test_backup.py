"""Backups on disk: every form gives the same tables, and importing again adds nothing."""

from __future__ import annotations

import gzip
import json
import lzma
import os
import tracemalloc
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import IO

import orjson
import pyarrow.parquet as pq
import pytest

from goldpan.core.config import Settings
from goldpan.core.errors import UsageError
from goldpan.core.terminal import Reporter
from goldpan.core.workspace import WorkspaceLayout
from goldpan.miners.backup import mine_backup
from goldpan.miners.backup_entries import (
    LARGEST_ENTRY,
    Glance,
    Unreadable,
    glance,
    list_files,
    read_texts,
)
from goldpan.miners.coverage import Coverage
from goldpan.miners.pairing import find_rules, pair
from goldpan.miners.tables import normalize as module
from goldpan.miners.tables.normalize import normalize
from tests.drawing import daily
from tests.mining import Notes, Row, Tables, archive, rows, table_bytes

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


def take(root: Path, source: Path, notes: Notes | None = None) -> Coverage:
    settings = Settings(workspace=root / "workspace", workers=1)
    return mine_backup(settings, source, GEM, notes or Notes())


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
    facts = [repository[name] for name in ("repo", "default_branch", "language", "stars")]
    assert facts == ["Octo/Gem", "trunk", "Rust", None]
    assert (first["kind"], first["title"], first["body"]) == ("issue", "Crash \x00 and 🪙", "")
    assert (first["labels"], first["participants"]) == (["a", "bug"], ["ann", "bo"])
    assert (first["timeline_items"], first["comment_count"]) == (3, 1)
    assert (first["merged"], first["changed_files"]) == (None, None)
    assert (second["kind"], second["merged"], second["head_repo"]) == ("pull", True, None)
    assert (second["author"], second["author_type"]) == ("renovate[bot]", "bot")
    assert (second["merge_sha"], second["changed_files"]) == ("c" * 40, 2)
    comments = [
        (row["number"], row["kind"], row["comment_id"]) for row in read(tmp_path, "comments")
    ]
    assert comments == [(1, "comment", 11), (2, "review", 21), (2, "review_comment", 31)]
    assert [row["sha"] for row in read(tmp_path, "commits")] == [HASH]
    assert read(tmp_path, "files") == []
    workspace = WorkspaceLayout(tmp_path / "workspace")
    assert pair(workspace, GEM, find_rules("faun-eval")).pairs == 0
    assert pair(workspace, GEM, find_rules("unconfirmed")).pairs == 1
    (row,) = pq.read_table(workspace.pairs(GEM, "unconfirmed")).to_pylist()
    assert (row["signals"], row["keyword"]) == (["closed_by_commit", "keyword"], "fixes")


def test_importing_again_adds_nothing(tmp_path: Path) -> None:
    source = as_lines(tmp_path, [issue(), pull()])
    first = take(tmp_path, source)
    before = tables(tmp_path)
    assert replace(take(tmp_path, source), mined_at=first.mined_at) == first
    assert tables(tmp_path) == before
    records = archive(tmp_path / "workspace", GEM).records
    assert sorted(
        record.meta["number"] for record in records if record.meta["part"] == "backup"
    ) == [1, 2]
    normalize(WorkspaceLayout(tmp_path / "workspace"), GEM, Reporter(quiet=True), workers=1)
    assert tables(tmp_path) == before


def test_bytes_are_archived_as_they_are(tmp_path: Path) -> None:
    source = as_lines(tmp_path, [issue(), pull()])
    take(tmp_path, source)
    records = archive(tmp_path / "workspace", GEM).records
    bodies = [record.read() for record in records if record.meta["part"] == "backup"]
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
    assert [row["comment_id"] for row in read(tmp_path, "comments")] == [21, 31]
    (once := tmp_path / "once").mkdir()
    take(once, as_lines(once, [changed, pull()]))
    assert tables(once) == tables(tmp_path)


def test_a_later_backup_without_pulls_forgets_no_facts(tmp_path: Path) -> None:
    take(tmp_path, as_lines(tmp_path, [issue(), pull()]))
    before = tables(tmp_path)
    take(tmp_path, as_lines(tmp_path, [issue()]))
    (row,) = read(tmp_path, "repositories")
    assert (row["repo"], row["default_branch"]) == ("Octo/Gem", "trunk")
    assert tables(tmp_path) == before


def test_coverage_tells_a_short_entry(tmp_path: Path) -> None:
    result = take(tmp_path, as_lines(tmp_path, [issue(), pull()]))
    counted = {count.kind: (count.announced, count.stored) for count in result.counts}
    assert (result.via, result.complete, result.gaps) == ("backup", True, ())
    assert counted["issues"] == counted["pulls"] == (None, 1)
    assert (counted["comments"], counted["files"]) == ((1, 1), (None, 0))
    short = issue()
    short["issue"]["comments"] = 4
    result = take(tmp_path, as_lines(tmp_path, [short]))
    (gap,) = result.gaps
    assert (gap.number, gap.part, gap.reason) == (1, "comments", "GitHub announced 4, 1 came")
    assert not result.complete


def broken(key: str, value: object) -> Row:
    entry = pull()
    entry["pull"][key] = value
    return entry


@pytest.mark.parametrize(
    "entry",
    [
        *([], 7, {}, {"type": "issue"}, {"type": "issue", "pull": {"number": 1}}),
        {"type": "discussion", "discussion": {"number": 1}},
        {"number": 3, "title": "", "user": None, "state": "", "created_at": "", "comment_data": 7},
        *(broken("number", value) for value in ("1", None, -5, 10**11, 1.5, True)),
    ],
    ids=lambda entry: json.dumps(entry)[:60],
)
def test_what_is_no_entry_is_named_and_the_rest_is_kept(tmp_path: Path, entry: object) -> None:
    source = tmp_path / "entries.jsonl"
    source.write_bytes(lines([issue()]) + json.dumps(entry).encode() + b"\n" + lines([pull()]))
    result = take(tmp_path, source)
    (gap,) = result.gaps
    assert not result.complete
    assert gap.reason.startswith("1 entries cannot be read: entries.jsonl:2 ")
    assert [row["number"] for row in read(tmp_path, "entries")] == [1, 2]
    assert take(tmp_path, as_lines(tmp_path, [issue(), pull()])).complete  # mended


@pytest.mark.parametrize("item", [{}, 7, None, {"event": ["commented"]}])
def test_a_broken_item_costs_itself_and_is_named(tmp_path: Path, item: object) -> None:
    take(tmp_path / "whole", as_lines(tmp_path, [issue(), pull()]))
    spoiled = issue()
    spoiled["events"].insert(1, item)
    result = take(tmp_path / "spoiled", as_lines(tmp_path, [spoiled, pull()]))
    (gap,) = result.gaps
    assert (gap.number, gap.part, gap.state) == (1, "timeline", "failed")
    assert "an item cannot be read" in gap.reason
    for table in ("comments", "events", "references", "commits"):
        assert read(tmp_path / "spoiled", table) == read(tmp_path / "whole", table)


@pytest.mark.parametrize("value", ["x", {"repo": "x"}, {"ref": 7, "sha": "a" * 40}])
def test_a_bad_value_costs_its_field_and_is_named(tmp_path: Path, value: object) -> None:
    result = take(tmp_path, as_lines(tmp_path, [issue(), broken("base", value)]))
    (gap,) = result.gaps
    assert (gap.number, gap.part, gap.state) == (2, "entry", "failed")
    first, second = read(tmp_path, "entries")
    assert (first["number"], second["number"], second["base_ref"]) == (1, 2, None)
    assert (second["title"], second["head_ref"]) == ("Do not crash", pull()["pull"]["head"]["ref"])


def checkout(root: Path) -> Path:
    """Return a folder as backups are published: a git checkout with more than entries."""
    folder = root / "gem-backup"
    for name, text in {
        ".git/objects.json": "{",
        "README.md": "# Backup",
        "state.json": '{"version": 1, "last_backup": "2024-03-09T10:00:00Z"}',
        "metadata.json": '{"number": 5, "title": "No entry", "state": "open"}',
        "labels/labels.json": '[{"name": "bug"}]',
        "issues/1.json": json.dumps(issue(), indent=2),
        "pulls/2.json": json.dumps(pull(), indent=2),
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_files_without_entries_are_passed_over(tmp_path: Path) -> None:
    notes = Notes()
    assert take(tmp_path, checkout(tmp_path), notes).complete
    assert [row["number"] for row in read(tmp_path, "entries")] == [1, 2]
    assert notes.lines[-1] == (
        "Passed over 4 files without entries: README.md; labels/labels.json; metadata.json; "
        "state.json"
    )


def test_a_broken_file_of_a_folder_is_named(tmp_path: Path) -> None:
    folder = checkout(tmp_path)
    (folder / "issues" / "3.json").write_text('{"type": "issue", "issue": {"num')
    (folder / "issues" / "4.json").write_text('{"type": "issue", "issue": {"title": "x"}}')
    result = take(tmp_path, folder)
    (gap,) = result.gaps
    assert gap.reason.startswith("2 entries cannot be read: issues/3.json is not JSON (")
    assert gap.reason.endswith("; issues/4.json is not an entry: it has no type or no number")
    assert [row["number"] for row in read(tmp_path, "entries")] == [1, 2]


def test_of_many_the_first_ones_are_named(tmp_path: Path) -> None:
    source = tmp_path / "entries.jsonl"
    source.write_bytes(lines([issue()]) + b"no\n" * 1_000)
    (gap,) = take(tmp_path, source).gaps
    assert gap.reason.startswith("1,000 entries cannot be read: entries.jsonl:2 is not JSON")
    assert gap.reason.endswith("; and 995 more")
    assert len(gap.reason) < 1_000


@pytest.mark.parametrize("form", [as_xz, as_gz], ids=lambda form: form.__name__)
def test_what_stands_before_a_cut_is_kept(
    tmp_path: Path, form: Callable[[Path, list[Row]], Path]
) -> None:
    many = [{**issue(), "issue": {**issue()["issue"], "number": n}} for n in range(1, 2_000)]
    source = form(tmp_path, many)
    source.write_bytes(source.read_bytes()[:-50])
    result = take(tmp_path, source)
    (gap,) = result.gaps
    assert "the file is cut off" in gap.reason
    assert len(read(tmp_path, "entries")) > 1_000


@pytest.mark.parametrize(
    ("suffix", "opener"),
    [("gz", gzip.open), pytest.param("xz", lzma.open, marks=pytest.mark.nightly)],
)
def test_a_line_that_explodes_is_named_and_never_held(
    tmp_path: Path, suffix: str, opener: Callable[..., IO[bytes]]
) -> None:
    """A few hundred kB unpack to a line of 80 MB."""
    source = tmp_path / f"entries.jsonl.{suffix}"
    with opener(source, "wb") as file:
        file.write(lines([issue()]))
        for _ in range(80):
            file.write(b" " * 2**20)
        file.write(b"\n" + lines([pull()]))
    tracemalloc.start()
    texts = list(read_texts(list_files(source)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert isinstance(texts[1], Unreadable)
    assert texts[1].reason == "it is larger than 32 MB, which no entry is"
    assert [text.location for text in texts] == [f"{source.name}:{n}" for n in (1, 2, 3)]
    assert peak < 2.5 * LARGEST_ENTRY
    assert len(take(tmp_path, source).gaps) == 1


def test_xz_that_asks_for_much_memory_is_named(tmp_path: Path) -> None:
    """The header of a block says how much its reader must remember: here 1.5 GiB."""
    packed = bytearray(lzma.compress(lines([pull()])))
    header = slice(12, 12 + (packed[12] + 1) * 4)
    block = packed[header]
    assert block[2:4] == b"\x21\x01"  # LZMA2
    block[4] = 37
    block[-4:] = zlib.crc32(block[:-4]).to_bytes(4, "little")
    packed[header] = block
    source = as_xz(tmp_path, [issue()])
    source.write_bytes(source.read_bytes() + packed)
    (gap,) = take(tmp_path, source).gaps
    assert gap.reason.startswith("1 entries cannot be read: entries.jsonl.xz:2")
    assert "Memory usage limit" in gap.reason


def test_several_streams_in_one_file_are_read(tmp_path: Path) -> None:
    source = tmp_path / "entries.jsonl.xz"
    source.write_bytes(lzma.compress(lines([issue()])) + bytes(8) + lzma.compress(lines([pull()])))
    assert take(tmp_path, source).complete
    assert [row["number"] for row in read(tmp_path, "entries")] == [1, 2]


def test_names_that_are_no_text_are_told(tmp_path: Path) -> None:
    folder = checkout(tmp_path)
    (folder / os.fsdecode(b"\xff.json")).write_text("{}")
    (folder / os.fsdecode(b"issues/\xfe.json")).write_text("{")
    notes = Notes()
    (gap,) = take(tmp_path, folder, notes).gaps
    assert r"issues/\xfe.json is not JSON" in gap.reason
    assert r"\xff.json" in notes.lines[-1]


def test_python_github_backup_is_read(tmp_path: Path) -> None:
    """It adds lists to the objects that REST gives."""
    first, second = issue(), pull()
    remark, labeled, closed = first["events"]
    committed, review = second["events"]
    message = {name: committed[name] for name in ("message", "author", "committer")}
    plain = {"user": None, "created_at": times(1)["created_at"], "title": "x", "state": "open"}
    files = {
        "issues/1.json": first["issue"]
        | {"comment_data": [remark], "event_data": [labeled, closed]},
        "issues/2.json": plain | {"number": 2, "pull_request": {}},
        "pulls/2.json": second["pull"]
        | {
            "comment_data": second["comments"],
            "comment_regular_data": [],
            "review_data": [{name: review[name] for name in review if name != "event"}],
            "commit_data": [{"sha": committed["sha"], "commit": message}],
        },
        "milestones/1.json": {"number": 1, "title": "1.0", "state": "open", "creator": None},
    }
    for name, entry in files.items():
        path = tmp_path / "there" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(entry))
    notes = Notes()
    assert take(tmp_path, tmp_path / "there", notes).complete
    assert "issues/2.json; milestones/1.json" in notes.lines[-1]
    (same := tmp_path / "same").mkdir()
    take(same, as_lines(same, [first, second]))
    assert tables(same) == tables(tmp_path)


def test_totals_that_a_backup_does_not_hold_are_unknown(tmp_path: Path) -> None:
    """python-github-backup writes pull requests as a list gives them, without totals and files."""
    totals = ("changed_files", "additions", "deletions")
    entry = pull()
    bare = {name: value for name, value in entry["pull"].items() if name not in totals}
    take(tmp_path, as_lines(tmp_path, [entry | {"pull": bare}]))
    (row,) = read(tmp_path, "entries")
    assert [row[name] for name in totals] == [None, None, None]


@pytest.mark.parametrize("name", daily(["octo/GEM"], ["Octo/Gem"]))
def test_tables_made_while_reading_are_those_made_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A name in other letters is known to be the repository's only at the end."""
    monkeypatch.setattr(module, "_CHUNK_BYTES", 1)
    entries = [{**issue(), "issue": {**issue()["issue"], "number": n}} for n in range(3, 12)]
    source = as_lines(tmp_path, [issue(), pull(), *entries])
    settings = Settings(workspace=tmp_path / "workspace", workers=2)
    assert mine_backup(settings, source, name, Notes()).complete
    before = tables(tmp_path)
    assert {row["repo"] for row in read(tmp_path, "references")} == {"Octo/Gem"}
    monkeypatch.undo()
    normalize(WorkspaceLayout(tmp_path / "workspace"), GEM, Reporter(quiet=True), workers=1)
    assert tables(tmp_path) == before


@pytest.mark.parametrize(
    "inner",
    [
        *(rb'"\q"', b'"\xff"', b"01", b'"\x01"', b"1.", b"tru", b"[1,]", rb'"\ud800"', b"1e400"),
        *(b"1" * 400, b"[1", b"{1:2}", b"-", b'"\xed\xa0\x80"', rb'"\u12"', b"NaN", b"[1 2]"),
        *(b"[" * 3_000 + b"]" * 3_000, b'"\xc3\xa9"', b"-0.5e-3", b"null"),
    ],
    ids=lambda inner: repr(inner[:12]),
)
def test_what_a_glance_takes_can_be_parsed(inner: bytes) -> None:
    body = b'{"type": "issue", "issue": {"number": 1, "rest": ' + inner + b"}}"
    glanced = glance(body)
    if glanced is not None:
        assert orjson.loads(body)["issue"]["number"] == glanced.number == 1


@pytest.mark.parametrize("entry", [issue(), pull()], ids=["issue", "pull"])
def test_a_glance_sees_what_a_whole_look_sees(entry: Row) -> None:
    kind = entry["type"]
    base = entry[kind].get("base", {}).get("repo", {}).get("full_name")
    assert glance(json.dumps(entry).encode()) == Glance(kind, entry[kind]["number"], base)
    values: list[object] = [None, 7.5, [], "x"]
    for key in ("base", "number", "type"):
        for value in values:
            twisted = entry | {key: value, kind: entry[kind] | {key: value}}
            glimpse = glance(json.dumps(twisted).encode())
            assert glimpse is None or key in ("base", "type")


def test_a_source_that_is_not_there_leaves_no_run_behind(tmp_path: Path) -> None:
    assert take(tmp_path, as_lines(tmp_path, [issue()])).complete
    before = len(archive(tmp_path / "workspace", GEM).records)
    with pytest.raises(UsageError, match="does not exist"):
        take(tmp_path, tmp_path / "entrees.jsonl")
    assert len(archive(tmp_path / "workspace", GEM).records) == before


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "holds no entries"),
        (b"{\n", r"holds no entry that can be read \(entries\.jsonl:1 is not JSON"),
    ],
)
def test_a_source_without_entries_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "entries.jsonl").write_bytes(content)
    with pytest.raises(UsageError, match=message):
        take(tmp_path, tmp_path / "entries.jsonl")
    assert not (tmp_path / "workspace" / "raw").exists()

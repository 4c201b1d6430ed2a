"""Backups that are damaged, hostile or not there: what is wrong is named, the rest is kept."""

from __future__ import annotations

import gzip
import json
import lzma
import os
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest

from goldpan.core.errors import UsageError
from goldpan.miners.backup_entries import LARGEST_ENTRY, list_files, read_entries
from tests.backups import (
    GEM,
    as_gz,
    as_xz,
    checkout,
    issue,
    lines,
    numbered,
    pull,
    read,
    save,
    take,
    take_entries,
)
from tests.mining import Notes, Row, archive


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
    content = lines([issue()]) + json.dumps(entry).encode() + b"\n" + lines([pull()])
    result = take(tmp_path, save(tmp_path, content))
    (gap,) = result.gaps
    assert not result.complete
    assert gap.reason.startswith("1 entry cannot be read: entries.jsonl:2 ")
    assert [row["number"] for row in read(tmp_path, "entries")] == [1, 2]
    assert take_entries(tmp_path, issue(), pull()).complete  # mended


@pytest.mark.parametrize("item", [{}, 7, None, {"event": ["commented"]}])
def test_a_broken_item_costs_itself_and_is_named(tmp_path: Path, item: object) -> None:
    take_entries(tmp_path / "whole", issue(), pull())
    spoiled = issue()
    spoiled["events"].insert(1, item)
    result = take_entries(tmp_path / "spoiled", spoiled, pull())
    (gap,) = result.gaps
    assert (gap.number, gap.part, gap.state) == (1, "timeline", "failed")
    assert "an item cannot be read" in gap.reason
    for table in ("comments", "events", "references", "commits"):
        assert read(tmp_path / "spoiled", table) == read(tmp_path / "whole", table)


@pytest.mark.parametrize("value", ["x", {"repo": "x"}, {"ref": 7, "sha": "a" * 40}])
def test_a_bad_value_costs_its_field_and_is_named(tmp_path: Path, value: object) -> None:
    result = take_entries(tmp_path, issue(), broken("base", value))
    (gap,) = result.gaps
    assert (gap.number, gap.part, gap.state) == (2, "entry", "failed")
    first, second = read(tmp_path, "entries")
    assert (first["number"], second["number"], second["base_ref"]) == (1, 2, None)
    assert (second["title"], second["head_ref"]) == ("Do not crash", pull()["pull"]["head"]["ref"])


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
    (gap,) = take(tmp_path, save(tmp_path, lines([issue()]) + b"no\n" * 1_000)).gaps
    assert gap.reason.startswith("1,000 entries cannot be read: entries.jsonl:2 is not JSON")
    assert gap.reason.endswith("; and 995 more")
    assert len(gap.reason) < 1_000


@pytest.mark.parametrize("form", [as_xz, as_gz], ids=lambda form: form.__name__)
def test_what_stands_before_a_cut_is_kept(tmp_path: Path, form: Callable[..., Path]) -> None:
    source = form(tmp_path, [numbered(n) for n in range(1, 2_000)])
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
    backup = list_files(source, GEM)
    entries = list(read_entries(backup))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    reason = f"{source.name}:2: it is larger than 32 MB, too large for an entry"
    assert (str(backup.unreadable), backup.without_entries.count) == (reason, 0)
    assert [entry.location for entry in entries] == [f"{source.name}:{n}" for n in (1, 3)]
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
    assert gap.reason.startswith("1 entry cannot be read: entries.jsonl.xz:2")
    assert "Memory usage limit" in gap.reason


def test_names_that_are_no_text_are_told(tmp_path: Path) -> None:
    folder = checkout(tmp_path)
    (folder / os.fsdecode(b"\xff.json")).write_text("{}")
    (folder / os.fsdecode(b"issues/\xfe.json")).write_text("{")
    notes = Notes()
    (gap,) = take(tmp_path, folder, notes).gaps
    assert r"issues/\xfe.json is not JSON" in gap.reason
    assert r"\xff.json" in notes.lines[-1]


def test_a_source_that_is_not_there_leaves_no_run_behind(tmp_path: Path) -> None:
    assert take_entries(tmp_path, issue()).complete
    before = len(archive(tmp_path / "workspace", GEM).records)
    with pytest.raises(UsageError, match="does not exist"):
        take(tmp_path, tmp_path / "entrees.jsonl")
    assert len(archive(tmp_path / "workspace", GEM).records) == before


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "holds no entries"),
        (b"{\n", r"holds no entry that can be read \(entries\.jsonl is not JSON"),
    ],
)
def test_a_source_without_entries_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        take(tmp_path, save(tmp_path, content))
    assert not (tmp_path / "workspace" / "raw").exists()

"""Hours' files give up what can be read of them, and say what is wrong."""

from __future__ import annotations

import gzip
import io
import os
import random
import tracemalloc
import zlib
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldpan.miners.gharchive.reading import HourUnit, lines_of, pieces_of, read_hour
from goldpan.miners.gharchive.store import HourReport
from tests.drawing import examples

_chance = random.Random(4)
LINES = [
    b'{"type":"PushEvent","text":"%s"}' % _chance.randbytes(30).hex().encode() for _ in range(4_000)
]
TEXT = b"".join(line + b"\n" for line in LINES)


def packed(text: bytes = TEXT, level: int = 6) -> bytes:
    return gzip.compress(text, level, mtime=0)


def read(folder: Path, data: bytes) -> HourReport:
    path = folder / "hour.json.gz"
    path.write_bytes(data)
    return read_hour(HourUnit(datetime(2022, 3, 4, 5, tzinfo=UTC), folder, ("Push",), path))


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (packed(), 4_000),
        (packed() + packed(), 8_000),
        (b"".join(packed(line + b"\n") for line in LINES[:500]), 500),
        (packed() + b"\0" * 100_000, 4_000),
        (b"\0" * 99_999, 0),
        (packed(b"") + packed(), 4_000),
    ],
)
def test_sound_files(data: bytes, lines: int, tmp_path: Path) -> None:
    report = read(tmp_path, data)
    assert (report.state, report.reason, report.lines, report.corrupt) == ("whole", None, lines, 0)


@examples(30)
@given(st.integers(0, len(packed()) - 1))
def test_a_cut_file_gives_all_lines_before_the_cut(
    tmp_path_factory: pytest.TempPathFactory, length: int
) -> None:
    data = packed()[:length]
    report = read(tmp_path_factory.mktemp("cut"), data)
    lines = zlib.decompressobj(31).decompress(data).count(b"\n")
    assert report.lines == lines
    assert report.state == ("truncated" if lines else "unreadable")
    assert report.reason


@examples(30)
@given(st.integers(10, len(packed()) - 1), st.integers(1, 255))
def test_a_wrong_byte_is_always_found(
    tmp_path_factory: pytest.TempPathFactory, position: int, change: int
) -> None:
    data = bytearray(packed())
    data[position] ^= change
    report = read(tmp_path_factory.mktemp("wrong"), bytes(data) + packed())
    assert report.state in ("damaged", "truncated", "unreadable")
    assert report.reason


@pytest.mark.parametrize(
    ("data", "state"),
    [
        (b"", "unreadable"),
        (b"<html>502</html>" * 9_999, "unreadable"),
        (TEXT, "unreadable"),
        (os.urandom(300_000), "unreadable"),
        (packed() + b"garbage", "damaged"),
        (packed() + b"\x1f\x8b", "truncated"),
    ],
)
def test_files_that_are_not_gzip_or_not_only(data: bytes, state: str, tmp_path: Path) -> None:
    report = read(tmp_path, data)
    assert report.state == state
    assert report.lines in (0, 4_000)
    assert report.reason


def test_a_file_that_unpacks_to_much_takes_little_memory(tmp_path: Path) -> None:
    data = packed(b"\0" * 64_000_000) * 4
    tracemalloc.start()
    try:
        report = read(tmp_path, data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (report.state, report.lines, report.corrupt) == ("whole", 1, 1)
    assert peak < 20_000_000


@given(st.lists(st.binary(max_size=40), max_size=30))
def test_lines_are_those_of_the_file(lines: list[bytes]) -> None:
    text = b"\n".join(lines)
    found = [line for line in lines_of(io.BytesIO(text)) if line.strip(b"\n")]
    assert [line.rstrip(b"\n") for line in found] == [line for line in text.split(b"\n") if line]


@given(st.lists(st.sampled_from([b"}{", b'"', b"a", b"{", b"}", b'{"id":"1","type":"', b"\0 "])))
def test_pieces_lose_nothing_but_blanks(parts: list[bytes]) -> None:
    line = b"".join(parts)
    joined = b"".join(pieces_of(line))
    assert joined.translate(None, b"\0 ") == line.translate(None, b"\0 ")

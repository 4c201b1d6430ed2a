"""Gzip files give up all that can be read of them, and say what is wrong."""

from __future__ import annotations

import gzip
import os
import random
import tracemalloc
import zlib
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldpan.miners.gharchive.reading import LongLine, lines_of, pieces_of
from goldpan.miners.gharchive.unpack import Unpacking, unpack
from tests.drawing import examples

_chance = random.Random(4)
LINES = [
    b'{"id":"%d","text":"%s"}' % (n, _chance.randbytes(30).hex().encode()) for n in range(4_000)
]
TEXT = b"".join(line + b"\n" for line in LINES)


def packed(text: bytes = TEXT, level: int = 6) -> bytes:
    return gzip.compress(text, level, mtime=0)


def unpacked(folder: Path, data: bytes) -> tuple[list[bytes], Unpacking]:
    path = folder / "hour.json.gz"
    path.write_bytes(data)
    unpacking = Unpacking()
    lines = flat(lines_of(unpack(path, unpacking)))
    return [line for line in lines if line], unpacking


def flat(batches: Iterable[list[bytes] | LongLine]) -> list[bytes]:
    return [line for batch in batches if isinstance(batch, list) for line in batch]


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (packed(), LINES),
        (packed(TEXT[:-1]), LINES),
        (packed() + packed(), LINES * 2),
        (b"".join(packed(line + b"\n") for line in LINES[:500]), LINES[:500]),
        (packed() + b"\0" * 100_000, LINES),
        (packed(b""), []),
        (packed(b"") + packed(), LINES),
        (packed(TEXT, 0), LINES),
    ],
)
def test_sound_files(data: bytes, lines: list[bytes], tmp_path: Path) -> None:
    size = sum(map(len, lines)) + zlib_all(data).count(b"\n")
    assert unpacked(tmp_path, data) == (lines, Unpacking(unpacked_bytes=size))


def zlib_all(data: bytes) -> bytes:
    out = b""
    while data := data.lstrip(b"\0"):
        inflater = zlib.decompressobj(31)
        out += inflater.decompress(data)
        data = inflater.unused_data
    return out


@examples(60)
@given(st.integers(0, len(packed()) - 1))
def test_a_cut_file_gives_all_lines_before_the_cut(
    tmp_path_factory: pytest.TempPathFactory, length: int
) -> None:
    data = packed()[:length]
    lines, unpacking = unpacked(tmp_path_factory.mktemp("cut"), data)
    before = zlib.decompressobj(31).decompress(data)
    assert lines == [line for line in before.split(b"\n") if line]
    assert unpacking.state == ("truncated" if before else "unreadable")
    assert unpacking.problems


@examples(60)
@given(st.integers(10, len(packed()) - 1), st.integers(1, 255))
def test_a_wrong_byte_is_always_found(
    tmp_path_factory: pytest.TempPathFactory, position: int, change: int
) -> None:
    """All lines before it are kept, and so is the member behind."""
    data = bytearray(packed())
    data[position] ^= change
    other = packed(b'{"other":1}\n' * 50)
    lines, unpacking = unpacked(tmp_path_factory.mktemp("wrong"), bytes(data) + other)
    sound = zlib.decompressobj(31).decompress(bytes(data[: max(position - 8, 0)])).split(b"\n")[:-1]
    assert lines[: len(sound)] == sound
    assert lines[-50:] == [b'{"other":1}'] * 50
    assert unpacking.state in ("damaged", "unreadable")


@pytest.mark.parametrize("length", [11, 100, 5_000, 60_000])
def test_a_member_that_was_cut_when_the_next_began(length: int, tmp_path: Path) -> None:
    """A crawler that crashed and began anew: both halves are kept."""
    data = packed()[:length] + packed() + packed()
    lines, unpacking = unpacked(tmp_path, data)
    before = zlib.decompressobj(31).decompress(packed()[:length]).split(b"\n")[:-1]
    assert lines[: len(before)] == before
    assert lines[-2 * len(LINES) :] == LINES * 2
    assert (unpacking.state, len(unpacking.problems)) == ("damaged", 1)


@pytest.mark.parametrize(
    ("data", "state"),
    [
        (b"", "unreadable"),
        (b"\x1f", "unreadable"),
        (b"<html>502</html>" * 9_999, "unreadable"),
        (TEXT, "unreadable"),
        (b"\0" * 99_999, "whole"),
        (os.urandom(300_000), "unreadable"),
        (b"\x1f\x8b\x08" * 50_000, "unreadable"),
        (packed() + b"garbage", "damaged"),
        (packed() + b"\x1f\x8b", "truncated"),
        (packed() + os.urandom(200_000).replace(b"\x1f\x8b", b"xx"), "damaged"),
    ],
)
def test_files_that_are_not_gzip_or_not_only(data: bytes, state: str, tmp_path: Path) -> None:
    lines, unpacking = unpacked(tmp_path, data)
    assert unpacking.state == state
    assert lines in ([], LINES)
    assert bool(unpacking.problems) == (state != "whole")


def test_many_problems_are_told_in_few_words(tmp_path: Path) -> None:
    data = b"".join(packed(TEXT[:5_000])[:-9] + _chance.randbytes(70_000) for _ in range(20))
    lines, unpacking = unpacked(tmp_path, data)
    assert len(lines) > 20 * 50
    assert (unpacking.state, len(unpacking.problems)) == ("damaged", 5)


def test_a_file_that_unpacks_to_a_gigabyte_takes_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "bomb.gz"
    path.write_bytes(packed(b"\n" * 64_000_000) * 16)
    unpacking, total = Unpacking(), 0
    tracemalloc.start()
    try:
        for chunk in unpack(path, unpacking):
            total += len(chunk)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (total, unpacking.state) == (1_024_000_000, "whole")
    assert peak < 20_000_000


@given(st.lists(st.binary(max_size=40), max_size=30), st.integers(1, 60))
def test_lines_do_not_depend_on_chunks(lines: list[bytes], size: int) -> None:
    text = b"\n".join(lines)
    chunks = [text[at : at + size] for at in range(0, len(text), size)]
    found = [line for line in flat(lines_of(chunks)) if line]
    assert found == [line for line in text.split(b"\n") if line]


@given(st.lists(st.sampled_from([b"}{", b'"', b"a", b"{", b"}", b'{"id":"1","type":"', b"\0 "])))
def test_pieces_lose_nothing_but_blanks(parts: list[bytes]) -> None:
    line = b"".join(parts)
    joined = b"".join(pieces_of(line))
    assert joined.translate(None, b"\0 ") == line.translate(None, b"\0 ")

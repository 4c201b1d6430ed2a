"""The archive keeps replies byte for byte, a kill is told from damage, damage is named."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
import zstandard

from goldpan.core.errors import WorkspaceError
from goldpan.core.secrets import HIDDEN, register
from goldpan.core.storage.archive import Archive, check_archive, repair
from goldpan.core.storage.run_file import first_broken
from goldpan.miners.journal_state import JournalState

BODIES = [b'{"a": 1}', b"", b"\x00\xff" * 1000, "höhe 🪙".encode()]


def write(directory: Path, bodies: list[bytes]) -> None:
    with Archive(directory) as archive:
        archive.begin(resume=False)
        for index, body in enumerate(bodies):
            archive.append({"part": "test", "index": index}, body)


def damage(path: Path, *places: int, bits: int = 1) -> bytes:
    """Turn bits of the bytes at some places; return what the file now holds."""
    data = bytearray(path.read_bytes())
    for place in places:
        data[place] ^= bits
    path.write_bytes(data)
    return bytes(data)


def test_records_come_back_as_they_were(tmp_path: Path) -> None:
    write(tmp_path, BODIES)
    write(tmp_path, [b"second run"])
    records = Archive(tmp_path).records
    assert [record.read() for record in records] == [*BODIES, b"second run"]
    assert [record.sequence for record in records] == list(range(5))
    assert [record.run for record in records] == [1, 1, 1, 1, 2]
    assert records[1].meta["index"] == 1


@pytest.mark.parametrize("body", [b"plain", b'{"token": "archived-secret"}'])
def test_the_digest_holds_for_what_is_archived(tmp_path: Path, body: bytes) -> None:
    register("archived-secret")
    with Archive(tmp_path) as archive:
        archive.begin(resume=False)
        record = archive.append({"part": "test"}, body)
    assert record.read() == body.replace(b"archived-secret", HIDDEN.encode())
    assert first_broken(Archive(tmp_path).records) is None


def test_damage_in_a_body_is_told(tmp_path: Path) -> None:
    write(tmp_path, BODIES)
    record = Archive(tmp_path).records[2]
    damage(record.path, record.offset + record.packed - 1, bits=0xFF)  # the checksum
    with pytest.raises(WorkspaceError, match="damaged"):
        record.read()


def test_any_zstandard_reader_prints_the_bodies(tmp_path: Path) -> None:
    write(tmp_path, BODIES)
    reader = zstandard.ZstdDecompressor()
    with (
        (tmp_path / "run-0001.zst").open("rb") as file,
        reader.stream_reader(file, read_across_frames=True) as stream,
    ):
        assert stream.read() == b"".join(BODIES)


REPLIES = [f"reply {index} ".encode() * (index + 3) for index in range(6)]


def write_run(directory: Path, bodies: Sequence[bytes], *, end: bool = True) -> Path:
    """Write a run as a crawl does: its begin, a record a body, its end."""
    with Archive(directory) as archive:
        number = archive.begin(resume=False)
        archive.append(
            {"part": "begin", "run": number, "keys": [], "at": "", "plan": {"via": "rest"}}
        )
        for index, body in enumerate(bodies):
            meta = {
                "part": "entries",
                "batch": 1,
                "run": number,
                "keys": [f"{number}|{index}"],
                "at": "",
            }
            archive.append(
                {**meta, "number": index, "nodes": [], "more": [], "kind": "issue"}, body
            )
        if end:
            archive.append({"part": "end", "run": number, "keys": [], "at": ""})
    return directory / f"run-{number:04}.zst"


def test_zeros_inside_a_run_do_not_make_the_records_behind_them_vanish(tmp_path: Path) -> None:
    path = write_run(tmp_path, REPLIES, end=False)
    start = Archive(tmp_path).records[3].start
    data = path.read_bytes()
    path.write_bytes(data[:start] + bytes(16) + data[start:])
    with pytest.raises(WorkspaceError, match=rf"run-0001.zst is damaged at byte {start}"):
        Archive(tmp_path)
    assert path.stat().st_size == len(data) + 16


def test_an_older_run_that_is_cut_is_told(tmp_path: Path) -> None:
    path = write_run(tmp_path, REPLIES)
    write_run(tmp_path, REPLIES)
    data = path.read_bytes()
    for cut in range(0, len(data), 3):
        path.write_bytes(data[:cut])
        with pytest.raises(WorkspaceError, match=r"run-0001.zst is damaged at byte \d+"):
            Archive(tmp_path)
    path.unlink()
    with pytest.raises(WorkspaceError, match="the file is gone"):
        Archive(tmp_path)


def test_what_a_kill_left_of_a_run_that_another_followed_is_no_damage(tmp_path: Path) -> None:
    path = write_run(tmp_path, REPLIES, end=False)
    path.write_bytes(path.read_bytes()[:-5])
    with Archive(tmp_path) as archive:
        archive.begin(resume=False)
        archive.append({"part": "begin", "plan": {"n": 1}})
    assert [record.run for record in Archive(tmp_path).records] == [1] * 6 + [2]


def test_a_newest_run_that_did_not_end_may_be_cut_anywhere_and_goes_on(tmp_path: Path) -> None:
    path = write_run(tmp_path, REPLIES, end=False)
    data = path.read_bytes()
    records = Archive(tmp_path).records
    ends, bodies = [record.end for record in records], [record.read() for record in records]
    for cut in (*range(ends[0] - 13, ends[0]), *range(0, len(data), 19)):  # its body is empty
        is_short = any(end - 4 < cut < end for end in ends)  # zeros may be what was cut off
        for zeros in (0,) if is_short else (0, 16, 5_000):
            left = data[:cut] + bytes(zeros)
            path.write_bytes(left)
            whole = sum(left[:end] == data[:end] for end in ends)
            with Archive(tmp_path) as archive:
                archive.begin(resume=True)
                assert len(archive.records) == whole
                archive.append({"part": "test"}, b"after")
            kept = [record.read() for record in Archive(tmp_path).records]
            assert kept == [*bodies[:whole], b"after"]


def test_a_run_that_did_not_end_is_gone_on_with(tmp_path: Path) -> None:
    write_run(tmp_path, REPLIES, end=False)
    with Archive(tmp_path) as archive:
        archive.begin(resume=True)
        archive.append({"part": "entries"}, b"new")
        archive.append({"part": "end"})
    bodies = [record.read() for record in Archive(tmp_path).records]
    assert bodies == [b"", *REPLIES, b"new", b""]
    damage(tmp_path / "run-0001.zst", 40)  # in the first header: only the seal tells
    with pytest.raises(WorkspaceError, match="is damaged at byte"):
        Archive(tmp_path)


def test_every_flipped_bit_is_found(tmp_path: Path) -> None:
    for _ in range(2):
        path = write_run(tmp_path, REPLIES)
    data = path.read_bytes()
    chance = random.Random(5)
    for _ in range(400):
        bit = chance.randrange(len(data) * 8)
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        flaws = check_archive(tmp_path)
        same = (
            not flaws and [r.read() for r in Archive(tmp_path).records] == [b"", *REPLIES, b""] * 2
        )
        assert flaws or same, bit  # a bit of a frame's header may say the same in other words
        assert all(flaw.start <= bit // 8 or flaw.start for flaw in flaws)


def test_a_damaged_newest_record_is_not_taken_for_a_kill(tmp_path: Path) -> None:
    path = write_run(tmp_path, REPLIES, end=False)
    data = damage(path, -3, bits=4)
    with pytest.raises(WorkspaceError, match="is damaged"), Archive(tmp_path) as archive:
        archive.begin(resume=True)
    assert path.read_bytes() == data


def test_repair_keeps_what_is_before_the_damage(tmp_path: Path) -> None:
    for _ in range(2):
        write_run(tmp_path, REPLIES)
    before = Archive(tmp_path).records
    path = tmp_path / "run-0001.zst"
    second, fourth = before[2], before[4]
    places = [place for r in (second, fourth) for place in (r.start + 30, r.offset + 9)]
    data = damage(path, *places)
    with pytest.raises(WorkspaceError, match="--repair"):
        Archive(tmp_path)
    done = repair(tmp_path)
    assert [path.read_bytes() for path in done.aside] == [data]
    assert (done.flaws, done.kept) == (1, 2)
    assert check_archive(tmp_path) == []
    after = [record.digest for record in Archive(tmp_path).records]
    assert after[:-1] == [r.digest for r in before if r.start < second.start or r.run == 2]
    assert JournalState(Archive(tmp_path).records).ends == []
    assert repair(tmp_path).aside == ()
    write_run(tmp_path, REPLIES)
    assert [record.run for record in JournalState(Archive(tmp_path).records).ends] == [4]


def test_repair_of_a_run_that_is_gone_or_cut(tmp_path: Path) -> None:
    for _ in range(3):
        write_run(tmp_path, REPLIES)
    (tmp_path / "run-0001.zst").unlink()
    path = tmp_path / "run-0002.zst"
    path.write_bytes(path.read_bytes()[:-40])
    done = repair(tmp_path)
    assert len(done.aside) == 1
    assert check_archive(tmp_path) == []
    records = Archive(tmp_path).records
    assert len(records) == 7 + 8 + 1
    assert JournalState(records).ends == []


def test_damage_in_the_middle_is_told(tmp_path: Path) -> None:
    write(tmp_path, BODIES)
    damage(tmp_path / "run-0001.zst", 0, bits=0xFF)
    with pytest.raises(WorkspaceError, match=r"damaged at byte 0.*Restore the file"):
        Archive(tmp_path)


def test_repair_of_the_newest_run(tmp_path: Path) -> None:
    path = write_run(tmp_path, REPLIES)
    record = Archive(tmp_path).records[3]
    damage(path, record.offset + 8)
    assert repair(tmp_path).flaws == 1
    records = Archive(tmp_path).records
    assert [each.meta["part"] for each in records] == ["begin", *["entries"] * 2, "repaired"]

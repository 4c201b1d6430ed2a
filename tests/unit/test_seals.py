"""Nothing of an archive is lost in silence: a kill is told from damage, and damage is named."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from goldpan.core.archive import Archive
from goldpan.core.errors import WorkspaceError
from goldpan.miners.repair import check_archive, repair, trusted_ends, unresolved
from tests.run_files import write_run

BODIES = [f"reply {index} ".encode() * (index + 3) for index in range(6)]


def test_zeros_inside_a_run_do_not_make_the_records_behind_them_vanish(tmp_path: Path) -> None:
    path = write_run(tmp_path, BODIES, end=False)
    start = Archive(tmp_path).records[3].start
    data = path.read_bytes()
    path.write_bytes(data[:start] + bytes(16) + data[start:])
    with pytest.raises(WorkspaceError, match=rf"run-0001.zst is damaged at byte {start}"):
        Archive(tmp_path)
    assert path.stat().st_size == len(data) + 16


def test_an_older_run_that_is_cut_is_told(tmp_path: Path) -> None:
    path = write_run(tmp_path, BODIES)
    write_run(tmp_path, BODIES)
    data = path.read_bytes()
    for cut in range(0, len(data), 3):
        path.write_bytes(data[:cut])
        with pytest.raises(WorkspaceError, match=r"run-0001.zst is damaged at byte \d+"):
            Archive(tmp_path)
    path.unlink()
    with pytest.raises(WorkspaceError, match="the file is gone"):
        Archive(tmp_path)


def test_what_a_kill_left_of_a_run_that_another_followed_is_no_damage(tmp_path: Path) -> None:
    path = write_run(tmp_path, BODIES, end=False)
    path.write_bytes(path.read_bytes()[:-5])
    with Archive(tmp_path) as archive:
        archive.begin(resume=False)
        archive.append({"part": "begin", "plan": {"n": 1}})
    assert [record.run for record in Archive(tmp_path).records] == [1] * 6 + [2]


def test_a_newest_run_that_did_not_end_may_be_cut_anywhere(tmp_path: Path) -> None:
    path = write_run(tmp_path, BODIES, end=False)
    data = path.read_bytes()
    ends = [record.end for record in Archive(tmp_path).records]
    for cut in range(0, len(data), 11):
        if any(end - 4 < cut < end for end in ends):
            continue  # too few zeros to tell
        for zeros in (0, 16, 5_000):
            left = data[:cut] + bytes(zeros)
            path.write_bytes(left)
            with Archive(tmp_path) as archive:
                archive.begin(resume=True)
                assert len(archive.records) == sum(left[:end] == data[:end] for end in ends)


def test_a_run_that_did_not_end_is_gone_on_with(tmp_path: Path) -> None:
    write_run(tmp_path, BODIES, end=False)
    with Archive(tmp_path) as archive:
        archive.begin(resume=True)
        archive.append({"part": "entries"}, b"new")
        archive.append({"part": "end"})
    bodies = [record.read() for record in Archive(tmp_path).records]
    assert bodies == [b"", *BODIES, b"new", b""]
    data = bytearray((tmp_path / "run-0001.zst").read_bytes())
    data[40] ^= 1  # in the first header: only the seal tells
    (tmp_path / "run-0001.zst").write_bytes(data)
    with pytest.raises(WorkspaceError, match="is damaged at byte"):
        Archive(tmp_path)


def test_every_flipped_bit_is_found(tmp_path: Path) -> None:
    for _ in range(2):
        path = write_run(tmp_path, BODIES)
    data = path.read_bytes()
    chance = random.Random(5)
    for _ in range(400):
        bit = chance.randrange(len(data) * 8)
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        flaws = check_archive(tmp_path)
        same = (
            not flaws and [r.read() for r in Archive(tmp_path).records] == [b"", *BODIES, b""] * 2
        )
        assert flaws or same, bit  # a bit of a frame's header may say the same in other words
        assert all(flaw.start <= bit // 8 < flaw.end or flaw.start for flaw in flaws)


def test_a_damaged_newest_record_is_not_taken_for_a_kill(tmp_path: Path) -> None:
    path = write_run(tmp_path, BODIES, end=False)
    data = bytearray(path.read_bytes())
    data[-3] ^= 4
    path.write_bytes(data)
    with pytest.raises(WorkspaceError, match="is damaged"), Archive(tmp_path) as archive:
        archive.begin(resume=True)
    assert path.read_bytes() == data


def test_repair_keeps_what_is_sound_where_it_was(tmp_path: Path) -> None:
    for _ in range(2):
        write_run(tmp_path, BODIES)
    before = Archive(tmp_path).records
    path = tmp_path / "run-0001.zst"
    data = bytearray(path.read_bytes())
    for record in (before[2], before[4]):
        data[record.start + 30] ^= 1
        data[record.offset + 9] ^= 1
    path.write_bytes(data)
    with pytest.raises(WorkspaceError, match="--repair"):
        Archive(tmp_path)
    done = repair(tmp_path)
    assert [path.read_bytes() for path in done.aside] == [data]
    assert [(lost.file, lost.offset) for lost in done.lost] == [
        (path.name, before[2].start),
        (path.name, before[4].start),
    ]
    assert check_archive(tmp_path) == []
    after = {record.name: record.read() for record in Archive(tmp_path).records}
    sound = [r for r in before if r not in (before[2], before[4]) and r.meta["part"] != "end"]
    assert all(after[record.name] for record in sound if record.size)
    records = Archive(tmp_path).records
    assert len(unresolved(records)) == 2
    assert trusted_ends(records) == []
    assert repair(tmp_path).aside == ()
    write_run(tmp_path, BODIES)
    records = Archive(tmp_path).records
    assert [record.run for record in trusted_ends(records)] == [3]
    assert unresolved(records) == []


def test_repair_of_a_run_that_is_gone_or_cut(tmp_path: Path) -> None:
    for _ in range(3):
        write_run(tmp_path, BODIES)
    (tmp_path / "run-0001.zst").unlink()
    path = tmp_path / "run-0002.zst"
    path.write_bytes(path.read_bytes()[:-40])
    done = repair(tmp_path)
    assert len(done.aside) == 1
    assert check_archive(tmp_path) == []
    assert len(Archive(tmp_path).records) == 2 + 9 + 8
    assert unresolved(Archive(tmp_path).records)


def test_repair_of_the_newest_run_lets_it_go_on(tmp_path: Path) -> None:
    path = write_run(tmp_path, BODIES)
    record = Archive(tmp_path).records[3]
    data = bytearray(path.read_bytes())
    data[record.offset + 8] ^= 1
    path.write_bytes(data)
    done = repair(tmp_path)
    assert [(lost.part, lost.number) for lost in done.lost] == [("entries", 2)]
    with Archive(tmp_path) as archive:
        assert all(record.meta["part"] != "end" for record in archive.records)
        archive.begin(resume=True)
        archive.append({"part": "end"})
    records = Archive(tmp_path).records
    assert unresolved(records) == []
    assert len(trusted_ends(records)) == 1

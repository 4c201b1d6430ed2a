"""The archive keeps replies byte for byte, whatever happens to the process that writes."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from goldpan.core.archive import Archive
from goldpan.core.errors import WorkspaceError
from goldpan.core.run_file import broken_bodies
from goldpan.core.secrets import HIDDEN, register
from tests.drawing import examples

BODIES = [b'{"a": 1}', b"", b"\x00\xff" * 1000, "höhe 🪙".encode()]


def write(directory: Path, bodies: list[bytes]) -> None:
    with Archive(directory) as archive:
        archive.begin(resume=False)
        for index, body in enumerate(bodies):
            archive.append({"part": "test", "index": index}, body)


def test_records_come_back_as_they_were(tmp_path: Path) -> None:
    write(tmp_path, BODIES)
    write(tmp_path, [b"second run"])
    records = Archive(tmp_path).records
    assert [record.read() for record in records] == [*BODIES, b"second run"]
    assert [record.sequence for record in records] == list(range(5))
    assert [record.run for record in records] == [1, 1, 1, 1, 2]
    assert records[1].meta["index"] == 1


@pytest.mark.parametrize("body", [b"plain", b'{"token": "archived-secret"}'])
def test_a_known_digest_holds_for_what_is_archived(tmp_path: Path, body: bytes) -> None:
    register("archived-secret")
    with Archive(tmp_path) as archive:
        archive.begin(resume=False)
        record = archive.append({"part": "test"}, body, digest=hashlib.sha256(body).hexdigest())
    assert record.read() == body.replace(b"archived-secret", HIDDEN.encode())
    assert not list(broken_bodies(Archive(tmp_path).records))


@given(cut=st.integers(0, 10_000))
@examples(60)
def test_a_file_cut_anywhere_keeps_all_whole_records_and_goes_on(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    directory = tmp_path_factory.mktemp("archive")
    write(directory, BODIES)
    path = directory / "run-0001.zst"
    data = path.read_bytes()
    cut %= len(data)
    ends = [record.offset + record.packed for record in Archive(directory).records]
    path.write_bytes(data[:cut])
    whole = sum(end <= cut for end in ends)
    with Archive(directory) as archive:
        assert len(archive.records) == whole
        archive.begin(resume=True)
        archive.append({"part": "test"}, b"after")
    bodies = [record.read() for record in Archive(directory).records]
    assert bodies == [*BODIES[:whole], b"after"]


def test_a_last_record_of_zeros_is_dropped_on_resume(tmp_path: Path) -> None:
    write(tmp_path, BODIES)
    path = tmp_path / "run-0001.zst"
    last = Archive(tmp_path).records[-1]
    data = bytearray(path.read_bytes())
    data[last.offset :] = bytes(last.packed)
    path.write_bytes(data)
    with Archive(tmp_path) as archive:
        archive.begin(resume=True)
        assert [record.read() for record in archive.records] == BODIES[:-1]


def test_damage_in_the_middle_is_told(tmp_path: Path) -> None:
    write(tmp_path, BODIES)
    path = tmp_path / "run-0001.zst"
    data = bytearray(path.read_bytes())
    data[0] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(WorkspaceError, match=r"damaged at byte 0.*Restore the file"):
        Archive(tmp_path)


def test_damage_in_a_body_is_told(tmp_path: Path) -> None:
    write(tmp_path, BODIES)
    record = Archive(tmp_path).records[2]
    data = bytearray(record.path.read_bytes())
    data[record.offset + record.packed - 1] ^= 0xFF  # the checksum
    record.path.write_bytes(data)
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

"""Tables are a function of the archive alone; what damage took from it is asked for again."""

from __future__ import annotations

import json
import os
import random
import shutil
from pathlib import Path

import pytest

from goldpan.core.errors import WorkspaceError
from goldpan.core.parallel.engine import EngineError
from goldpan.core.settings.config import Settings
from goldpan.core.storage.archive import repair
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.core.values import Execution
from goldpan.miners.backup import mine_backup
from goldpan.miners.coverage import measure_coverage
from goldpan.miners.github.announced import Path as Via
from goldpan.miners.tables import chunks, range_tables
from goldpan.miners.tables import normalize as module
from goldpan.miners.tables.normalize import normalize, normalize_all
from tests.backups import GEM, issue, pull
from tests.mining import (
    BOTH,
    SLUICE,
    archive,
    assert_same,
    copy_mined,
    coverage_of,
    mine_twin,
    table_bytes,
)
from tests.program import goldpan
from tests.twin import Editor, Twin, synthetic_world

REPO = "prospector/sluice"


@pytest.fixture(scope="module")
def mined(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with three runs: GraphQL, REST after edits, GraphQL after more edits."""
    root = tmp_path_factory.mktemp("mined")
    world = synthetic_world()
    with Twin(world) as twin:
        mine_twin(twin, root, "graphql")
        number = next(n for n, entry in world.main.entries.items() if entry.pull is None)
        Editor(world).comment(number, "One more", at="2030-01-01T00:00:00Z")
        mine_twin(twin, root, "rest")
        Editor(world).comment(number, "And another", at="2030-01-02T00:00:00Z")
        mine_twin(twin, root, "graphql")
    return root


def again(root: Path, workers: int) -> dict[str, bytes]:
    normalize(WorkspaceLayout(root), REPO, Reporter(quiet=True), workers=workers)
    return table_bytes(root)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("chunk", [1, 50_000])
def test_chunks_and_processes_do_not_show(
    mined: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int, chunk: int
) -> None:
    shutil.copytree(mined, tmp_path / "w")
    expected = table_bytes(mined)
    monkeypatch.setattr(module, "_CHUNK_BYTES", chunk)
    shutil.rmtree(tmp_path / "w" / "tables")
    assert again(tmp_path / "w", workers) == expected


@pytest.mark.parametrize("workers", [2, 7])
def test_repositories_made_at_once_have_the_same_tables(
    mined: Path, tmp_path: Path, workers: int
) -> None:
    names = [f"prospector/{name}" for name in ("sluice", "pan", "rocker")]
    for name in names:
        shutil.copytree(mined / "raw" / REPO, tmp_path / "raw" / name)
    counts = normalize_all(
        WorkspaceLayout(tmp_path), names, Reporter(quiet=True), None, Execution(workers=workers)
    )
    assert list(counts.tables) == names
    assert all(rows == counts.tables[REPO] for rows in counts.tables.values())
    expected = table_bytes(mined)
    assert all(table_bytes(tmp_path, name) == expected for name in names)


def test_rows_cross_ranges_whole(
    mined: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ranges of seven numbers give the same rows; only the row groups differ."""
    import pyarrow.parquet as pq

    shutil.copytree(mined, tmp_path / "w")
    before = {
        path.name: pq.read_table(path)
        for path in WorkspaceLayout(mined).tables(REPO).glob("*.parquet")
    }
    for holder in (chunks, range_tables):
        monkeypatch.setattr(holder, "RANGE", 7)
    again(tmp_path / "w", 1)
    for name, table in before.items():
        assert pq.read_table(WorkspaceLayout(tmp_path / "w").tables(REPO) / name).equals(table), (
            name
        )


def die(_: object) -> int:
    """End the worker as the kernel does when memory runs out."""
    os._exit(1)


@pytest.mark.nightly
def test_a_worker_that_is_ended_is_told(
    mined: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(mined, tmp_path / "w")
    monkeypatch.setattr(module, "_CHUNK_BYTES", 1)
    monkeypatch.setattr(module, "parse_chunk", die)
    with pytest.raises(EngineError, match=r"was killed.* Give fewer processes"):
        again(tmp_path / "w", 2)
    assert table_bytes(tmp_path / "w") == table_bytes(mined)


QUIET = Reporter(quiet=True)


@pytest.mark.parametrize("via", BOTH)
def test_a_repaired_archive_is_made_whole_by_the_next_run(tmp_path: Path, via: Via) -> None:
    chance = random.Random(3)
    copy_mined(tmp_path, via)
    with Twin(synthetic_world()) as twin:
        mine_twin(twin, tmp_path, via)
        expected = table_bytes(tmp_path)
        records = [record for record in archive(tmp_path).records if record.run == 1]
        path = records[0].path
        data = bytearray(path.read_bytes())
        for record in chance.sample(records, 4):
            data[chance.randrange(record.start, record.end)] ^= 1 << chance.randrange(8)
        path.write_bytes(data)

        done = goldpan("check", tmp_path, "--repair", "--json")
        assert json.loads(done.out)["repaired"]
        workspace = WorkspaceLayout(tmp_path)
        normalize(workspace, SLUICE, Reporter(quiet=True))
        assert not measure_coverage(workspace, SLUICE).complete
        mined = mine_twin(twin, tmp_path, via)
        assert coverage_of(mined).complete
        assert_same(table_bytes(tmp_path), expected)


def test_damage_stops_status_and_tables_with_file_and_place(tmp_path: Path) -> None:
    copy_mined(tmp_path)
    workspace = WorkspaceLayout(tmp_path)
    record = archive(tmp_path).records[4]
    data = bytearray(record.path.read_bytes())
    data[record.offset - 30] ^= 1
    record.path.write_bytes(data)
    at = rf"run-0001.zst is damaged at byte {record.start}.*goldpan check --repair"
    with pytest.raises(WorkspaceError, match=at):
        measure_coverage(workspace, SLUICE)
    with pytest.raises(WorkspaceError, match=at):
        normalize(workspace, SLUICE, Reporter(quiet=True))
    assert record.path.read_bytes() == data


def test_what_only_a_backup_has_is_imported_again(tmp_path: Path) -> None:
    source = tmp_path / "backup.jsonl"
    source.write_text("\n".join(json.dumps(entry) for entry in (issue(), pull())))
    settings = Settings(tmp_path / "w")
    assert mine_backup(settings, source, GEM, QUIET).complete
    workspace = WorkspaceLayout(settings.workspace)
    expected = table_bytes(workspace.root, GEM)
    (record,) = [
        record for record in archive(workspace.root, GEM).records if record.meta.get("number") == 2
    ]
    data = bytearray(record.path.read_bytes())
    data[record.offset + 20] ^= 1
    record.path.write_bytes(data)
    done = repair(workspace.raw(GEM))
    assert (done.flaws, len(done.aside)) == (1, 1)
    assert not measure_coverage(workspace, GEM).complete
    assert mine_backup(settings, source, GEM, QUIET).complete
    assert_same(table_bytes(workspace.root, GEM), expected)

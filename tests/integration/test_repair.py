"""What damage took from an archive is told, and asked for again."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from goldpan.core.errors import WorkspaceError
from goldpan.core.settings.config import Settings
from goldpan.core.storage.archive import repair
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.miners.backup import mine_backup
from goldpan.miners.coverage import measure_coverage
from goldpan.miners.github.announced import Path as Via
from goldpan.miners.tables.normalize import normalize
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
from tests.twin import Twin, synthetic_world

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


def test_nothing_damaged_nothing_done(tmp_path: Path) -> None:
    copy_mined(tmp_path)
    before = archive(tmp_path).records[0].path.read_bytes()
    done = goldpan("check", tmp_path, "--repair")
    assert done.out.splitlines()[-1] == "Nothing is damaged."
    assert archive(tmp_path).records[0].path.read_bytes() == before
    assert repair(WorkspaceLayout(tmp_path).raw(SLUICE)).aside == ()


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

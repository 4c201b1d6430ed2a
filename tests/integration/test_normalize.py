"""Tables are a function of the archive alone, however the work is cut up."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from goldpan.core.errors import WorkspaceError
from goldpan.core.parallel.engine import EngineError
from goldpan.core.storage.archive import Archive
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.core.values import Execution
from goldpan.miners.coverage import measure_coverage
from goldpan.miners.tables import chunks
from goldpan.miners.tables import normalize as module
from goldpan.miners.tables.normalize import normalize, normalize_all
from tests.mining import mine_twin, table_bytes
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
    monkeypatch.setattr(chunks, "RANGE", 7)
    again(tmp_path / "w", 1)
    for name, table in before.items():
        assert pq.read_table(WorkspaceLayout(tmp_path / "w").tables(REPO) / name).equals(table), (
            name
        )


def test_a_reply_of_another_shape_costs_its_row(mined: Path, tmp_path: Path) -> None:
    shutil.copytree(mined, tmp_path / "w")
    raw = WorkspaceLayout(tmp_path / "w").raw(REPO)
    with Archive(raw) as archive:
        archive.begin(resume=True)
        meta = {"part": "timeline", "run": 3, "keys": [], "at": "", "number": 1, "items": 1}
        archive.append(
            {**meta, "request": {"url": ""}, "first": True, "next": None},
            b'[{"event": "commented", "id": "x"}]',
        )
    again(tmp_path / "w", 2)
    (gap,) = measure_coverage(WorkspaceLayout(tmp_path / "w"), REPO).gaps
    assert (gap.number, gap.part, gap.state) == (1, "comments", "failed")
    assert "comment_id cannot be read: 'x'" in gap.reason


def test_nothing_mined_is_told(tmp_path: Path) -> None:
    with pytest.raises(
        WorkspaceError, match=r"no raw replies of x/y\. Run goldpan mine --repo x/y"
    ):
        normalize(WorkspaceLayout(tmp_path), "x/y", Reporter(quiet=True))


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

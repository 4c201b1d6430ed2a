"""Building several repositories at once gives the dataset that building one by one gives."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from goldpan.core.errors import WorkspaceError
from goldpan.git.clone import read_heads
from goldpan.workspace.workspace import Workspace
from tests.demo_workspace import make_demo
from tests.places import files_below

REPO, OTHER = "prospector/sluice", "prospector/copy"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a filtered workspace of two repositories, the second of which copies the first."""
    root = make_demo(tmp_path_factory.mktemp("processes") / "ws")
    layout = Workspace(root).layout
    layout.tables(OTHER).mkdir()
    for path in layout.tables(REPO).glob("*.parquet"):
        rows = pq.read_table(path)
        for name in {"repo", "pull_repo"} & set(rows.column_names):
            old = rows[name].to_pylist()
            new = pa.array([OTHER if value == REPO else value for value in old])
            rows = rows.set_column(rows.column_names.index(name), name, new)
        pq.write_table(rows, layout.tables(OTHER) / path.name)
    shutil.copytree(layout.clone(REPO), layout.clone(OTHER))
    (root / "own.toml").write_text('decide = ["bots"]\n', encoding="utf-8")  # copies are kept
    Workspace(root).filter(REPO, OTHER, profile=root / "own.toml")
    return root


def test_families_of_fix_pairs_draw_the_same_pairs(root: Path, tmp_path: Path) -> None:
    lab = Workspace(root)

    def pairs(family: str, limit: int | None = None, seed: int = 0) -> list[str]:
        output = tmp_path / family
        options = {"profile": root / "own.toml", "output": output, "seed": seed}
        data = lab.build(family, REPO, OTHER, limit=limit, **options)
        ids = data.sql("SELECT id FROM data ORDER BY id")["id"].to_pylist()
        return [str(name).partition(":")[2] for name in ids]

    faults, edits = pairs("fault-localization"), pairs("code-edit")
    shared = set(faults) & set(edits)
    assert len(shared) > 10
    drawn_faults = set(pairs("fault-localization", 8, seed=1))
    drawn_edits = set(pairs("code-edit", 8, seed=1))
    own = (drawn_faults | drawn_edits) - shared
    assert len(drawn_faults & drawn_edits) >= 8 - len(own)


def test_the_same_bytes_by_one_process_and_by_two(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("goldpan.builders.repository_rows._WORTH_PROCESSES", 0)
    alone, both = Workspace(root, workers=1), Workspace(root, workers=2)
    for family, limit in (("qa", 2), ("code-edit", None)):
        results = []
        for name, lab in (("one", alone), ("two", both)):
            own = root / "own.toml"
            data = lab.build(family, OTHER, REPO, profile=own, limit=limit, output=tmp_path / name)
            assert data.built is not None
            results.append(replace(data.built, seconds=0.0, written=None))
        files = files_below(tmp_path / "one")
        assert files == files_below(tmp_path / "two"), family
        assert results[0] == results[1]
        if limit is None:
            repos = data.sql("SELECT DISTINCT repo FROM data")["repo"].to_pylist()
            assert sorted(repos) == [OTHER, REPO]
            heads = read_heads(both.layout.clone(REPO))
            assert heads.source in ("bundle", "folder")
            for source in json.loads(files["provenance.json"])["sources"]:
                assert source["history"] == heads.source
                assert source["inputs"]["git HEAD"] == heads.head
                assert source["inputs"]["git refs"] == heads.refs
        else:
            assert len(data) == limit


def test_what_is_not_filtered_is_told_before_anything_is_built(root: Path, tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="was not filtered by the profile faun-eval"):
        Workspace(root).build("qa", profile="faun-eval", output=tmp_path / "qa")
    assert not (tmp_path / "qa").exists()

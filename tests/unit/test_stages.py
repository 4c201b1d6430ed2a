"""The table of stages: which stage wrote a file, what it read, and what makes it anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldpan.core.errors import WorkspaceError
from goldpan.core.storage.sealed import check_outputs
from goldpan.lineage.stages import STAGES, remedy_for, stage_of

AGAIN = {
    "raw/o/.github/run-0001.zst": "Restore it, or run goldpan check --repair",
    "tables/o/n/entries.parquet": "Run goldpan normalize --repo o/n",
    "tables/o/n/pairs.my.rules.parquet": "Run goldpan pair --repo o/n --rules my.rules",
    "tables/o/n/pair.landed.json": "Run goldpan pair --repo o/n --rules landed",
    "tables/o/n/changes.parquet": "Run goldpan clone --repo o/n",
    "verdicts/o/n/unpaired/default.parquet": (
        "Delete it and run goldpan filter --repo o/n --profile default"
    ),
    "verdicts/o/n/landed/{a}*.llm.parquet": (
        "Delete it and run goldpan review --repo o/n --profile {a}* --rules landed"
    ),
    "audits/qa/findings.parquet": "Run goldpan audit qa",
    "annotations/people/raw/1.json.zst": "Run goldpan annotate pull --project people",
}


@pytest.mark.parametrize("name", AGAIN)
def test_a_file_s_path_tells_what_makes_it_anew(name: str, tmp_path: Path) -> None:
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).touch()
    assert remedy_for(tmp_path, tmp_path / name) == AGAIN[name]
    known = stage_of(tmp_path, tmp_path / name)
    assert known is not None
    stage, fields = known
    assert stage.files(tmp_path, **fields) == stage.files(tmp_path) == [tmp_path / name]
    others = [other for other in STAGES.values() if other is not stage]
    assert [other.name for other in others if other.files(tmp_path)] == []


def test_a_stage_reads_what_others_wrote_of_the_same_repository(tmp_path: Path) -> None:
    names = ("tables/o/n/entries.parquet", "tables/o/n/pairs.default.parquet")
    for name in (*names, "tables/o/n/pairs.landed.parquet", "tables/o/other/entries.parquet"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    stages = [STAGES[name] for name in STAGES["filter"].inputs]
    read = [path for one in stages for path in one.files(tmp_path, repo="O/N", rules="default")]
    assert read == [tmp_path / name for name in names]


@pytest.mark.parametrize(
    "name",
    [
        "report.html",
        "raw/o/n/lock",
        "runs/t/m/seed-0.work/a.parquet",
        "tables/o/n/._entries.parquet",
        "datasets/qa/.DS_Store",
    ],
)
def test_other_files_are_of_no_stage(name: str, tmp_path: Path) -> None:
    assert stage_of(tmp_path, tmp_path / name) is None


@pytest.mark.parametrize("stage", ["normalize", "pair.landed"])
def test_an_error_names_the_command_of_the_table(stage: str, tmp_path: Path) -> None:
    path = tmp_path / "tables" / "o" / "n" / f"{stage}.json"
    path.parent.mkdir(parents=True)
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(WorkspaceError) as error:
        check_outputs(path.parent, stage)
    assert error.value.remedy == remedy_for(tmp_path, path)

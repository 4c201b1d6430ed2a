"""Null simulations go on where they stopped, and stop where the rate is clear."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import calibration
from benchmarks.calibration_methods import NEW_ROWS
from benchmarks.calibration_runs import LIMIT, Runs, rates, wilson
from benchmarks.null_models import Cell

CELL = Cell(tasks=1, rows=50, seeds=1, models=2, flip=0.1)
HIGHEST = "nlbse23"
"""The method that always declares models different."""


def lines(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]


def test_what_is_finished_does_not_run_again(tmp_path: Path) -> None:
    first = Runs(tmp_path, 20, 20, batch=20).repeat("rows", CELL, [NEW_ROWS])
    before = lines(tmp_path)
    assert Runs(tmp_path, 20, 20, batch=20).repeat("rows", CELL, [NEW_ROWS]) == first
    assert lines(tmp_path) == before
    more = Runs(tmp_path, 40, 40, batch=20).repeat("rows", CELL, [NEW_ROWS])
    assert (first.repeats, more.repeats) == (20, 40)
    assert lines(tmp_path)[: len(before)] == before


def test_a_stopped_run_and_a_whole_one_are_the_same(tmp_path: Path) -> None:
    for most in (20, 60):
        runs = Runs(tmp_path / "stopped", 20, most, batch=20)
        stopped = runs.repeat_until_clear("rows", CELL, NEW_ROWS)
    runs = Runs(tmp_path / "whole", 20, 60, batch=20)
    whole = runs.repeat_until_clear("rows", CELL, NEW_ROWS)
    assert stopped == whole
    assert whole.repeats == 60


def test_a_batch_that_two_processes_ran_counts_once(tmp_path: Path) -> None:
    runs = Runs(tmp_path, 40, 40, batch=20)
    first = runs.repeat("rows", CELL, [NEW_ROWS])
    file = tmp_path / "results.jsonl"
    file.write_text(2 * file.read_text())
    assert runs.repeat("rows", CELL, [NEW_ROWS]) == first


def test_a_clear_rate_ends_a_cell(tmp_path: Path) -> None:
    tally = Runs(tmp_path, 20, 1_000, batch=20).repeat_until_clear("rows", CELL, HIGHEST)
    assert tally.repeats == 20
    assert tally.rate(HIGHEST) > 0.5
    assert wilson(tally.different[HIGHEST], tally.repeats)[0] > LIMIT


def test_studies_follow_from_their_seed() -> None:
    draws = [rates(CELL, [HIGHEST], 30, seed).won[HIGHEST] for seed in range(4)]
    assert len(set(draws)) > 1
    assert rates(CELL, [HIGHEST], 30, 1) == rates(CELL, [HIGHEST], 30, 1)


def test_shares_of_the_cells_make_the_whole_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = {"two": [Cell(1, rows, 1, 2, 0.1) for rows in (20, 30)], "three": [Cell(1, 20, 1, 3)]}
    monkeypatch.setattr(calibration, "NULLS", cells)
    settings = ["--results", str(tmp_path), "--part", "rows", "--fewest", "20", "--most", "20"]
    for share in ("1/2", "2/2"):
        calibration.main([*settings, "--share", share])
    before = lines(tmp_path)
    assert sorted(str(line["cell"]) for line in before) == sorted(
        cell.named() for group in cells.values() for cell in group
    )
    capsys.readouterr()
    calibration.main(settings)
    assert lines(tmp_path) == before
    assert "| all: 3 | 750 |" in capsys.readouterr().out


def test_a_share_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        calibration.main(["--results", str(tmp_path), "--share", "3/2"])

"""In large what tests of other layers show in small."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.annotation import measure_memory
from goldpan.code.languages import LANGUAGES
from goldpan.text.markdown import markdown_to_text
from tests.fault_matrix import Cell, cells, check_cell
from tests.integration.test_code_workers import assert_hostile_texts_are_survived
from tests.integration.test_mine_cost import assert_budget
from tests.mining import coverage_of, mine_twin
from tests.null_storm import STORM, Field, check_null
from tests.scanners import ANTHOLOGIES, HALF, MARKUP, SCANNERS, SMALL, check_growth
from tests.twin import Faults, Twin, workload_world


@pytest.mark.parametrize("cell", list(cells()), ids=str)
def test_a_fault(cell: Cell, tmp_path: Path) -> None:
    check_cell(cell, tmp_path)


@pytest.mark.parametrize("field", STORM, ids=".".join)
def test_a_null(field: Field, tmp_path: Path) -> None:
    """Each field that GitHub may answer with null is null once."""
    check_null(field, tmp_path)


@pytest.mark.parametrize("name", SCANNERS)
def test_time_grows_with_the_text(name: str) -> None:
    scan, own = SCANNERS[name]
    for text in own:
        check_growth(scan, text)
    for text in ANTHOLOGIES:
        check_growth(scan, text, HALF)


@pytest.mark.parametrize("name", MARKUP)
def test_markdown_is_read_in_pieces(name: str) -> None:
    """The slowest scanner: 65,536 characters tell whether its pieces of a quarter are alike."""
    check_growth(markdown_to_text, MARKUP[name], SMALL)


def test_memory_of_a_pull_does_not_follow_the_export(tmp_path: Path) -> None:
    few, many = (measure_memory(tmp_path, count) for count in (50_000, 300_000))
    assert many < 700
    assert many < 1.6 * few


def test_hostile_texts_in_every_language() -> None:
    assert_hostile_texts_are_survived(LANGUAGES)


def test_the_workload_fits_its_budget(tmp_path: Path) -> None:
    assert_budget(1_000, 200, 180, tmp_path)


def test_the_workload_with_more_reviews_fits_its_budget(tmp_path: Path) -> None:
    """1,000 issues with 4 comments, 1,000 pulls with 3 reviews and 3 review comments."""
    with Twin(workload_world(reviews=3)) as twin:
        mined = mine_twin(twin, tmp_path)
        assert twin.points == mined.points <= 200
        assert twin.count == mined.requests <= 180
    assert coverage_of(mined).complete
    stored = {count.kind: count.stored for count in coverage_of(mined).counts}
    assert stored["reviews"] == 3_000


def test_faults_do_not_make_it_crawl(tmp_path: Path) -> None:
    with Twin(workload_world(issues=400, pulls=400), Faults(rate=0.1, seed=3)) as twin:
        mined = mine_twin(twin, tmp_path)
        assert coverage_of(mined).complete
        assert twin.count <= 5 * mined.predicted.requests

"""In large what tests of other layers show in small."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldpan.code.edits.apply import apply_edits
from goldpan.code.edits.find import find_edits
from goldpan.code.languages import LANGUAGES
from tests.hostile_edits import changed_by_git, changed_lines, edited
from tests.integration.test_code_workers import assert_hostile_texts_are_survived
from tests.integration.test_mine_cost import assert_budget
from tests.mining import coverage_of, mine_twin
from tests.twin import Faults, Twin, workload_world


def test_hostile_texts_in_every_language() -> None:
    assert_hostile_texts_are_survived(LANGUAGES)


@pytest.mark.parametrize(
    ("lines", "kinds", "changes", "most"),
    [
        (100_000, 2, 1_000, 30_000),
        (100_000, 10, 1_000, 12_000),
        (100_000, 300, 1_000, 6_000),
        (150_000, 2, 1_000, 30_000),
        (150_000, 10, 5_000, 50_000),
    ],
)
def test_blocks_are_small(tmp_path: Path, lines: int, kinds: int, changes: int, most: int) -> None:
    """Files of near-equal lines have blocks as small as git's changes need."""
    before, after = edited(lines, kinds, changes)
    edits = find_edits(before, after)
    assert apply_edits(before, edits) == after
    assert changed_lines(before, after) <= 1.25 * changed_by_git(tmp_path, before, after)
    assert sum(edit.search.count("\n") + edit.replace.count("\n") for edit in edits) <= most


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

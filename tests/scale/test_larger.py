"""In large what tests of other layers show in small."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldpan.code.languages import LANGUAGES
from tests.integration.test_code_workers import assert_hostile_texts_are_survived
from tests.mining import coverage_of, mine_twin
from tests.twin import Faults, Twin, workload_world


def test_hostile_texts_in_every_language() -> None:
    assert_hostile_texts_are_survived(LANGUAGES)


def test_the_workload_fits_its_budget(tmp_path: Path) -> None:
    """1,000 issues with 4 comments, 1,000 pull requests with 3 review comments, and the rest."""
    with Twin(workload_world()) as twin:
        mined = mine_twin(twin, tmp_path)
        assert twin.points == mined.points <= 200
        assert twin.count == mined.requests <= 180
    assert coverage_of(mined).complete
    stored = {count.kind: count.stored for count in coverage_of(mined).counts}
    one_each = dict.fromkeys(("issues", "pulls", "reviews", "commits"), 1_000)
    several = {"comments": 8 * 1_000, "review comments": 3 * 1_000, "files": 2 * 1_000}
    assert stored == {**one_each, **several}
    crossed_both_ways, closing, closed_by = 2, 2, 1
    assert mined.tables["references"] >= 1_000 * (crossed_both_ways + closing + closed_by)
    assert mined.predicted.points == pytest.approx(twin.points, rel=0.05)
    assert mined.predicted.requests == pytest.approx(twin.count, rel=0.05)


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

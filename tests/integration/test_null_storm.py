"""A field that GitHub answers with null breaks nothing, and nothing vanishes unsaid."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.null_storm import HOPELESS, NOTABLE, NOTHING_TO_TELL, STORM, Field, check_null


def test_the_storm_covers_what_is_asked() -> None:
    assert len(STORM) >= 45
    assert set(STORM) > NOTHING_TO_TELL | HOPELESS | NOTABLE


@pytest.mark.parametrize("field", sorted(NOTHING_TO_TELL | HOPELESS | NOTABLE), ids=".".join)
def test_a_null(field: Field, tmp_path: Path) -> None:
    check_null(field, tmp_path)

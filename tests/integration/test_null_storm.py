"""A field that GitHub answers with null breaks nothing, and nothing vanishes unsaid."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.drawing import daily
from tests.null_storm import HOPELESS, NOTABLE, NOTHING_TO_TELL, STORM, Field, check_null

CHOSEN: tuple[Field, ...] = (
    ("ClosedEvent", "closer"),
    ("MarkedAsDuplicateEvent", "canonical"),
    ("IssueConnection", "nodes"),
    ("Issue", "author"),
    ("LabelConnection", "nodes"),
    ("PageInfo", "endCursor"),
    ("Repository", "defaultBranchRef"),
)
OTHERS = (NOTHING_TO_TELL | HOPELESS | NOTABLE) - {*CHOSEN}


def test_the_storm_covers_what_is_asked() -> None:
    assert len(STORM) >= 45
    assert set(STORM) > NOTHING_TO_TELL | HOPELESS | NOTABLE


@pytest.mark.parametrize("field", daily(CHOSEN, sorted(OTHERS)), ids=".".join)
def test_a_null(field: Field, tmp_path: Path) -> None:
    check_null(field, tmp_path)

"""Each field that GitHub may answer with null is null once: nothing breaks or vanishes unsaid."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.null_storm import STORM, Field, check_null


@pytest.mark.parametrize("field", STORM, ids=".".join)
def test_a_null(field: Field, tmp_path: Path) -> None:
    check_null(field, tmp_path)

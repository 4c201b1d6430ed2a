"""Files of 100,000 near-equal lines: blocks as small as git's changes need."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldpan.code.edits.apply import apply_edits
from goldpan.code.edits.find import find_edits
from tests.hostile_edits import changed_by_git, changed_lines, edited


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
    before, after = edited(lines, kinds, changes)
    edits = find_edits(before, after)
    assert apply_edits(before, edits) == after
    assert changed_lines(before, after) <= 1.25 * changed_by_git(tmp_path, before, after)
    assert sum(edit.search.count("\n") + edit.replace.count("\n") for edit in edits) <= most

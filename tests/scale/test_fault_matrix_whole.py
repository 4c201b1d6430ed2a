"""Whatever GitHub answers, one entry never ends a run, and what lacks is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fault_matrix import Cell, cells, check_cell


@pytest.mark.parametrize("cell", list(cells()), ids=str)
def test_a_fault(cell: Cell, tmp_path: Path) -> None:
    check_cell(cell, tmp_path)

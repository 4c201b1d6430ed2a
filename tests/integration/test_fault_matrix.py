"""Whatever GitHub answers, one entry never ends a run: one fault of each class."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fault_checks import check_cell
from tests.fault_matrix import Cell, some_cells


@pytest.mark.parametrize("cell", list(some_cells()), ids=str)
def test_a_fault(cell: Cell, tmp_path: Path) -> None:
    check_cell(cell, tmp_path)

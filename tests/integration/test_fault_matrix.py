"""Whatever GitHub answers, one entry never ends a run: one fault of each class."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldpan.core.errors import RepositoryError
from tests.drawing import daily
from tests.fault_matrix import REST_LISTS, Cell, check_cell, matrix_world, run_cell, some_cells
from tests.mining import coverage_of, mine_twin
from tests.twin import Fault, Faults, Twin


@pytest.mark.parametrize("cell", list(some_cells()), ids=str)
def test_a_fault(cell: Cell, tmp_path: Path) -> None:
    check_cell(cell, tmp_path)


@pytest.mark.parametrize("where", daily(REST_LISTS[1:3], (REST_LISTS[0], REST_LISTS[3])))
def test_a_list_that_is_refused_costs_itself(where: str, tmp_path: Path) -> None:
    """Others tell of the same entries; it is asked for again at the end and on the next run."""
    out = run_cell(Cell("404", where, "always"), tmp_path)
    assert out.failure is None
    assert (out.complete, out.mended) == (False, True)
    assert (None, where.removeprefix("all_")) in out.gaps
    assert any("404" in reason for reason in out.reasons)


def test_a_list_that_is_refused_for_a_while_is_read_at_the_end(tmp_path: Path) -> None:
    """Its walk asks twice for the first page, and none of the others is read before that."""
    refused = Fault("404", "all_comments", times=2)
    with Twin(matrix_world(), Faults(chosen=[refused])) as twin:
        mined = mine_twin(twin, tmp_path, "rest")
    assert mined.failure is None
    assert coverage_of(mined).complete, coverage_of(mined).gaps


def test_a_repository_whose_lists_are_all_refused_ends_the_run(tmp_path: Path) -> None:
    refused = Faults(chosen=[Fault("404", where) for where in REST_LISTS])
    with Twin(matrix_world(), refused) as twin:
        mined = mine_twin(twin, tmp_path, "rest")
    assert isinstance(mined.failure, RepositoryError)
    assert "None of the repository's lists can be read (HTTP 404" in mined.failure.problem

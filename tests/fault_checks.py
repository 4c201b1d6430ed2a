"""What must come of a run under any fault: one entry never ends it, and what lacks is told."""

from __future__ import annotations

from pathlib import Path

from goldpan.core.errors import AuthenticationError, GoldpanError
from tests.fault_matrix import GRAPHQL_ENTRY, REST_ENTRY, REST_LISTS, Cell, Outcome, run_cell
from tests.twin import ERRORS

_ONCE = 9
"""Requests that a failure which passes costs at most, here where a batch is split into singles."""
_ALWAYS = 24
"""Requests that an entry which always fails costs at most."""
WITHHELD = {"FORBIDDEN", "FORBIDDEN by SAML"}
"""What is not asked for again in the same run: more access is not given meanwhile."""
TWICE = {("404", "issue")}
"""A second 404 of the same entry, whose timeline was not found before."""


def ends_the_run(cell: Cell) -> bool:
    """Tell a fault of the token, the repository or the network as a whole."""
    if cell.where in (*REST_ENTRY, *GRAPHQL_ENTRY):
        return False
    if ERRORS[cell.error].kind == "refused":
        return cell.where not in REST_LISTS  # others may be served, and tell of the same entries
    return cell.when == "always"


def check_cell(cell: Cell, directory: Path) -> None:
    """Mine under a fault and check all that came of it."""
    out = run_cell(cell, directory)
    assert out.struck, "the fault was never met"
    assert out.same or not out.complete, "complete, and something lacks"
    assert out.mended, (out.gaps, out.reasons)
    if out.failure is not None:
        assert_named(cell, out.failure)
    elif not out.complete:
        assert out.gaps or "did not finish" in out.status
        assert all(out.reasons)
    if cell.when == "always, one entry":
        assert out.failure is None
        assert not out.complete
        assert {number for number, _ in out.gaps} == {cell.number}
    passes = cell.error not in WITHHELD and (cell.error, cell.where) not in TWICE
    if cell.when == "once" and not ends_the_run(cell) and passes:
        assert out.complete, (out.failure, out.gaps, out.reasons)
    assert_bounded(cell, out)


def assert_named(cell: Cell, failure: GoldpanError) -> None:
    """Check that a run ends only for what is about all of it, and says what to do."""
    whole = cell.when == "for a while" and ERRORS[cell.error].kind == "token"
    assert ends_the_run(cell) or whole, failure
    assert failure.problem
    assert failure.remedy
    if ERRORS[cell.error].kind == "token":
        assert isinstance(failure, AuthenticationError)


def assert_bounded(cell: Cell, out: Outcome) -> None:
    """Check that a fault costs a small number of requests."""
    if cell.when == "once":
        assert out.requests <= out.clean + _ONCE
    if cell.when == "always, one entry":
        assert out.requests <= out.clean + _ALWAYS

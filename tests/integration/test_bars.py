"""Progress bars on a real terminal: when work has ended, none of their lines stays."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.screens import run_on_screen

_WORK = """
import time
from goldpan.core.terminal import Reporter

outer = Reporter()
with outer.task("mine", 4) as stage:
    for number in range(4):
        inner = Reporter()
        with inner.task("Reading", 9) as work:
            for _ in range(9):
                work.advance()
                time.sleep(0.03)
            inner.note(f"note {number}")
            other = Reporter()
            other.note(f"another {number}")
        stage.advance()
print("the result")
"""


@pytest.mark.parametrize("columns", [110, 60])
def test_bars_within_bars_leave_nothing_behind(columns: int, tmp_path: Path) -> None:
    lines = run_on_screen([sys.executable, "-c", _WORK], columns, os.environ, tmp_path)
    notes = [f"{kind} {number}" for number in range(4) for kind in ("note", "another")]
    assert list(filter(None, lines)) == [*notes, "the result"]

"""What mining a thousand issues and a thousand pull requests costs."""

from __future__ import annotations

from pathlib import Path

from tests.integration.test_mine_cost import assert_budget


def test_the_workload_fits_its_budget(tmp_path: Path) -> None:
    assert_budget(1_000, 200, 180, tmp_path)

"""Weak tests and luck of rows that pytest runs, in environments that uv builds."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldpan.core.storage.parquet import read_table
from tests.planted_fixes import (
    CLOCK,
    EXAMPLE,
    HASH,
    ORDER,
    SKIPPED,
    SLEEP,
    SLOW,
    STRONG,
    WEAK,
    Planted,
)


@pytest.mark.timeout(600)
def test_what_depends_on_order_or_hash_seed_is_told_from_what_is_stable(tmp_path: Path) -> None:
    tests = {"weak": WEAK, "strong": STRONG, "order": ORDER, "hash": HASH, "clock": CLOCK}
    planted = Planted(tmp_path, {**tests, "sleep": SLEEP, "skipped": SKIPPED})
    assert {record.proof.verdict for record in planted.verify().values()} == {"verified"}
    result, _ = planted.audit("weak-tests", "luck")
    assert planted.verdicts(result, "luck") == {
        "weak": "not-found",
        "strong": "not-found",
        "order": "order, alone",
        "hash": "hash-seed",
        "clock": "clock" if any(Path("/usr/lib").glob("*/faketime/*")) else "not-found",
        "sleep": "not-found",
        "skipped": "not-found",
    }
    assert planted.verdicts(result, "weak-tests") == {
        "weak": "found",
        "strong": "not-found",
        "order": "found",
        "hash": "not-found",
        "clock": "not-found",
        "sleep": "not-found",
        "skipped": "found",
    }
    rows = read_table(Path(result.file)).to_pylist()
    (order,) = [row for row in rows if row["case"] == "order, alone"]
    assert order["why"].startswith("the reversed order, each test alone change what its tests say")
    assert {span["kind"] for span in order["evidence"]} == {"order", "alone"}


@pytest.mark.timeout(600)
def test_examples_that_no_test_runs_have_no_variants_and_slow_files_a_longer_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("goldpan.audit.trials.trial._SECONDS", 1.0)
    planted = Planted(tmp_path, {"example": EXAMPLE, "slow": SLOW})
    assert {record.proof.verdict for record in planted.verify().values()} == {"verified"}
    result, _ = planted.audit("weak-tests", "luck")
    assert planted.verdicts(result, "weak-tests") == {"example": "not-found", "slow": "not-found"}
    rows = read_table(Path(result.file)).to_pylist()
    (slow,) = [row for row in rows if row["id"].endswith("slow") and row["finding"] == "luck"]
    assert "exceeded a limit" not in slow["why"]

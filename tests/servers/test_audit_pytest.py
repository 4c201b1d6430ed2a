"""Weak tests and luck of rows that pytest runs, in environments that uv builds."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldpan.core.storage.parquet import read_table
from tests.planted_fixes import CLOCK, HASH, ORDER, SKIPPED, SLEEP, STRONG, WEAK, Planted


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

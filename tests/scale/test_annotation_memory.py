"""A pull of many answers takes the memory of one of few."""

from __future__ import annotations

from pathlib import Path

from benchmarks.annotation import measure_memory


def test_memory_does_not_follow_the_export(tmp_path: Path) -> None:
    few, many = (measure_memory(tmp_path, count) for count in (50_000, 300_000))
    assert many < 700
    assert many < 1.6 * few

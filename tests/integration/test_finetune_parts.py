"""The parts of fine-tuning that need no model: what makes a step, and the scale of numbers."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.finetune_gpu import Measured, Size, model_flops, table
from goldpan.evaluation.finetune import launch
from goldpan.evaluation.finetune.job import TrainingSettings, device_share, with_enough_steps
from goldpan.evaluation.finetune.text_heads import scale_of
from goldpan.evaluation.finetune.trainer import StepSampler

LENGTHS = st.lists(st.integers(1, 500), min_size=1, max_size=300)


def _taken(sampler: StepSampler) -> list[int]:
    return [row for part in sampler for row in part]


@given(LENGTHS, st.integers(1, 64), st.integers(0, 5), st.booleans())
def test_an_epoch_has_every_row_once(
    lengths: list[int], batch: int, epoch: int, grouped: bool
) -> None:
    sampler = StepSampler(lengths, batch, batch, 3, grouped, epoch=epoch)
    rows = _taken(sampler)
    assert sorted(row for row in rows if row >= 0) == list(range(len(lengths)))
    assert len(rows) == batch * math.ceil(len(lengths) / batch)
    assert rows == _taken(sampler)
    if grouped:
        assert lengths[rows[0]] == max(lengths)


def test_grouped_rows_are_of_like_length_and_their_order_differs_by_epoch_and_seed() -> None:
    lengths = [1 + (at * 7919) % 500 for at in range(4_000)]

    def padding(grouped: bool) -> float:
        steps = StepSampler(lengths, 32, 32, 0, grouped, epoch=1)
        return sum(len(step) * max(lengths[row] for row in step) for step in steps) / sum(lengths)

    assert padding(True) < 1.1 < 1.5 < padding(False)
    orders = [
        StepSampler(lengths, 32, 32, seed, True, epoch=epoch) for seed in (0, 1) for epoch in (1, 2)
    ]
    assert len({str(_taken(order)) for order in orders}) == 4


@given(LENGTHS, st.integers(1, 5), st.integers(1, 8), st.integers(1, 40))
def test_a_step_has_the_same_rows_however_many_share_it(
    lengths: list[int], world: int, share: int, most: int
) -> None:
    batch = world * share
    size = device_share(batch, world, most)
    assert share % size == 0 and size <= max(1, most)
    parts = [list(StepSampler(lengths, batch, size, 0, True, rank, world)) for rank in range(world)]
    alone = list(StepSampler(lengths, batch, batch, 0, True))
    count = batch // (world * size)
    assert {len(own) for own in parts} == {len(alone) * count}
    for number, step in enumerate(alone):
        shared = [own[number * count : (number + 1) * count] for own in parts]
        assert sorted(row for own in shared for part in own for row in part) == sorted(step)


@given(st.lists(st.floats(-0.9, 1e6), min_size=1, max_size=20))
def test_numbers_come_back_from_their_scale(values: list[float]) -> None:
    scale = scale_of(values, logarithm=True)
    for value in values:
        assert scale.outer(scale.inner(value)) == pytest.approx(value, rel=1e-6, abs=1e-6)
    assert (
        min(values) - 1e-6 <= scale.outer(-1e9) <= scale.outer(1e9) <= max(values) * 1.000001 + 1e-6
    )


def test_numbers_below_a_logarithm_stay_as_they_are() -> None:
    assert scale_of([-3.0, 5.0], logarithm=True).outer(7.5) == 7.5
    assert scale_of([1.0, 5.0], logarithm=False).inner(4.0) == 4.0


def test_the_cause_is_told_and_not_the_launchers_own_error(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("IndexError: the real cause\ntorch.ChildFailedError: \nRoot Cause\n")
    assert launch._last_line(log) == "IndexError: the real cause"


def test_a_batch_is_shared_evenly() -> None:
    settings = TrainingSettings(processes=3, batch=66)
    assert with_enough_steps(settings, 50, words=False, chosen=()).batch % 3 == 0


def test_utilization_counts_real_tokens() -> None:
    size = Size("small", True, 200, 2, 2, 1, 1)
    assert model_flops(size, 32_000 * 200 + 1_000, [10]) == 6 * 1_000 * 10 + 12 * 2 * 200 * 100
    measured = [
        Measured("m", "plain PyTorch", 10**9, 2.0, 1_000, 50e12, 2**30, 8),
        Measured("m", "Goldpan", 10**9, 1.0, 1_000, 50e12, 2**31, 8),
    ]
    plain, ours = table(measured, 100e12).splitlines()[2:]
    assert "| 500 | 1.00 | 1.0 GiB | 25.000 T | 25.0% |" in plain
    assert "| 1,000 | 2.00 | 2.0 GiB | 50.000 T | 50.0% |" in ours

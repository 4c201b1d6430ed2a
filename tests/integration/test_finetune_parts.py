"""The parts of fine-tuning that need no model: what makes a step, which tokens are a word."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldpan.evaluation.finetune import launch
from goldpan.evaluation.finetune.heads import covering, windows
from goldpan.evaluation.finetune.job import TrainingSettings, with_enough_steps
from goldpan.evaluation.finetune.steps import StepSampler, device_share, parts_of, steps_of_epoch
from goldpan.evaluation.finetune.text_heads import scale_of
from goldpan.evaluation.finetune.word_heads import word_spans

LENGTHS = st.lists(st.integers(1, 500), min_size=1, max_size=300)


@given(LENGTHS, st.integers(1, 64), st.integers(0, 5), st.booleans())
def test_an_epoch_has_every_row_once(
    lengths: list[int], batch: int, epoch: int, group: bool
) -> None:
    steps = steps_of_epoch(lengths, batch, 3, epoch, grouped=group)
    assert sorted(row for step in steps for row in step) == list(range(len(lengths)))
    assert len(steps) == math.ceil(len(lengths) / batch)
    assert steps == steps_of_epoch(lengths, batch, 3, epoch, grouped=group)
    if group and epoch == 0:
        assert lengths[steps[0][0]] == max(lengths)


def test_grouped_rows_are_of_like_length_and_their_order_differs_by_epoch_and_seed() -> None:
    lengths = [1 + (at * 7919) % 500 for at in range(4_000)]

    def padding(group: bool) -> float:
        steps = steps_of_epoch(lengths, 32, 0, 1, grouped=group)
        return sum(len(step) * max(lengths[row] for row in step) for step in steps) / sum(lengths)

    assert padding(True) < 1.05 < 1.5 < padding(False)
    orders = [
        steps_of_epoch(lengths, 32, seed, epoch, grouped=True)
        for seed in (0, 1)
        for epoch in (1, 2)
    ]
    assert len({str(order) for order in orders}) == 4


@given(
    st.lists(st.integers(), min_size=1, max_size=64, unique=True),
    st.integers(1, 9),
    st.integers(1, 64),
)
def test_processes_share_a_step(step: list[int], world: int, device_batch: int) -> None:
    parts = [list(parts_of(step, rank, world, device_batch)) for rank in range(world)]
    assert len({len(part) for part in parts}) == 1
    taken = [row for share in parts for part in share for row, counts in part if counts]
    assert sorted(taken) == sorted(step)
    assert all(1 <= len(part) <= device_batch for share in parts for part in share)


@given(LENGTHS, st.integers(1, 5), st.integers(1, 8), st.integers(1, 40))
def test_every_step_but_the_last_has_as_many_parts(
    lengths: list[int], world: int, share: int, most: int
) -> None:
    batch = world * share
    size = device_share(batch, world, most)
    assert share % size == 0 and size <= max(1, most)
    for rank in range(world):
        sampler = StepSampler(lengths, batch, size, 0, True, rank, world)
        assert len(list(sampler)) == len(sampler)
        assert sampler.steps == -(-len(sampler) // sampler.parts)


@given(st.lists(st.text("ab ", max_size=4), max_size=8))
def test_words_are_where_they_stand(tokens: list[str]) -> None:
    text = " ".join(tokens)
    assert [text[start:end] for start, end in word_spans(tokens)] == tokens


def test_tokens_of_a_span() -> None:
    offsets = [(0, 3), (3, 6), (6, 10), (10, 11)]
    spans = [(0, 3), (4, 8), (10, 10), (10, 11), (3, 6)]
    assert covering(offsets, spans) == [(0, 1), (1, 3), (0, 0), (3, 4), (1, 2)]
    assert covering([], [(0, 3)]) == [(0, 0)]
    assert covering([(0, 1), (0, 1), (0, 1)], [(0, 1)]) == [(0, 3)]


@given(st.integers(1, 20), st.integers(0, 100))
def test_windows_are_all_tokens_in_order(room: int, count: int) -> None:
    spans = list(windows(room, count))
    assert [at for window in spans for at in range(window.start, window.stop)] == list(range(count))
    assert all(window.stop - window.start <= room for window in spans)


def test_windows_cut_no_word() -> None:
    spans = list(windows(4, 10, [(3, 5), (7, 8)]))
    assert spans == [slice(0, 3), slice(3, 7), slice(7, 10)]
    assert list(windows(2, 5, [(0, 5)])) == [slice(0, 2), slice(2, 4), slice(4, 5)]


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

"""The parts of fine-tuning that need no model: what makes a step, which tokens are a word."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldpan.evaluation.finetune import launch
from goldpan.evaluation.finetune.engines import accumulation, deepspeed_config
from goldpan.evaluation.finetune.heads import covering, windows
from goldpan.evaluation.finetune.job import TrainingJob, TrainingSettings
from goldpan.evaluation.finetune.text_heads import scale_of
from goldpan.evaluation.finetune.training import parts_of, steps_of_epoch
from goldpan.evaluation.finetune.word_heads import word_spans
from tests.finetuning import example_rows
from tests.tiny_models import tiny

LENGTHS = st.lists(st.integers(1, 500), min_size=1, max_size=300)


@given(LENGTHS, st.integers(1, 64), st.integers(0, 5), st.booleans())
def test_an_epoch_has_every_row_once(
    lengths: list[int], batch: int, epoch: int, group: bool
) -> None:
    steps = steps_of_epoch(lengths, batch, 3, epoch, group=group)
    assert sorted(row for step in steps for row in step) == list(range(len(lengths)))
    assert len(steps) == math.ceil(len(lengths) / batch)
    assert steps == steps_of_epoch(lengths, batch, 3, epoch, group=group)
    if group and epoch == 0:
        assert lengths[steps[0][0]] == max(lengths)


def test_grouped_rows_are_of_like_length_and_their_order_differs_by_epoch_and_seed() -> None:
    lengths = [1 + (at * 7919) % 500 for at in range(4_000)]

    def padding(group: bool) -> float:
        steps = steps_of_epoch(lengths, 32, 0, 1, group=group)
        return sum(len(step) * max(lengths[row] for row in step) for step in steps) / sum(lengths)

    assert padding(True) < 1.05 < 1.5 < padding(False)
    orders = [
        steps_of_epoch(lengths, 32, seed, epoch, group=True) for seed in (0, 1) for epoch in (1, 2)
    ]
    assert len({str(order) for order in orders}) == 4


@given(
    st.lists(st.integers(), min_size=1, max_size=64, unique=True),
    st.integers(1, 9),
    st.integers(1, 64),
)
def test_processes_share_a_step(step: list[int], world: int, device_batch: int) -> None:
    parts = [parts_of(step, rank, world, device_batch) for rank in range(world)]
    assert len({len(part) for part in parts}) == 1
    taken = [row for share in parts for part in share if part.counts for row in part.rows]
    assert sorted(taken) == sorted(step)
    assert all(1 <= len(part.rows) <= device_batch for share in parts for part in share)


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


def test_deepspeed_starts_on_the_gpus_that_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    task, table = example_rows("issue_type", 4)
    settings = TrainingSettings(launcher="deepspeed", processes=2)
    job = TrainingJob(task, table, None, settings, 0, tiny("bert"), Path())
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,5,6")
    command = launch._launcher(job)
    assert command[command.index("--include") + 1] == "localhost:4,5"
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    first, second = launch._launcher(job), launch._launcher(job)
    assert first[first.index("--num_gpus") + 1] == "2"
    port = first.index("--master_port") + 1
    assert first[port] != second[port]


def test_the_cause_is_told_and_not_the_launchers_own_error(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("IndexError: the real cause\ntorch.ChildFailedError: \nRoot Cause\n")
    assert launch._last_line(log) == "IndexError: the real cause"


def test_deepspeed_is_told_what_the_settings_say() -> None:
    settings = TrainingSettings(
        deepspeed="zero2-offload", processes=8, learning_rate=1e-5, batch=64
    )
    config = deepspeed_config(settings, device_batch=2, half=True, gpu=True)
    assert config["zero_optimization"]["stage"] == 2
    assert config["zero_optimization"]["offload_optimizer"] == {"device": "cpu", "pin_memory": True}
    assert config["optimizer"]["params"]["lr"] == 1e-5
    assert config["optimizer"]["params"]["torch_adam"] is True
    assert config["bf16"]["enabled"] is True
    assert config["gradient_accumulation_steps"] == 4
    assert config["train_micro_batch_size_per_gpu"] * 4 * 8 == 64
    plain = deepspeed_config(
        TrainingSettings(deepspeed="zero2"), device_batch=2, half=False, gpu=False
    )
    assert "offload_optimizer" not in plain["zero_optimization"]
    assert accumulation(TrainingSettings(batch=64, processes=3), 8) == 3

"""Several processes train together: by PyTorch, by ZeRO-2, and where rows do not fit."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from goldpan.core.errors import EvaluationError
from tests.finetuning import (
    TOGETHER,
    TOGETHER_TASK,
    everywhere,
    example_rows,
    fit,
    lesson,
    losses_alone,
)

__all__ = ["losses_alone"]

_STARTED = """
import sys
from pathlib import Path
from tests.finetuning import TOGETHER, TOGETHER_TASK, example_rows, fit, lesson

fit("llama", lesson(*example_rows(TOGETHER_TASK), Path(sys.argv[1])), deepspeed="zero2", **TOGETHER)
"""
_SLOW = """
import os, time
if "LOCAL_RANK" in os.environ:
    from goldpan.core.terminal import ProgressTask
    advance = ProgressTask.advance

    def slowly(self, count=1):
        time.sleep(0.3)
        advance(self, count)

    ProgressTask.advance = slowly
"""

_CROWDED_PROCESS = """
import os
if "LOCAL_RANK" in os.environ:
    import torch
    forward = torch.nn.Embedding.forward

    def crowded(self, ids):
        if ids.shape[0] > 2:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory")
        return forward(self, ids)

    torch.nn.Embedding.forward = crowded
"""


def test_two_processes_train_as_one(tmp_path: Path, losses_alone: list[float]) -> None:
    context = lesson(*example_rows(TOGETHER_TASK), tmp_path / "work")
    made = fit("llama", context, **TOGETHER)
    assert made.facts["losses"] == pytest.approx(losses_alone, rel=1e-3)
    assert (made.facts["processes"], made.facts["device_batch"]) == (2, 4)
    assert len(made.answer(context.train).values) == len(context.train)
    assert context.costs.input_tokens > made.facts["tokens"]


def test_what_goes_wrong_in_a_process_is_told(tmp_path: Path) -> None:
    task, table = example_rows("qa")
    with pytest.raises(EvaluationError, match="tiny-bert, a bert model, has no head for qa"):
        fit("bert", lesson(task, table, tmp_path), deepspeed="zero2")


def test_two_processes_halve_what_does_not_fit(
    tmp_path: Path, losses_alone: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", everywhere(_CROWDED_PROCESS, tmp_path / "code"))
    context = lesson(*example_rows(TOGETHER_TASK), tmp_path / "work")
    made = fit("llama", context, **TOGETHER)
    assert made.facts["losses"] == pytest.approx(losses_alone, rel=1e-3)
    assert (made.facts["processes"], made.facts["device_batch"]) == (2, 2)


@pytest.mark.parametrize(("deepspeed", "shared"), [("zero2-offload", 0), ("zero3", 2)])
def test_deepspeed_gives_the_losses_of_one_process(
    tmp_path: Path, losses_alone: list[float], deepspeed: str, shared: int
) -> None:
    context = lesson(*example_rows(TOGETHER_TASK), tmp_path)
    made = fit("llama", context, **TOGETHER, deepspeed=deepspeed)
    assert made.facts["losses"] == pytest.approx(losses_alone, rel=1e-3)
    states = f"{made.facts['learned']}/global_step*/zero_pp_rank_*_model_states.pt"
    assert len(list(tmp_path.glob(states))) == shared
    assert len(made.answer(context.train).values) == len(context.train)


def test_zero_2_in_bfloat16_with_adapters(tmp_path: Path) -> None:
    context = lesson(*example_rows("comment_type_java"), tmp_path)
    made = fit("bert", context, deepspeed="zero2", precision="bf16", lora=True, recompute=True)
    assert (made.facts["precision"], made.facts["processes"]) == ("bf16", 1)
    assert made.facts["losses"][-1] < made.facts["losses"][0]
    assert len(made.answer(context.train).values) == len(context.train)


def test_zero_2_goes_on_after_its_starter_was_killed(
    tmp_path: Path, losses_alone: list[float]
) -> None:
    """The processes that the killed one left behind end by themselves."""
    work = tmp_path / "work"
    started = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", _STARTED, str(work)],
        env={**os.environ, "PYTHONPATH": everywhere(_SLOW, tmp_path / "code")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    whole = "checkpoints/checkpoint-*/trainer_state.json"
    deadline = time.monotonic() + 200
    while not list(work.glob(whole)) and time.monotonic() < deadline:
        time.sleep(0.02)
    started.send_signal(signal.SIGKILL)
    started.wait()
    assert list(work.glob(whole))
    with (work / "workers.lock").open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
    assert not (work / "trained.json").exists()
    made = fit("llama", lesson(*example_rows(TOGETHER_TASK), work), **TOGETHER, deepspeed="zero2")
    assert made.facts["losses"] == pytest.approx(losses_alone, rel=1e-3)

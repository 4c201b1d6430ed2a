"""Several processes train together for real, by PyTorch; in `tests/scale` by DeepSpeed."""

from __future__ import annotations

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

_CROWDED = """
import os
if "LOCAL_RANK" in os.environ:
    from goldpan.evaluation.finetune import training
    learn = training._learn

    def crowded(training, part, batch, total, *, last):
        if len(part.rows) > 2:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory")
        return learn(training, part, batch, total, last=last)

    training._learn = crowded
"""


def test_two_processes_train_as_one_and_halve_what_does_not_fit(
    tmp_path: Path, losses_alone: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", everywhere(_CROWDED, tmp_path / "code"))
    given = lesson(*example_rows(TOGETHER_TASK), tmp_path / "work")
    made = fit("llama", given, **TOGETHER)
    assert made.facts["losses"] == pytest.approx(losses_alone, rel=1e-3)
    assert (made.facts["processes"], made.facts["device_batch"]) == (2, 2)
    assert len(made.answer(given.train).values) == len(given.train)
    assert given.costs.input_tokens > made.facts["tokens"]


def test_what_goes_wrong_in_a_process_is_told(tmp_path: Path) -> None:
    task, table = example_rows("qa")
    with pytest.raises(EvaluationError, match="tiny-bert, a bert model, has no head for qa"):
        fit("bert", lesson(task, table, tmp_path), deepspeed="zero2")

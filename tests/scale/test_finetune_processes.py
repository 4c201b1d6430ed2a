"""Several processes train together for real, by PyTorch.

In `tests/scale` by DeepSpeed, and where rows do not fit.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from goldpan.core.errors import EvaluationError
from tests.finetuning import TOGETHER, TOGETHER_TASK, example_rows, fit, lesson, losses_alone

__all__ = ["losses_alone"]

_CROWDED = """
import json, sys
from pathlib import Path
directory, size = sys.argv[1:]
with open(Path(directory) / "sizes", "a") as sizes:
    sizes.write(f"{size} ")
told = {"too_large": True} if int(size) > 2 else {"problem": f"{size} rows fit", "remedy": "None"}
(Path(directory) / "outcome.json").write_text(json.dumps(told))
"""


def test_two_processes_train_as_one(tmp_path: Path, losses_alone: list[float]) -> None:
    context = lesson(*example_rows(TOGETHER_TASK), tmp_path / "work")
    made = fit("llama", context, **TOGETHER)
    assert made.facts["losses"] == pytest.approx(losses_alone, rel=1e-3)
    assert (made.facts["processes"], made.facts["device_batch"]) == (2, 4)
    assert len(made.answer(context.train).values) == len(context.train)
    assert context.costs.input_tokens > made.facts["tokens"]


def test_what_does_not_fit_into_a_process_is_halved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = [sys.executable, "-c", _CROWDED]
    monkeypatch.setattr("goldpan.evaluation.finetune.launch._launcher", lambda job: command)
    with pytest.raises(EvaluationError, match="2 rows fit"):
        fit("llama", lesson(*example_rows(TOGETHER_TASK), tmp_path), **TOGETHER)
    (sizes,) = tmp_path.rglob("sizes")
    assert sizes.read_text() == "4 2 "


def test_what_goes_wrong_in_a_process_is_told(tmp_path: Path) -> None:
    task, table = example_rows("qa")
    with pytest.raises(EvaluationError, match="tiny-bert, a bert model, has no head for qa"):
        fit("bert", lesson(task, table, tmp_path), deepspeed="zero2")

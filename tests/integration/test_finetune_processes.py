"""Several processes train together for real: by PyTorch, by ZeRO-2, by either launcher."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from goldpan.core.errors import EvaluationError
from tests.finetuning import example_rows, fit, lesson
from tests.places import ROOT

SETTINGS: dict[str, Any] = {"epochs": 3, "evaluations": 3, "processes": 2}
NAME = "issue_type"
_STARTED = """
import sys
from pathlib import Path
from tests.finetuning import example_rows, fit, lesson
from tests.integration.test_finetune_processes import NAME, SETTINGS

fit("llama", lesson(*example_rows(NAME), Path(sys.argv[1])), deepspeed="zero2", **SETTINGS)
"""
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
_SLOW = """
import os, time
if "LOCAL_RANK" in os.environ:
    from goldpan.core.progress import Task
    advance = Task.advance

    def slowly(self, count=1):
        time.sleep(0.3)
        advance(self, count)

    Task.advance = slowly
"""


def _everywhere(code: str, directory: Path) -> str:
    """Return a search path that makes every Python process run code when it starts."""
    directory.mkdir()
    (directory / "sitecustomize.py").write_text(code)
    return os.pathsep.join((str(directory), str(ROOT)))


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> list[float]:
    """The losses of one process: Llama has no dropout, so that all others must have the same."""
    given = lesson(*example_rows(NAME), tmp_path_factory.mktemp("alone"))
    losses: list[float] = fit("llama", given, **{**SETTINGS, "processes": 1}).facts["losses"]
    return losses


def test_two_processes_train_as_one_and_halve_what_does_not_fit(
    tmp_path: Path, alone: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", _everywhere(_CROWDED, tmp_path / "code"))
    given = lesson(*example_rows(NAME), tmp_path / "work")
    made = fit("llama", given, **SETTINGS)
    assert made.facts["losses"] == pytest.approx(alone, rel=1e-3)
    assert (made.facts["processes"], made.facts["device_batch"]) == (2, 2)
    assert len(made.answer(given.train).values) == len(given.train)
    assert given.costs.input_tokens > made.facts["tokens"]


def test_zero_2_with_offload_by_the_launcher_of_deepspeed(
    tmp_path: Path, alone: list[float]
) -> None:
    given = lesson(*example_rows(NAME), tmp_path)
    made = fit("llama", given, **SETTINGS, deepspeed="zero2-offload", launcher="deepspeed")
    assert made.facts["losses"] == pytest.approx(alone, rel=1e-3)


def test_zero_2_in_bfloat16_with_adapters(tmp_path: Path) -> None:
    given = lesson(*example_rows("comment_type_java"), tmp_path)
    made = fit("bert", given, deepspeed="zero2", precision="bf16", lora=True, recompute=True)
    assert (made.facts["precision"], made.facts["processes"]) == ("bf16", 1)
    assert made.facts["losses"][-1] < made.facts["losses"][0]
    assert len(made.answer(given.train).values) == len(given.train)


def test_zero_2_goes_on_after_its_starter_was_killed(tmp_path: Path, alone: list[float]) -> None:
    """The processes that the killed one left behind end by themselves."""
    work = tmp_path / "work"
    started = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", _STARTED, str(work)],
        env={**os.environ, "PYTHONPATH": _everywhere(_SLOW, tmp_path / "code")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 200
    while not list(work.glob("checkpoints/step-*[0-9]")) and time.monotonic() < deadline:
        time.sleep(0.02)
    started.send_signal(signal.SIGKILL)
    started.wait()
    assert list(work.glob("checkpoints/step-*[0-9]"))
    with (work / "workers.lock").open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
    assert not (work / "trained.json").exists()
    made = fit("llama", lesson(*example_rows(NAME), work), **SETTINGS, deepspeed="zero2")
    assert made.facts["losses"] == pytest.approx(alone, rel=1e-3)


def test_what_goes_wrong_in_a_process_is_told(tmp_path: Path) -> None:
    task, table = example_rows("qa")
    with pytest.raises(EvaluationError, match="tiny-bert, a bert model, has no head for qa"):
        fit("bert", lesson(task, table, tmp_path), deepspeed="zero2")

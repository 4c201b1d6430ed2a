"""The benchmark of fine-tuning runs anywhere, so that it runs on a GPU when one is at hand."""

from __future__ import annotations

import subprocess
import sys

from tests.places import ROOT
from tests.tiny_models import torch


def benchmark(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.finetune_gpu", *words]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=250, check=False
    )


def test_the_smoke_run_prints_a_table_of_both_loops() -> None:
    done = benchmark("--smoke")
    assert done.returncode == 0, done.stderr
    rows = [line for line in done.stdout.splitlines() if line.startswith("| tiny")]
    assert len(rows) == 4
    assert sum("plain PyTorch" in row for row in rows) == 2
    assert sum("Goldpan" in row for row in rows) == 2
    if not torch.cuda.is_available():
        refused = benchmark()
        assert refused.returncode == 2
        assert "PyTorch sees no GPU" in refused.stderr

"""The benchmark of fine-tuning runs anywhere, so that it runs on a GPU when one is at hand."""

from __future__ import annotations

import subprocess
import sys

from tests.places import ROOT
from tests.tiny_models import torch


def test_the_smoke_run_prints_a_table_of_both_loops() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "benchmarks.finetune_gpu", "--smoke"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=250,
        check=True,
    )
    rows = [line for line in done.stdout.splitlines() if line.startswith("| tiny")]
    assert len(rows) == 4
    assert sum("plain PyTorch" in row for row in rows) == 2
    assert sum("Goldpan" in row for row in rows) == 2
    if not torch.cuda.is_available():
        refused = subprocess.run(
            [sys.executable, "-W", "ignore", "-m", "benchmarks.finetune_gpu"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=250,
            check=False,
        )
        assert refused.returncode == 2
        assert "PyTorch sees no GPU" in refused.stderr

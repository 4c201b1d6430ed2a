"""Clusters by Goldpan, run by itself: see `benchmarks/duplicates.py`."""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path

import pyarrow.parquet as pq

from goldpan.filters.duplicates.find import find_duplicates
from goldpan.filters.duplicates.settings import DuplicateSettings


def main() -> None:
    """Find the duplicates of a directory's texts and write figures beside them."""
    directory, workers = Path(sys.argv[1]), int(sys.argv[2])
    batches = pq.ParquetFile(directory / "texts.parquet").iter_batches(5_000)
    found = find_duplicates(batches, DuplicateSettings(), scratch=directory, workers=workers)
    # Not what getrusage says of this process, which counts the process that started it.
    status = Path("/proc/self/status").read_text()
    own = int(status.partition("VmHWM:")[2].split()[0])
    child = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    clusters = list(zip(found["number"].to_pylist(), found["cluster"].to_pylist(), strict=True))
    figures = [(own + workers * child) / 1024, clusters]  # all processes at their peaks at once
    (directory / "goldpan.json").write_text(json.dumps(figures))


if __name__ == "__main__":
    main()

"""Clusters by Goldpan, run by itself: see `benchmarks/duplicates.py`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from goldpan.core.parallel.engine import open_engine
from goldpan.core.values import Execution
from goldpan.filters.clusters import find_duplicates
from goldpan.filters.duplicates.settings import DuplicateSettings
from tests.ray_cluster import two_nodes


@dataclass(frozen=True, slots=True)
class Part:
    """Some groups of rows of a file."""

    path: Path
    groups: tuple[int, ...]

    def __call__(self) -> Iterator[pa.RecordBatch]:
        """Yield the texts."""
        yield from pq.ParquetFile(self.path).iter_batches(5_000, row_groups=self.groups)


def parts_of(path: Path, size: int) -> list[Part]:
    """Return parts of about equal size in texts."""
    file = pq.ParquetFile(path)
    step = max(1, size // file.metadata.row_group(0).num_rows)
    groups = range(file.metadata.num_row_groups)
    return [Part(path, tuple(groups[start : start + step])) for start in groups[::step]]


def main() -> None:
    """Find the duplicates of a directory's texts and write clusters beside them."""
    directory, workers, engine = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    parts = parts_of(directory / "texts.parquet", 10_000)
    with ExitStack() as stack:
        if engine == "ray":
            address = stack.enter_context(two_nodes()).address
            opened = stack.enter_context(open_engine(Execution("ray", address, workers)))
        else:
            opened = stack.enter_context(open_engine(Execution(workers=workers)))
        table = find_duplicates(parts, DuplicateSettings(), engine=opened)
    pq.write_table(table.select(["number", "cluster"]), directory / "goldpan.parquet")

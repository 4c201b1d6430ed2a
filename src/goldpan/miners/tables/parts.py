"""Parsed rows on their way from many processes to one merge: files by range of entry numbers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from goldpan.core.resources import named
from goldpan.miners.tables.rows import FACETS, UNIT

RANGE = 4_096  # entry numbers merged at once; fixes the row groups, so never derive it


def range_of(number: int) -> int:
    """Return the range that an entry lies in."""
    return number // RANGE


def write_parts(directory: Path, chunk: int, tables: dict[str, pa.Table]) -> None:
    """Write one chunk's facets, sorted by entry, as a file a range in that range's folder."""
    for name, table in tables.items():
        ranges = table[UNIT.get(name, "number")].to_numpy() // RANGE
        starts = np.flatnonzero(np.r_[True, ranges[1:] != ranges[:-1]])
        for start, stop in zip(starts, [*starts[1:], len(ranges)], strict=True):
            folder = directory / f"{ranges[start]:08}"
            folder.mkdir(exist_ok=True)
            path = folder / f"{name}-{chunk:06}.arrow"
            with (
                named(path),
                pa.OSFile(str(path), "wb") as sink,
                pa.ipc.new_file(sink, table.schema) as out,
            ):
                out.write_table(table.slice(int(start), int(stop - start)))


def read_ranges(directory: Path) -> Iterator[tuple[int, dict[str, pa.Table]]]:
    """Yield each range's index and facets, in the order of entry numbers and of the chunks."""
    for folder in sorted(path for path in directory.iterdir() if path.is_dir()):
        facets = {}
        for name, schema in FACETS.items():
            found = [schema.empty_table()]
            for path in sorted(folder.glob(f"{name}-*.arrow")):
                with pa.OSFile(str(path), "rb") as source:
                    found.append(pa.ipc.open_file(source).read_all())
            facets[name] = pa.concat_tables(found).combine_chunks()
        yield int(folder.name), facets


def count_ranges(directory: Path) -> int:
    """Return how many ranges there are to read."""
    return sum(path.is_dir() for path in directory.iterdir())

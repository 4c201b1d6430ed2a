"""Parsed rows on their way from many processes to one merge: files by range of entry numbers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from goldpan.core.resources import named
from goldpan.miners.tables.rows import FACETS, UNIT

RANGE = 4_096  # entry numbers merged at once; fixes the row groups, so never derive it

_FACET = b"facet"  # what a part's schema calls its facet


def range_of(number: int) -> int:
    """Return the range that an entry lies in."""
    return number // RANGE


def write_parts(directory: Path, chunk: int, tables: dict[str, pa.Table]) -> None:
    """Write one chunk's facets, sorted by entry, as a file a range in that range's folder.

    Facets follow one another, each under its name: files of their own take thrice the time.
    """
    of_range: dict[int, list[pa.Table]] = defaultdict(list)
    for name, table in tables.items():
        table = table.replace_schema_metadata({_FACET: name})
        ranges = table[UNIT.get(name, "number")].to_numpy() // RANGE
        starts = np.flatnonzero(np.r_[True, ranges[1:] != ranges[:-1]])
        for start, stop in zip(starts, [*starts[1:], len(ranges)], strict=True):
            of_range[int(ranges[start])].append(table.slice(int(start), int(stop - start)))
    for index, parts in of_range.items():
        folder = directory / f"{index:08}"
        folder.mkdir(exist_ok=True)
        path = folder / f"{chunk:06}.arrow"
        with named(path), pa.OSFile(str(path), "wb") as sink:
            for part in parts:
                with pa.ipc.new_stream(sink, part.schema) as out:
                    out.write_table(part)


def read_ranges(directory: Path) -> Iterator[tuple[int, dict[str, pa.Table]]]:
    """Yield each range's index and facets, in the order of entry numbers and of the chunks."""
    for folder in sorted(path for path in directory.iterdir() if path.is_dir()):
        parts = {name: [schema.empty_table()] for name, schema in FACETS.items()}
        for path in sorted(folder.iterdir()):
            with pa.OSFile(str(path), "rb") as source:
                while source.tell() < source.size():
                    part = pa.ipc.open_stream(source).read_all()
                    name = part.schema.metadata[_FACET].decode()
                    parts[name].append(part.replace_schema_metadata())
        yield (
            int(folder.name),
            {name: pa.concat_tables(parts.pop(name)).combine_chunks() for name in FACETS},
        )


def count_ranges(directory: Path) -> int:
    """Return how many ranges there are to read."""
    return sum(path.is_dir() for path in directory.iterdir())

"""Rows on disk, read back in another order, a few in memory at a time."""

from __future__ import annotations

import mmap
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import count, islice
from pathlib import Path

import numpy as np
import pyarrow as pa

from goldpan.core.resources import named

_STEP = 64
_STEPS_IN_MEMORY = 100
"""Steps after which the pages read so far are released."""


def write_spool(path: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> int:
    """Write the columns of a schema to a file that `Spool` reads; return how many rows it has.

    A column that is missing is null.
    """
    rows = 0
    with named(path), pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, schema) as sink:
        for batch in batches:
            table = pa.Table.from_batches([batch])
            for name in schema.names:
                if name not in table.schema.names:
                    table = table.append_column(name, pa.nulls(len(table)))
            table = table.select(schema.names).cast(schema)
            for part in table.to_batches(max_chunksize=_STEP):
                sink.write_batch(part)
            rows += len(table)
    return rows


class Spool:
    """The rows of files, one after another; `facts` are light columns of them, in memory."""

    def __init__(self, paths: Iterable[Path], facts: Sequence[str]) -> None:
        self._mapped = []
        for path in paths:
            with path.open("rb") as file:
                self._mapped.append(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ))
        files = [pa.ipc.open_file(pa.py_buffer(mapped)) for mapped in self._mapped]
        self._batches = [(file, at) for file in files for at in range(file.num_record_batches)]
        light = [pa.Table.from_batches([], files[0].schema).select(facts)]
        sizes = [0]
        for file, at in self._batches:
            batch = file.get_batch(at)
            light.append(pa.Table.from_batches([batch]).select(facts))
            sizes.append(len(batch))
        self._starts = np.cumsum(sizes)
        self.facts = pa.concat_tables(light).combine_chunks()
        self._rows = np.arange(len(self.facts))

    def choose(self, places: Iterable[int]) -> None:
        """Keep the rows at some places alone, in their order."""
        chosen = sorted(places)
        self._rows = self._rows[chosen]
        self.facts = self.facts.take(pa.array(chosen, pa.int64()))

    def read(self, order: Sequence[int]) -> Iterator[pa.Table]:
        """Yield rows in this order, by their place in `facts`, up to 64 at a time."""
        remaining = iter(order)
        for step in count(1):
            places = list(islice(remaining, _STEP))
            if not places:
                return
            yield self._take(self._rows[places])
            if step % _STEPS_IN_MEMORY == 0:
                for mapped in self._mapped:
                    mapped.madvise(mmap.MADV_DONTNEED)

    def _take(self, rows: np.ndarray) -> pa.Table:
        offsets: dict[int, list[int]] = defaultdict(list)
        batches = np.searchsorted(self._starts, rows, side="right") - 1
        for index, batch in enumerate(batches.tolist()):
            offsets[batch].append(index)
        parts = []
        for batch, indexes in offsets.items():
            file, at = self._batches[batch]
            inside = pa.array(rows[indexes] - self._starts[batch], pa.int64())
            parts.append(file.get_batch(at).take(inside))
        where = np.argsort([index for indexes in offsets.values() for index in indexes])
        return pa.Table.from_batches(parts).combine_chunks().take(pa.array(where))

"""Rows on disk that are read back in another order, a few in memory at a time."""

from __future__ import annotations

import mmap
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count, islice
from pathlib import Path

import numpy as np
import pyarrow as pa

_STEP = 64
_STEPS_IN_MEMORY = 100
"""Steps after which what was read of the file no longer counts as this process's memory."""


class Spool:
    """Written rows; `facts` are their light columns, which stay in memory."""

    def __init__(self, mapped: mmap.mmap, sizes: Sequence[int], facts: pa.Table) -> None:
        self._mapped = mapped
        self._source = pa.ipc.open_file(pa.py_buffer(mapped))
        self.facts = facts
        self._starts = np.cumsum([0, *sizes])

    def read(self, order: Sequence[int]) -> Iterator[pa.Table]:
        """Yield rows in this order, by their number in the spool, up to 64 at a time."""
        left = iter(order)
        for step in count(1):
            rows = list(islice(left, _STEP))
            if not rows:
                return
            yield self._take(rows)
            if step % _STEPS_IN_MEMORY == 0:
                self._mapped.madvise(mmap.MADV_DONTNEED)

    def _take(self, rows: list[int]) -> pa.Table:
        offsets: dict[int, list[int]] = defaultdict(list)
        batches = np.searchsorted(self._starts, rows, side="right") - 1
        for index, batch in enumerate(batches.tolist()):
            offsets[batch].append(index)
        parts = [
            self._source.get_batch(batch).take(
                pa.array([rows[index] - int(self._starts[batch]) for index in mine], pa.int64())
            )
            for batch, mine in offsets.items()
        ]
        where = np.argsort([index for mine in offsets.values() for index in mine])
        return pa.Table.from_batches(parts).combine_chunks().take(pa.array(where))


@contextmanager
def spooled(
    path: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch], facts: Sequence[str]
) -> Iterator[Spool]:
    """Write batches to a file and give them back as a spool while the block runs."""
    sizes: list[int] = []
    light = [schema.empty_table().select(facts)]
    with pa.ipc.new_file(path, schema) as sink:
        for batch in batches:
            rows = pa.Table.from_batches([batch]).select(schema.names).cast(schema)
            light.append(rows.select(facts))
            for part in rows.to_batches(max_chunksize=_STEP):
                sink.write_batch(part)
                sizes.append(len(part))
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    yield Spool(mapped, sizes, pa.concat_tables(light).combine_chunks())

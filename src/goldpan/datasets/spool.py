"""Rows on disk that are read back in another order, a few in memory at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa

_STEP = 64


class Spool:
    """Written rows; `facts` are their light columns, which stay in memory."""

    def __init__(self, source: pa.ipc.RecordBatchFileReader, facts: pa.Table) -> None:
        self._source = source
        self.facts = facts
        sizes = [source.get_batch(place).num_rows for place in range(source.num_record_batches)]
        self._starts = np.cumsum([0, *sizes])

    def read(self, order: Sequence[int]) -> Iterator[pa.Table]:
        """Yield rows in this order, by their number in the spool, up to 64 at a time."""
        left = iter(order)
        while rows := list(islice(left, _STEP)):
            yield self._take(rows)

    def _take(self, rows: list[int]) -> pa.Table:
        places: dict[int, list[int]] = defaultdict(list)
        batches = np.searchsorted(self._starts, rows, side="right") - 1
        for place, batch in enumerate(batches.tolist()):
            places[batch].append(place)
        taken = [
            self._source.get_batch(batch).take(
                pa.array([rows[place] - int(self._starts[batch]) for place in mine], pa.int64())
            )
            for batch, mine in places.items()
        ]
        where = np.argsort([place for mine in places.values() for place in mine])
        return pa.Table.from_batches(taken).combine_chunks().take(pa.array(where))


@contextmanager
def spooled(
    path: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch], facts: Sequence[str]
) -> Iterator[Spool]:
    """Write batches to a file and give them back as a spool while the block runs."""
    light = [schema.empty_table().select(facts)]
    with pa.ipc.new_file(path, schema) as sink:
        for batch in batches:
            rows = pa.Table.from_batches([batch]).select(schema.names).cast(schema)
            light.append(rows.select(facts))
            sink.write_table(rows, max_chunksize=_STEP)
    with pa.memory_map(str(path)) as file:
        yield Spool(pa.ipc.open_file(file), pa.concat_tables(light).combine_chunks())

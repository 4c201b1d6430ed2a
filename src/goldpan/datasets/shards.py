"""Writes the Parquet files of a split: the same rows give the same bytes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

_GROUP_ROWS = 1_000
_GROUP_BYTES = 32 * 2**20
SHARD_BYTES = 512 * 2**20
"""How large a Parquet file may get, before compression."""


@dataclass(frozen=True, slots=True)
class Shards:
    """The written files of one split."""

    name: str
    paths: tuple[Path, ...]
    rows: int
    size: int
    """Bytes of the rows in memory, which the Hub calls num_bytes."""


def write_shards(
    directory: Path,
    split: str,
    schema: pa.Schema,
    tables: Iterable[pa.Table],
    shard_bytes: int = SHARD_BYTES,
) -> Shards:
    """Write small sorted tables as SPLIT-00000-of-0000N.parquet in a directory.

    A row group ends after 1,000 rows or 32 MiB, a file after `shard_bytes`, both counted
    before compression, so that both depend on the rows alone. Data pages are cut by content:
    storage that keeps equal chunks once then keeps little for a new version.
    """
    parts: list[Path] = []
    rows = size = filled = 0
    target: pq.ParquetWriter | None = None
    try:
        for group in _row_groups(tables):
            if target is None or filled >= shard_bytes:
                if target:
                    target.close()
                parts.append(directory / f"{split}-{len(parts):05}.part")
                target = _writer(parts[-1], schema)
                filled = 0
            target.write_table(group, row_group_size=len(group))
            rows += len(group)
            size += group.nbytes
            filled += group.nbytes
    finally:
        if target:
            target.close()
    paths = []
    for number, part in enumerate(parts):
        paths.append(directory / f"{split}-{number:05}-of-{len(parts):05}.parquet")
        part.rename(paths[-1])
    return Shards(split, tuple(paths), rows, size)


def _row_groups(tables: Iterable[pa.Table]) -> Iterable[pa.Table]:
    waiting: list[pa.Table] = []
    rows = size = 0
    for table in tables:
        waiting.append(table)
        rows += len(table)
        size += table.nbytes
        if rows >= _GROUP_ROWS or size >= _GROUP_BYTES:
            yield pa.concat_tables(waiting).combine_chunks()
            waiting, rows, size = [], 0, 0
    if waiting:
        yield pa.concat_tables(waiting).combine_chunks()


def _writer(path: Path, schema: pa.Schema) -> pq.ParquetWriter:
    return pq.ParquetWriter(
        path,
        schema,
        compression="zstd",
        compression_level=3,
        use_content_defined_chunking=True,
        write_page_index=True,
        write_page_checksum=True,
    )

"""Writes the files of an export: all or none, and the same bytes for the same rows."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import pyarrow.parquet as pq

from goldpan.core.errors import DatasetError
from goldpan.core.resources import check_folder
from goldpan.core.sanitize import for_json
from goldpan.core.secrets import mask
from goldpan.datasets.provenance import shard_paths

MARK = "goldpan-export.json"
"""Says what a directory is, so that a later export may take its place."""
_BATCH = 64


@dataclass(frozen=True, slots=True)
class Writer:
    """The directory in which an export comes to be."""

    directory: Path
    left_out: Counter[str] = field(default_factory=Counter)

    def text(self, name: str, content: str, *, executable: bool = False) -> None:
        """Write a file; `name` is ours or was checked."""
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(mask(content).encode())
        path.chmod(0o755 if executable else 0o644)

    def lines(self, name: str, values: Iterator[Mapping[str, Any]]) -> int:
        """Write JSON lines; return how many there are.

        Each value is one line for every reader: characters at which some of them break lines, as
        U+2028, are escaped.
        """
        count = 0
        with (self.directory / name).open("w", encoding="utf-8", newline="\n") as file:
            for value in values:
                file.write(for_json(mask(orjson.dumps(value).decode())) + "\n")
                count += 1
        return count


def read_rows(dataset: Path, split: str, convert: Callable[[dict[str, Any]], Any]) -> Iterator[Any]:
    """Yield what `convert` makes of each row of a split; rows of which it makes None are skipped.

    Memory follows a batch of rows. Raises `DatasetError` for a damaged file.
    """
    for path in shard_paths(dataset, split):
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            for batch in file.iter_batches(_BATCH):
                for row in batch.to_pylist():
                    if (sample := convert(row)) is not None:
                        yield sample


@contextmanager
def replacing(directory: Path, to: str) -> Iterator[Writer]:
    """Give a writer whose files take the place of `directory` when the block ends well.

    Raises `DatasetError` where the directory holds something else than an export, or where it
    cannot be written, and `UsageError` where it would lie in a folder that is not there.
    """
    _refuse_foreign(directory)
    check_folder(directory)
    try:
        scratch = Path(tempfile.mkdtemp(prefix=".goldpan-export-", dir=directory.parent))
    except OSError as error:
        raise _unwritable(directory, error) from None
    try:
        building = scratch / "new"
        building.mkdir()
        writer = Writer(building)
        yield writer
        writer.text(MARK, f'{{"goldpan_export": "{to}"}}\n')
        if directory.exists():
            directory.rename(scratch / "old")
        building.rename(directory)
    except OSError as error:
        if (scratch / "old").exists() and not directory.exists():
            (scratch / "old").rename(directory)
        raise _unwritable(directory, error) from None
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _unwritable(directory: Path, error: OSError) -> DatasetError:
    return DatasetError(
        f"{directory} cannot be written: {error.strerror}", "Choose another --output"
    )


def _refuse_foreign(directory: Path) -> None:
    remedy = "Choose another --output, or empty this one"
    if directory.is_symlink() or (directory.exists() and not directory.is_dir()):
        raise DatasetError(f"{directory} is not a directory", remedy)
    if directory.exists() and any(directory.iterdir()) and not (directory / MARK).is_file():
        raise DatasetError(f"{directory} is not replaced, as it is not an export", remedy)

"""Vectors of texts on disk, so that nothing is encoded twice.

One SQLite file for each encoder: several runs may write it at once, and what a killed run had
encoded stays.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from goldpan.core.errors import EvaluationError
from goldpan.core.progress import Reporter

Vectors = npt.NDArray[np.float32]
Pair = tuple[str, str]
"""A text, and what stands around it; the latter empty where only the text counts."""
_Each = TypeVar("_Each")
_SECONDS = 120.0
_BATCH = 500
"""Rows asked for or stored at once."""


def vectors_of(
    path: Path,
    pairs: Sequence[Pair],
    encode: Callable[[Sequence[Pair]], Iterable[tuple[int, Vectors]]],
    reporter: Reporter,
) -> Vectors:
    """Return a vector for each pair, a row each, from `path` or else by `encode`.

    `encode` yields the place of a pair among those that it was given, with its vector. Raises
    `EvaluationError` where the file cannot be used.
    """
    keys = [_key(pair) for pair in pairs]
    try:
        with closing(sqlite3.connect(path, timeout=_SECONDS)) as store:
            store.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB)")
            vectors = _stored_vectors(store, keys)
            missing = {
                key: pair for key, pair in zip(keys, pairs, strict=True) if key not in vectors
            }
            vectors |= _encode(store, missing, encode, reporter)
    except sqlite3.Error as error:
        raise EvaluationError(
            f"{path} cannot be used ({error})", "Delete it: vectors are made again"
        ) from None
    return np.stack([vectors[key] for key in keys]) if keys else np.zeros((0, 0), np.float32)


def _stored_vectors(store: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, Vectors]:
    stored = {}
    for batch in _batches(sorted(set(keys))):
        marks = ",".join("?" * len(batch))
        query = f"SELECT key, vector FROM vectors WHERE key IN ({marks})"  # noqa: S608 - only marks
        for key, vector in store.execute(query, batch):
            stored[key] = np.frombuffer(vector, dtype="<f4")
    return stored


def _encode(
    store: sqlite3.Connection,
    missing: dict[bytes, Pair],
    encode: Callable[[Sequence[Pair]], Iterable[tuple[int, Vectors]]],
    reporter: Reporter,
) -> dict[bytes, Vectors]:
    keys, encoded = list(missing), {}
    if not keys:
        return {}
    with reporter.task("texts encoded", len(keys)) as progress:
        for batch in _batches(encode([missing[key] for key in keys])):
            rows = [(keys[index], vector.astype("<f4").tobytes()) for index, vector in batch]
            with store:
                store.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)
            encoded.update({keys[index]: vector for index, vector in batch})
            progress.advance(len(batch))
    return encoded


def _batches(every: Iterable[_Each]) -> Iterator[list[_Each]]:
    batch: list[_Each] = []
    for row in every:
        batch.append(row)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _key(pair: Pair) -> bytes:
    text, around = (part.encode("utf-8", "surrogatepass") for part in pair)
    return hashlib.sha256(len(text).to_bytes(8) + text + around).digest()[:16]
